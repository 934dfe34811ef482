"""What MLX-LM loads: a module in mlx_lm/models for each type, and the methods of quantisation in
``load_model`` (utils.py)."""

from __future__ import annotations

from typing import ClassVar

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..sizing.own_cache import GENERATES
from .loader import PASSED, Check, Launch, Loader
from .served import of_memory
from .subject import Subject


class MlxLm(Loader):
    name: ClassVar[str] = "mlx-lm"
    label: ClassVar[str] = "MLX-LM"
    key: ClassVar[str] = "mlx_lm"

    def of_class(self, subject: Subject) -> Check:
        kind = subject.model_type
        if subject.is_gguf:
            return Check(NO, "it reads safetensors, not GGUF")
        if subject.is_pipeline:
            return Check(NO, f"a {subject.inspection.layout} is none of its types")
        if subject.of_diffusers:
            return Check(NO, f"{subject.architecture} is a class of diffusers")
        if not kind:
            return Check(UNKNOWN, "the config names no model_type")
        made = self.lists["renamed"].get(kind, kind)
        if made not in self.lists["types"]:
            return Check(NO, f"MLX-LM {self.version} has no type {kind}")
        if not subject.architecture.endswith(GENERATES):
            reason = f"its types write words, and {subject.architecture} has no such head"
            return Check(UNKNOWN, reason, made)
        towers = subject.architecture.endswith("ForConditionalGeneration")
        note = "of a model with towers it loads the language model" if towers else ""
        return Check(YES, f"type {kind}", made, note)

    def of_packing(self, subject: Subject) -> Check:
        method = subject.method
        if subject.inspection.format == "torch":
            return Check(NO, "it reads safetensors, and the weights are PyTorch files")
        if not method or method == "mlx" or subject.is_gguf or subject.is_pipeline:
            return PASSED
        if method not in self.lists["methods"]:
            return Check(NO, f"MLX-LM {self.version} has no rule for {method}")
        form = subject.format_of_packing
        if method == "compressed-tensors" and form not in self.lists["compressed"]:
            return Check(NO, f"it takes no compressed-tensors of format {form or 'unknown'}")
        if method == "modelopt" and "NVFP4" not in subject.scheme:
            return Check(NO, "of ModelOpt it takes NVFP4 alone")
        if method == "fp8":
            return Check(UNKNOWN, "some of its classes unpack FP8 while they load, others do not")
        return PASSED

    def of_card(self, subject: Subject) -> Check:
        if subject.maker == "amd":
            return Check(NO, "MLX has wheels for Apple's GPUs, for CUDA and for CPUs")
        return PASSED

    def launch(self, subject: Subject) -> Launch:
        fits = PASSED
        if subject.device is not None:
            if subject.device.count > 1:
                return Launch(unknown="how it shares a model over several cards is not read")
            sized = subject.sized("logical")
            if isinstance(sized, str):
                return Launch(unknown=sized)
            fits = of_memory(sized)
        return Launch((LaunchLine(f"mlx_lm.server --model {subject.name}"),), fits=fits)
