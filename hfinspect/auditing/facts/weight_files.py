"""Which PyTorch files are weight files, and which keep more than weights.

A **weight file** holds what a loader takes as a state dict. It is one by its name, where
``from_pretrained`` and its kin look for it (``pytorch_model*.bin``, ``adapter_model*.bin``,
``diffusion_pytorch_model*.bin`` and every shard that an index names), whatever it holds. Or it is
one by its content, whatever it is called: tensors, in a dict or a list, and none of the keys next
to them under which training scripts keep settings and state (``TRAINING_KEYS``).

Every other file is judged as a pickle of its kind: training checkpoints (weights next to ``args``,
``cfg``, ``hyper_parameters``, ``optimizer``, ...), whole pickled modules, TorchScript, files
without tensors, and what by its name is a pickle or a part of training (``.pkl``,
``training_args.bin``, ``optimizer.pt``).
"""

from ...checkpoints.filenames import FileKind
from .target import TargetFacts, WeightFact

#: Kinds of content (``formats.torch.views.describe_content``) that are tensors alone.
_TENSORS = ("state_dict", "tensor", "list")


def weight_files(facts: TargetFacts) -> frozenset[str]:
    """Paths of PyTorch files in which only what rebuilds tensors belongs."""
    shards = {path for _, copy in facts.copies() for path in copy.shard_of.values()}
    return frozenset(
        path
        for path, weight in facts.weights.items()
        if weight.name.format == "torch"
        and (path in shards or _is_loaded_by_name(weight) or _holds_tensors_alone(weight))
    )


def is_pickle_by_name(weight: WeightFact) -> bool:
    """Whether its name says that it is no model: a part of training, or a plain pickle."""
    return weight.name.kind is FileKind.TRAINING or weight.path.lower().endswith(".pkl")


def _is_loaded_by_name(weight: WeightFact) -> bool:
    known = weight.name.kind in (FileKind.MODEL, FileKind.ADAPTER)
    return known and weight.path.lower().endswith(".bin")


def _holds_tensors_alone(weight: WeightFact) -> bool:
    shard = weight.shard
    if shard is None or shard.format != "torch" or is_pickle_by_name(weight):
        return False
    metadata = shard.metadata
    return (
        bool(shard.tensors)
        and metadata.get("kind") in _TENSORS
        and not metadata.get("training_keys")
    )
