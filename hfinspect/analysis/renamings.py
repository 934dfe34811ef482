"""Names that trainers and wrappers give to the tensors of a class: the one table of them.

Each entry says what stands before or inside of a name, who puts it there, and what helps.
``renamed.py`` applies it.
"""

from __future__ import annotations

from typing import Final

from ..core.records import dataclass


@dataclass(frozen=True)
class Wrapper:
    """A module that was put around a model, so that its name is in those of the tensors.

    Fields:
        segments: what a name has more, between dots: ``_orig_mod``
        maker: who puts it there; empty where nobody is known to
        anywhere: whether it may stand between any two segments, not only in front
        certain: whether no class has a module of this name, so that nothing has to be predicted
        fix: what helps; empty where taking it off the names does
    """

    segments: tuple[str, ...]
    maker: str = ""
    anywhere: bool = False
    certain: bool = False
    fix: str = ""

    @property
    def prefix(self) -> str:
        """As it stands in names: ``_orig_mod.``."""
        return ".".join((*self.segments, ""))

    @property
    def remedy(self) -> str:
        """What helps."""
        return self.fix or f"strip `{self.prefix}` from the names"


_MERGE: Final = "merge the adapter (`merge_and_unload()`) and save the model again"

#: Between any two segments, and no class calls a module so.
ANYWHERE: Final = (
    Wrapper(("_orig_mod",), "torch.compile", anywhere=True, certain=True),
    Wrapper(("_fsdp_wrapped_module",), "FSDP", anywhere=True, certain=True),
    Wrapper(("_fpw_module",), "FairScale's FSDP", anywhere=True, certain=True),
    Wrapper(
        ("_checkpoint_wrapped_module",),
        "torch's activation checkpointing",
        anywhere=True,
        certain=True,
    ),
    Wrapper(("_forward_module",), "Lightning Fabric", anywhere=True, certain=True),
    Wrapper(("_original_module",), "Lightning Fabric", anywhere=True, certain=True),
    Wrapper(("base_layer",), "PEFT", anywhere=True, certain=True, fix=_MERGE),
    Wrapper(("modules_to_save", "default"), "PEFT", anywhere=True, certain=True, fix=_MERGE),
)

#: In front of all names. Where two of them hold the same tensors, the first one counts.
IN_FRONT: Final = (
    Wrapper(("module",), "DistributedDataParallel or DeepSpeed"),
    Wrapper(("_module",), "Opacus"),
    Wrapper(("base_model", "model"), "PEFT", fix=_MERGE),
    Wrapper(("pretrained_model",), "TRL's value head"),
    Wrapper(("student",), "a trainer that distils"),
    Wrapper(("student_model",), "a trainer that distils"),
    Wrapper(("ema_model",), "a trainer's moving average"),
    Wrapper(("ema",), "a trainer's moving average"),
    Wrapper(("model_ema",), "a trainer's moving average"),
    Wrapper(("averaged_model",), "a trainer's moving average"),
    Wrapper(("swa_model",), "a trainer's moving average"),
    Wrapper(("online_model",), "a trainer with a moving average"),
    Wrapper(("actor",), "a trainer of policies"),
    Wrapper(("actor_module",), "a trainer of policies"),
    Wrapper(("policy",), "a trainer of policies"),
    Wrapper(("model",), "a trainer's own module"),
    Wrapper(("net",), "a trainer's own module"),
    Wrapper(("network",), "a trainer's own module"),
    Wrapper(("teacher",), "a trainer that distils"),
)

#: Parts of names that a wrapper adds next to the model's tensors, or the code of an original: they
#: belong to no class.
BESIDE: Final = (
    ".lora_A.",
    ".lora_B.",
    ".lora_embedding_A.",
    ".lora_embedding_B.",
    ".lora_magnitude_vector.",
    ".original_module.",
    "v_head.",
    "rope.freqs",
)

#: Of a model that nothing predicts: taken off where every name begins with it.
WITHOUT_PREDICTION: Final = (("module",), ("_module",), ("base_model", "model"))
