"""What vLLM loads: model_executor/models/registry.py, layers/quantization/, platforms/ and
kernels/linear/ of its source."""

from collections.abc import Mapping
from typing import ClassVar, Final

from ..core.engine_answers import NO, YES, KernelRow
from ..core.footprint import Memory
from ..core.original_names import MISTRAL_NAMES
from .kernel_choice import kernel_rows
from .loader import Check
from .served import ServerLoader
from .subject import Subject

#: bfloat16 needs this compute capability (platforms/cuda.py, supported_dtypes).
_BFLOAT16: Final = 80
#: What vLLM takes of a card, in percent: sizing/engines/vllm.py, ``usable``.
_PERCENT: Final = 92
#: What it needs for a checkpoint as Mistral publishes its own.
_MISTRAL: Final = "--config-format mistral --load-format mistral --tokenizer-mode mistral"


class VllmLoader(ServerLoader):
    name: ClassVar[str] = "vllm"
    label: ClassVar[str] = "vLLM"
    key: ClassVar[str] = "vllm"
    layouts: ClassVar[tuple[str, ...]] = (MISTRAL_NAMES,)
    modelopt_fp8: ClassVar[str] = "modelopt"
    called: ClassVar[Mapping[str, str]] = {
        "auto-round": "inc",
        "intel/auto-round": "inc",
        "finegrained_fp8": "fp8",
    }
    context_flag: ClassVar[str] = "--max-model-len"

    def of_no_class(self, subject: Subject) -> Check:
        if subject.is_gguf:
            return Check(NO, f"vLLM {self.version} has no loader for GGUF files")
        return super().of_no_class(subject)

    def of_packing(self, subject: Subject) -> Check:
        if subject.is_gguf:
            return Check(NO, f"vLLM {self.version} has no loader for GGUF files")
        check = super().of_packing(subject)
        if check.answer == YES and self.method_of(subject) in self.lists["deprecated"]:
            note = f"vLLM calls {subject.method} deprecated and needs the flag that allows it"
            return check._replace(note=note)
        return check

    def of_apple(self) -> Check:
        platforms = ", ".join(self.lists["platforms"])
        return Check(NO, f"vLLM {self.version} runs on {platforms}, and not on Apple's GPUs")

    def kernels(self, subject: Subject) -> tuple[KernelRow, ...]:
        return kernel_rows(subject)

    def program(self, subject: Subject) -> str:
        line = f"vllm serve {subject.name}{subject.revision}"
        if any(finding.rule == MISTRAL_NAMES for finding in subject.inspection.findings):
            return f"{line} {_MISTRAL}"
        return line

    def settings(self, subject: Subject, sized: Memory) -> tuple[list[str], list[str]]:
        flags = [f"--gpu-memory-utilization 0.{_PERCENT}"]
        because = [f"{_PERCENT}% of each card is vLLM's own default, which the sum assumes"]
        split = (
            ("--tensor-parallel-size", sized.tensor_parallel),
            ("--pipeline-parallel-size", sized.pipeline_parallel),
        )
        flags += [f"{flag} {count}" for flag, count in split if count > 1]
        capability = subject.capability
        if capability is not None and capability < _BFLOAT16 and self._is_bfloat16(subject):
            flags.append("--dtype half")
            because.append("bfloat16 needs compute capability 8.0")
        if self.method_of(subject) in self.lists["deprecated"]:
            flags.append("--allow-deprecated-quantization")
        return flags, because

    def _is_bfloat16(self, subject: Subject) -> bool:
        return "BF16" in subject.inspection.dtypes
