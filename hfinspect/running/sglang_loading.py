"""What SGLang loads: EntryClass in srt/models, srt/layers/quantization/ and the fields of its
arguments (srt/arg_groups/fields)."""

from collections.abc import Mapping
from typing import ClassVar

from ..core.engine_answers import NO, UNKNOWN, YES
from ..core.footprint import Memory
from ..core.original_names import MISTRAL_NAMES
from ..core.text import byte_size
from .engine_lists import gguf_types
from .loader import Check
from .served import ServerLoader
from .subject import Subject


class SglangLoader(ServerLoader):
    name: ClassVar[str] = "sglang"
    label: ClassVar[str] = "SGLang"
    key: ClassVar[str] = "sglang"
    modelopt_fp8: ClassVar[str] = "modelopt_fp8"
    called: ClassVar[Mapping[str, str]] = {
        "gptq": "gptq_marlin",  # GPTQMarlinConfig: CUDA has no other
        "awq": "awq_marlin",
        "intel/auto-round": "auto-round",
        "finegrained_fp8": "fp8",
    }
    context_flag: ClassVar[str] = "--context-length"

    def of_no_class(self, subject: Subject) -> Check:
        if subject.is_gguf:
            if subject.model_type not in gguf_types():
                kind = subject.model_type or "an architecture that the file does not name"
                return Check(NO, f"transformers makes no class of GGUF of {kind}")
            reason = "it reads GGUF by the class that transformers makes of the file"
            return Check(UNKNOWN, reason)
        return super().of_no_class(subject)

    def of_layout(self, subject: Subject) -> Check:
        if any(finding.rule == MISTRAL_NAMES for finding in subject.inspection.findings):
            return Check(UNKNOWN, "whether it takes Mistral's own names was not read")
        return super().of_layout(subject)

    def of_packing(self, subject: Subject) -> Check:
        return Check(YES) if subject.is_gguf else super().of_packing(subject)

    def method_of(self, subject: Subject) -> str:
        known = super().method_of(subject)
        if subject.maker == "amd" and subject.method == "awq":
            return subject.method  # Marlin is CUDA's
        return known

    def of_apple(self) -> Check:
        return Check(UNKNOWN, "which classes SGLang runs on Apple's GPUs is not in its lists")

    def program(self, subject: Subject) -> str:
        return f"python -m sglang.launch_server --model-path {subject.name}{subject.revision}"

    def settings(
        self,
        subject: Subject,  # noqa: ARG002 - its dtype is no setting here
        sized: Memory,
    ) -> tuple[list[str], list[str]]:
        split = (("--tp-size", sized.tensor_parallel), ("--pp-size", sized.pipeline_parallel))
        flags = [f"{flag} {count}" for flag, count in split if count > 1]
        left = None if sized.workspace is None else sized.workspace.nbytes
        if left is None:
            return flags, []
        return flags, [f"{byte_size(left)} left free for steps and CUDA graphs, by SGLang's rule"]
