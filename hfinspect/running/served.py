"""What vLLM and SGLang have in common: classes by name, methods of quantisation by compute
capability, a server with the longest context that the card holds."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..core.footprint import Memory
from ..core.text import byte_size
from ..sizing.engine_classes import made_of, runs
from ..sizing.engines.registry import find_engine
from ..sizing.gguf_layers import engine_layers
from .engine_lists import classes_of
from .kernel_choice import spelled_capability
from .loader import PASSED, Check, Launch, Loader
from .subject import Subject

#: Algorithms of ModelOpt -> the end of the method's name; the first that the scheme has.
_MODELOPT: Final = (("MIXED", "mixed"), ("MXFP8", "mxfp8"), ("NVFP4", "fp4"), ("FP4", "fp4"))


class ServerLoader(Loader):
    """A server of classes that its registry lists."""

    #: The method that ModelOpt's plain FP8 is, and what other methods are called here.
    modelopt_fp8: ClassVar[str]
    called: ClassVar[Mapping[str, str]]

    # ---- the class

    def of_class(self, subject: Subject) -> Check:
        name = f"{self.label} {self.version}"
        architecture = subject.architecture
        if subject.is_pipeline:
            return Check(*self._of_pipeline(subject))
        if not architecture:
            return self.of_no_class(subject)
        lists = classes_of(self.name)
        if architecture in lists["classes"]:
            mapped = self.lists.get("maps", {}).get(architecture, architecture)
            return Check(YES, f"class {architecture}", mapped)
        if base := made_of(self.name, architecture):
            return Check(YES, f"{architecture} as {base}, for embeddings and classes", base)
        prediction = subject.prediction
        if prediction is None or prediction.family is None:
            return Check(NO, f"{name} has no class {architecture}")
        engine = find_engine(self.name)
        layers = engine_layers(subject.inspection, prediction.root, engine)
        answer = runs(engine, architecture, layers)
        if answer.refused:
            return Check(NO, answer.refused)
        if answer.note:
            return Check(YES, answer.note, "transformers' class")
        return Check(NO, f"{name} has no class {architecture}")

    def _of_pipeline(self, subject: Subject) -> tuple[Any, str]:
        what = subject.inspection.layout
        return NO, f"a {what} of several models is none of its classes"

    def of_no_class(self, subject: Subject) -> Check:  # noqa: ARG002 - others look at it
        """Of a model that names none: a GGUF file, an old config."""
        return Check(UNKNOWN, "the config names no class")

    # ---- the packing

    def of_packing(self, subject: Subject) -> Check:
        name = f"{self.label} {self.version}"
        method = subject.method
        if not method or subject.is_pipeline:
            return PASSED
        known = self.method_of(subject)
        if known not in self.lists["methods"] and known not in self.lists.get("online", ()):
            return Check(NO, f"{name} has no quantisation method {method}")
        if method in ("gptq", "awq") and (refusal := self._of_width(subject)):
            return Check(NO, refusal)
        note = "" if known == method else f"quantisation method {method} runs as {known}"
        return Check(YES, note=note)

    def method_of(self, subject: Subject) -> str:
        """The engine's own name of the method."""
        method = subject.method
        if method != "modelopt":
            return self.called.get(method, method)
        scheme = subject.scheme
        kind = next((end for word, end in _MODELOPT if word in scheme), "")
        return f"modelopt_{kind}" if kind else self.modelopt_fp8

    def _of_width(self, subject: Subject) -> str:
        """Why bits of a GPTQ or AWQ checkpoint are not taken; empty where they are."""
        declared = subject.declared
        bits = declared.integer("bits", "w_bit")
        if bits is None:
            return ""
        lists = self.lists[subject.method]
        symmetric = declared.values.get("sym", True)
        if subject.method == "awq":
            return "" if bits in lists else f"it takes AWQ of {lists} bits, and this has {bits}"
        if [bits, symmetric] in lists:
            return ""
        how = "symmetric" if symmetric else "not symmetric"
        return f"it takes symmetric GPTQ of 4 and 8 bits, and this has {bits}, {how}"

    # ---- the card

    def of_card(self, subject: Subject) -> Check:
        name = f"{self.label} {self.version}"
        known = self.method_of(subject)
        if subject.maker == "apple":
            return self.of_apple()
        if subject.maker == "amd":
            if subject.method and known not in self.lists["rocm"]:
                return Check(NO, f"{name} has no {subject.method} on AMD's cards")
            return PASSED
        capability = subject.capability
        least = self.lists["methods"].get(known)
        if not subject.method or capability is None or least is None or capability >= least:
            return PASSED
        card = subject.card.name if subject.card else ""
        return Check(
            NO,
            f"{known} needs compute capability {spelled_capability(least)}, and {card} has "
            f"{spelled_capability(capability)}",
        )

    @abstractmethod
    def of_apple(self) -> Check:
        """Whether it runs on Apple's GPUs."""

    # ---- the line

    def launch(self, subject: Subject) -> Launch:
        if subject.device is None:
            return Launch(unknown="name a card (--on) for a line with its numbers")
        sized = subject.sized(self.name)
        if isinstance(sized, str):
            return Launch(unknown=sized)
        return self._of_sum(subject, sized)

    def _of_sum(self, subject: Subject, sized: Memory) -> Launch:
        fits = of_memory(sized)
        if fits.answer == NO:
            return Launch(fits=fits)
        tokens = tokens_of(subject, sized)
        flags = [] if tokens is None else [f"{self.context_flag} {tokens}"]
        because = [] if tokens is None else [why_tokens(subject, sized, tokens)]
        more, why = self.settings(subject, sized)
        command = " ".join((self.program(subject), *flags, *more))
        return Launch((LaunchLine(command, (*because, *why)),), fits=fits)

    #: The flag of the longest context.
    context_flag: ClassVar[str]

    @abstractmethod
    def program(self, subject: Subject) -> str:
        """The command with the model."""

    @abstractmethod
    def settings(self, subject: Subject, sized: Memory) -> tuple[list[str], list[str]]:
        """The other flags, and where their numbers come from."""


def of_memory(sized: Memory) -> Check:
    """Whether the card holds the model at the least of contexts."""
    verdict = sized.verdict
    if verdict is None or sized.max_context:
        return PASSED
    if verdict.fits is False and not _may_be_shared(sized):
        least = sized.at[0] if sized.at else None
        needed = verdict.least if least is None else (least.total or verdict.least)
        tokens = "" if least is None else f" at {least.context:,} tokens"
        offered = byte_size(verdict.capacity)
        return Check(NO, f"it needs {byte_size(needed)} on one card{tokens}, which has {offered}")
    if verdict.fits:
        return PASSED
    why = sized.cache_unknown or verdict.text
    return Check(UNKNOWN, f"whether the device holds it is not known: {why}")


def _may_be_shared(sized: Memory) -> bool:
    """Whether several cards together hold what is known, where no rule says how it is shared."""
    count = 1 if sized.device is None else sized.device[2]
    verdict = sized.verdict
    if sized.at or count == 1 or verdict is None:
        return False
    return verdict.least <= verdict.capacity * count


def tokens_of(subject: Subject, sized: Memory) -> int | None:
    """The context of a line: the one that was named, else the longest that fits; None where no
    limit is known."""
    if subject.options.context is not None and sized.main is not None:
        return sized.main.context
    return sized.max_context


def why_tokens(subject: Subject, sized: Memory, tokens: int) -> str:
    """Where the context of a line comes from."""
    if subject.options.context is not None:
        return f"{tokens:,} tokens as named"
    if tokens == sized.own_context:
        return f"{tokens:,} tokens: the model's own context, which fits"
    return f"{tokens:,} tokens: the longest context that fits"
