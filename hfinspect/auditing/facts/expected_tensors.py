"""A checkpoint next to what its config.json predicts, through the catalog."""

from collections.abc import Mapping

from ...analysis.quantization.decode import decode
from ...analysis.quantization.decoding import Decoding
from ...analysis.tensor_table import TensorTable
from ...checkpoints.filenames import FileKind
from ...checkpoints.one_file import Read
from ...checkpoints.repo_layout import config_name
from ...core.checkpoint import Checkpoint
from ...core.refs import Origin
from ...errors import ConfigError, HfinspectError, MalformedError, UnknownArchitectureError
from ...inspecting.declared_class import Predicted, predict_as
from ...inspecting.from_checkpoint import from_checkpoint
from ...trees.prediction import Prediction
from .target import Copy, Judged


def as_checkpoint(copy: Copy) -> Checkpoint:
    """A copy as the other verbs see it: the shards whose headers could be read."""
    index = copy.index.value if copy.index is not None else None
    shards = tuple(file.shard for file in copy.files if file.shard is not None)
    return Checkpoint(copy.format, shards, index, missing=copy.missing)


#: Files next to the config that say how weights are packed.
COMPANIONS = ("hf_quant_config.json", "quantize_config.json")


def judge(
    main: Copy | None,
    files: Mapping[str, Read[object]],
    declared: str | None = None,
    made: Predicted | None = None,
) -> Judged:
    """Nothing to compare without weights, without a config, or for GGUF, whose names differ.

    ``files`` are the JSON files next to the weights, by name; ``declared`` is the class that the
    repo says the folder is; ``made`` a prediction that is there already.
    """
    config = files.get(config_name(declared))
    values = config.mapping if config is not None else None
    if values is None:
        return Judged()
    prediction: Prediction | None = None
    error: HfinspectError | None = None
    try:
        prediction = predict_as(declared, values, made)
        if prediction is not None:
            prediction.tensors  # noqa: B018 - expands the tree, which may find it absurd
    except UnknownArchitectureError:
        prediction = None
    except (ConfigError, MalformedError) as caught:
        prediction, error = None, caught
    comparable = (
        main is not None
        and main.kind in (FileKind.MODEL, FileKind.WEIGHTS)
        and main.format in ("safetensors", "torch")
        and any(file.shard is not None for file in main.files)
    )
    if not comparable or main is None:
        return Judged(None, prediction, Decoding(), error)
    checkpoint = as_checkpoint(main)
    companions = {
        name: fact.mapping
        for name, fact in files.items()
        if name in COMPANIONS and fact.mapping is not None
    }
    table = TensorTable(checkpoint.shards)
    decoding = decode(table, values, companions, prediction)
    inspected = from_checkpoint(
        "", Origin("directory", ""), checkpoint, table, prediction, decoding, config=values
    )
    return Judged(inspected.inspection, prediction, decoding, error, values, companions)
