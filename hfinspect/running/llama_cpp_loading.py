"""What llama.cpp loads: GGUF of the architectures of src/llama-arch.cpp, and what its converter
(conversion/) makes of a class."""

import shlex
from typing import Any, ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..core.footprint import Memory
from ..core.offload_plan import OffloadPlan
from ..core.original_names import MISTRAL_NAMES
from ..core.text import byte_size
from .engine_lists import classes_of
from .loader import PASSED, Check, Launch, Loader
from .served import tokens_of
from .subject import LEAST_CONTEXT, Subject

_CONVERTED: Final = "model.gguf"
_UNPACKED: Final = "model-bf16.gguf"
#: What packs unpacked weights again, the widest first.
_RECIPES: Final = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M")


class LlamaCppLoader(Loader):
    name: ClassVar[str] = "llama.cpp"
    label: ClassVar[str] = "llama.cpp"
    key: ClassVar[str] = "llama_cpp"
    layouts: ClassVar[tuple[str, ...]] = (MISTRAL_NAMES,)  # --mistral-format

    def of_class(self, subject: Subject) -> Check:
        lists = classes_of(self.name)
        if subject.is_gguf:
            kind = subject.model_type
            if kind in lists["architectures"]:
                return Check(YES, f"architecture {kind}", kind)
            return Check(NO, f"llama.cpp has no architecture {kind or 'that the file names'}")
        if subject.is_pipeline:
            return Check(NO, f"its converter takes no {subject.inspection.layout}")
        architecture = subject.architecture
        if not architecture:
            return Check(UNKNOWN, "the config names no class")
        if architecture in lists["classes"]:
            converted = lists["converts"].get(architecture)
            return Check(YES, f"its converter takes {architecture}", converted)
        return Check(NO, f"its converter has no class {architecture}")

    def of_packing(self, subject: Subject) -> Check:
        method = subject.method
        lists = self.lists
        if not method or subject.is_gguf or subject.is_pipeline:
            return PASSED
        if method not in lists["methods"]:
            return Check(NO, f"its converter reads no {method}")
        form = subject.format_of_packing
        if method == "compressed-tensors" and form and form not in lists["compressed"]:
            return Check(NO, f"its converter reads no compressed-tensors of format {form}")
        if self._is_repacked(subject):
            return Check(YES, note=f"its converter repacks {subject.scheme} as it is")
        return Check(YES, note=f"its converter reads {method}, and writes other dtypes")

    def launch(self, subject: Subject) -> Launch:
        convert, path = self._converted(subject)
        if subject.device is None:
            unknown = "name a card (--on) for a line with its numbers"
            return Launch(convert, "" if convert else unknown)
        if subject.method and not subject.is_gguf and not self._is_repacked(subject):
            return self._unpacked(subject, convert)
        sized = subject.sized(self.name)
        if isinstance(sized, str):
            return Launch(convert, sized)
        return self._serves(subject, sized, convert, path)

    def _serves(
        self, subject: Subject, sized: Memory, before: tuple[LaunchLine, ...], path: str, **of: Any
    ) -> Launch:
        """The line of the server after those that make its file."""
        chosen = self._offloaded(subject, sized, **of)
        if isinstance(chosen, Check):
            return Launch(fits=chosen)
        if isinstance(chosen, str):
            return Launch(before, chosen)
        tokens, plan = chosen
        experts = f" --n-cpu-moe {plan.cpu_experts}" if plan.cpu_experts else ""
        command = f"llama-server -m {path} -ngl {plan.gpu_layers}{experts} -c {tokens} -np 1"
        return Launch((*before, LaunchLine(command, _why(plan, tokens))))

    def _is_repacked(self, subject: Subject) -> bool:
        """Whether the converter writes the packed weights as they are: MXFP4, and NVFP4 that no
        other packing is next to."""
        if subject.method == "mxfp4":
            return True
        return subject.method in ("modelopt", "compressed-tensors") and subject.scheme == "NVFP4"

    def _unpacked(self, subject: Subject, convert: tuple[LaunchLine, ...]) -> Launch:
        """The converter unpacks the weights to 16 bits; the widest recipe that the card holds whole
        packs them again, else the last, whose layers go to the card as far as they fit."""
        if "NVFP4" in subject.scheme:
            unknown = "its converter repacks NVFP4 and unpacks the rest, which no rule sizes"
            return Launch(convert, unknown)
        chosen = self._widest(subject)
        if isinstance(chosen, str):
            return Launch(convert, chosen)
        recipe, sized = chosen
        lines = self._packing_lines(subject, recipe, sized)
        return self._serves(subject, sized, lines, _CONVERTED, width=recipe)

    def _widest(self, subject: Subject) -> tuple[str, Memory] | str:
        """The first recipe that the card holds whole, at the context that was named or at the least
        one; the last where none is. Or why no size is known."""
        for recipe in _RECIPES:
            sized = subject.sized(self.name, width=recipe)
            if isinstance(sized, str):
                return sized
            enough = min(LEAST_CONTEXT, sized.own_context or LEAST_CONTEXT)
            longest = (sized.max_context or 0) >= enough
            fits = sized.fits if subject.options.context is not None else longest
            if fits or recipe == _RECIPES[-1]:
                return recipe, sized
        raise AssertionError("the last recipe is taken")

    def _packing_lines(
        self, subject: Subject, recipe: str, sized: Memory
    ) -> tuple[LaunchLine, ...]:
        """Conversion, and the recipe where the converter does not write it itself."""
        size = sized.weights.nbytes
        because = (f"{recipe}: {byte_size(size)}",) if size else ()
        if recipe == "Q8_0":
            return (LaunchLine(_converting(subject, _CONVERTED, " --outtype q8_0"), because),)
        wide = subject.sized(self.name, width="BF16")
        written = wide.weights.nbytes if isinstance(wide, Memory) else None
        on_disk = (f"unpacked, on disk: {byte_size(written)}",) if written else ()
        return (
            LaunchLine(_converting(subject, _UNPACKED, " --outtype bf16"), on_disk),
            LaunchLine(f"llama-quantize {_UNPACKED} {_CONVERTED} {recipe}", because),
        )

    def _converted(self, subject: Subject) -> tuple[tuple[LaunchLine, ...], str]:
        """The line that makes a GGUF file, where it is none yet, and the file's path."""
        if not subject.is_gguf:
            return (LaunchLine(_converting(subject, _CONVERTED)),), _CONVERTED
        files = subject.inspection.files
        origin = subject.inspection.origin
        if origin.kind == "file" or not files:
            return (), subject.name
        return (), shlex.quote(f"{subject.place}/{files[0].path}")

    def _offloaded(
        self, subject: Subject, sized: Memory, **of: Any
    ) -> tuple[int, OffloadPlan] | Check | str:
        """The context and the plan: all on the GPU at the longest context that fits, else what
        fits at the least one; a refusal, or why neither is known. ``of``: how ``sized`` is."""
        tokens = tokens_of(subject, sized)
        least = min(LEAST_CONTEXT, sized.own_context or LEAST_CONTEXT)
        if subject.options.context is None:
            tokens = max(tokens or 0, least)
            memory = subject.sized(self.name, tokens, **of)
            sized = memory if isinstance(memory, Memory) else sized
        plans = () if sized.offload is None else sized.offload.plans
        if tokens is None or not plans:
            if sized.offload is None:
                return sized.offload_unknown or sized.cache_unknown or "its layers are not known"
            return Check(NO, "not even the output layer fits on the GPU")
        return tokens, max(plans, key=lambda plan: plan.gpu_layers)


def _converting(subject: Subject, path: str, more: str = "") -> str:
    remote = " --remote" if subject.inspection.origin.repo_id else ""
    if any(finding.rule == MISTRAL_NAMES for finding in subject.inspection.findings):
        more = f" --mistral-format{more}"
    return f"python convert_hf_to_gguf.py {subject.name} --outfile {path}{more}{remote}"


def _why(plan: OffloadPlan, tokens: int) -> tuple[str, ...]:
    comment = f"-ngl {plan.gpu_layers}: the layers that the card holds at {tokens:,} tokens"
    if not plan.cpu_experts:
        return (comment,)
    return (comment, f"--n-cpu-moe {plan.cpu_experts}: layers whose experts stay in main memory")
