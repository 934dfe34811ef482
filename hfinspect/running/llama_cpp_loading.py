"""What llama.cpp loads: GGUF of the architectures of src/llama-arch.cpp, and what its converter
(conversion/) makes of a class."""

from __future__ import annotations

import shlex
from typing import ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..core.footprint import Memory
from ..core.offload_plan import OffloadPlan
from .engine_lists import classes_of
from .loader import PASSED, Check, Launch, Loader
from .served import tokens_of
from .subject import LEAST_CONTEXT, Subject

_CONVERTED: Final = "model.gguf"


class LlamaCppLoader(Loader):
    name: ClassVar[str] = "llama.cpp"
    label: ClassVar[str] = "llama.cpp"
    key: ClassVar[str] = "llama_cpp"

    def of_class(self, subject: Subject) -> Check:
        own = classes_of(self.name)
        if subject.is_gguf:
            kind = subject.model_type
            if kind in own["architectures"]:
                return Check(YES, f"architecture {kind}", kind)
            return Check(NO, f"llama.cpp has no architecture {kind or 'that the file names'}")
        if subject.is_pipeline:
            return Check(NO, f"its converter takes no {subject.inspection.layout}")
        architecture = subject.architecture
        if not architecture:
            return Check(UNKNOWN, "the config names no class")
        if architecture in own["classes"]:
            made = own["converts"].get(architecture)
            return Check(YES, f"its converter takes {architecture}", made)
        return Check(NO, f"its converter has no class {architecture}")

    def of_packing(self, subject: Subject) -> Check:
        method, lists = subject.method, self.lists
        if not method or subject.is_gguf or subject.is_pipeline:
            return PASSED
        if method not in lists["methods"]:
            return Check(NO, f"its converter reads no {method}")
        form = subject.format_of_packing
        if method == "compressed-tensors" and form and form not in lists["compressed"]:
            return Check(NO, f"its converter reads no compressed-tensors of format {form}")
        if method == "mxfp4":
            return Check(YES, note="its converter repacks MXFP4 as it is")
        return Check(YES, note=f"its converter reads {method}, and writes other dtypes")

    def launch(self, subject: Subject) -> Launch:
        convert, path = self._converted(subject)
        if subject.device is None:
            unknown = "name a card (--on) for a line with its numbers"
            return Launch(convert, "" if convert else unknown)
        if subject.method and not subject.is_gguf and subject.method != "mxfp4":
            return Launch(convert, "the converter writes other dtypes, which no rule sizes")
        sized = subject.sized(self.name)
        if isinstance(sized, str):
            return Launch(convert, sized)
        chosen = self._offloaded(subject, sized)
        if isinstance(chosen, Check):
            return Launch(fits=chosen)
        if isinstance(chosen, str):
            return Launch(convert, chosen)
        tokens, plan = chosen
        experts = f" --n-cpu-moe {plan.cpu_experts}" if plan.cpu_experts else ""
        command = f"llama-server -m {path} -ngl {plan.gpu_layers}{experts} -c {tokens} -np 1"
        return Launch((*convert, LaunchLine(command, _why(plan, tokens))))

    def _converted(self, subject: Subject) -> tuple[tuple[LaunchLine, ...], str]:
        """The line that makes a GGUF file, where it is none yet, and the file's path."""
        if not subject.is_gguf:
            line = f"python convert_hf_to_gguf.py {subject.name} --outfile {_CONVERTED}"
            if subject.inspection.origin.repo_id:
                line += " --remote"
            return (LaunchLine(line),), _CONVERTED
        files = subject.inspection.files
        origin = subject.inspection.origin
        if origin.kind == "file" or not files:
            return (), subject.name
        return (), shlex.quote(f"{subject.place}/{files[0].path}")

    def _offloaded(self, subject: Subject, sized: Memory) -> tuple[int, OffloadPlan] | Check | str:
        """The context and the plan: all on the GPU at the longest context that fits, else what
        fits at the least one; a refusal, or why neither is known."""
        tokens = tokens_of(subject, sized)
        least = min(LEAST_CONTEXT, sized.own_context or LEAST_CONTEXT)
        if subject.options.context is None:
            tokens = max(tokens or 0, least)
            again = subject.sized(self.name, tokens)
            sized = again if isinstance(again, Memory) else sized
        plans = () if sized.offload is None else sized.offload.plans
        if tokens is None or not plans:
            if sized.offload is None:
                return sized.offload_unknown or sized.cache_unknown or "its layers are not known"
            return Check(NO, "not even the output layer fits on the GPU")
        return tokens, max(plans, key=lambda plan: plan.gpu_layers)


def _why(plan: OffloadPlan, tokens: int) -> tuple[str, ...]:
    placed = f"-ngl {plan.gpu_layers}: the layers that the card holds at {tokens:,} tokens"
    if not plan.cpu_experts:
        return (placed,)
    return (placed, f"--n-cpu-moe {plan.cpu_experts}: layers whose experts stay in main memory")
