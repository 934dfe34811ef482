"""What TensorRT-LLM loads: the classes of its page of supported models (PyTorch backend). Its
wheels are on no public index that was read, so the page is all there is."""

from __future__ import annotations

from typing import ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES
from .loader import PASSED, Check, Launch, Loader
from .subject import Subject

_NOT_READ: Final = "its rules of memory and of quantisation are not read"


class TensorRtLlm(Loader):
    name: ClassVar[str] = "tensorrt-llm"
    label: ClassVar[str] = "TensorRT-LLM"
    key: ClassVar[str] = "tensorrt_llm"

    @property
    def version(self) -> str:
        return f"docs at {self.lists['version']}"

    def of_class(self, subject: Subject) -> Check:
        if subject.is_gguf:
            return Check(NO, "its page names no GGUF")
        if subject.is_pipeline:
            return Check(UNKNOWN, "its page lists pipelines by repo, not by class")
        architecture = subject.architecture
        if not architecture:
            return Check(UNKNOWN, "the config names no class")
        spelled = {name.lower(): name for name in self.lists["classes"]}
        if architecture.lower() in spelled:  # the page writes DeepSeekV2ForCausalLM
            return Check(YES, f"class {architecture}", architecture)
        return Check(NO, f"its page of supported models does not name {architecture}")

    def of_packing(self, subject: Subject) -> Check:
        if subject.method and not subject.is_gguf:
            return Check(UNKNOWN, f"{_NOT_READ}: {subject.method}")
        return PASSED

    def of_card(self, subject: Subject) -> Check:
        if subject.maker in ("amd", "apple", "other"):
            return Check(NO, "it runs on NVIDIA's cards alone")
        return PASSED

    def launch(self, subject: Subject) -> Launch:  # noqa: ARG002 - it gives none
        return Launch(unknown=_NOT_READ)
