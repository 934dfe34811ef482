"""What optimum-onnx exports: the types and tasks of optimum/exporters/onnx/model_configs.py."""

from typing import ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from .loader import PASSED, Check, Launch, Loader
from .subject import Subject

#: End of a class's name -> the tasks that it may be exported for, the first that the type has.
_TASKS: Final = (
    ("ForCausalLM", ("text-generation-with-past", "text-generation")),
    ("LMHeadModel", ("text-generation-with-past", "text-generation")),
    (
        "ForConditionalGeneration",
        tuple(
            "image-text-to-text text2text-generation-with-past "
            "automatic-speech-recognition-with-past image-to-text-with-past "
            "text2text-generation automatic-speech-recognition".split()
        ),
    ),
    ("ForMaskedLM", ("fill-mask",)),
    ("ForSequenceClassification", ("text-classification",)),
    ("ForTokenClassification", ("token-classification",)),
    ("ForQuestionAnswering", ("question-answering",)),
    ("ForMultipleChoice", ("multiple-choice",)),
    ("ForImageClassification", ("image-classification",)),
    ("ForAudioClassification", ("audio-classification",)),
    ("ForObjectDetection", ("object-detection",)),
    ("ForSemanticSegmentation", ("semantic-segmentation", "image-segmentation")),
    ("ForCTC", ("automatic-speech-recognition",)),
    ("Model", ("feature-extraction", "zero-shot-image-classification")),
)


class OnnxExport(Loader):
    name: ClassVar[str] = "onnx"
    label: ClassVar[str] = "ONNX export"
    key: ClassVar[str] = "optimum_onnx"

    @property
    def version(self) -> str:
        return f"optimum-onnx {self.lists['version']}"

    def of_class(self, subject: Subject) -> Check:
        kind = subject.model_type
        if subject.is_gguf:
            return Check(NO, "it exports PyTorch's classes, not GGUF")
        if subject.is_pipeline:
            return Check(UNKNOWN, "it exports a pipeline part by part, of which no list says which")
        if subject.of_diffusers:
            return Check(NO, f"{subject.architecture} is a class of diffusers")
        if not kind:
            return Check(UNKNOWN, "the config names no model_type")
        tasks = self._tasks(kind)
        if not tasks:
            return Check(NO, f"{self.version} has no export of type {kind}")
        task = self._task(subject)
        if task:
            return Check(YES, f"type {kind}, task {task}", task)
        has = ", ".join(one for one in tasks if not one.endswith("-with-past"))
        return Check(NO, f"type {kind} is exported for {has}, not for {subject.architecture}")

    def _tasks(self, kind: str) -> list[str]:
        """The exporter spells types with hyphens."""
        types = self.lists["types"]
        tasks: list[str] = types.get(kind) or types.get(kind.replace("_", "-")) or []
        return tasks

    def _task(self, subject: Subject) -> str:
        """The task of the class that the type has; empty where there is none."""
        tasks = self._tasks(subject.model_type)
        for suffix, names in _TASKS:
            if subject.architecture.endswith(suffix):
                return next((task for task in names if task in tasks), "")
        return ""

    def of_packing(self, subject: Subject) -> Check:
        if subject.method and not subject.is_gguf:
            return Check(UNKNOWN, f"whether weights in {subject.method} are exported is not listed")
        return PASSED

    def launch(self, subject: Subject) -> Launch:
        task = self._task(subject)
        if not task:
            return Launch(unknown="no task is known")
        line = f"optimum-cli export onnx --model {subject.name} --task {task} onnx/"
        return Launch((LaunchLine(line),))
