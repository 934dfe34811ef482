"""What transformers loads: the types of models/auto by release, quantizers/auto.py, and the
architectures of GGUF files in integrations/ggml.py."""

import shlex
from typing import ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from .engine_lists import transformers_types
from .loader import PASSED, Check, Launch, Loader
from .served import of_memory
from .subject import Subject

_CAUSAL: Final = ("ForCausalLM", "LMHeadModel")
#: Methods of checkpoints that have another name in the library's table.
_CALLED: Final = {
    "bitsandbytes": "bitsandbytes_4bit",
    "finegrained_fp8": "fp8",
    "intel/auto-round": "auto-round",
}


def in_double_quotes(text: str) -> str:
    """A text as one word of a POSIX shell, in quotes that leave Python's own as they are."""
    special = '\\"$`!'
    quotable = not any(one in text for one in special)
    return f'"{text}"' if quotable else shlex.quote(text)


class TransformersLoader(Loader):
    name: ClassVar[str] = "transformers"
    label: ClassVar[str] = "transformers"
    key: ClassVar[str] = "transformers"

    def of_class(self, subject: Subject) -> Check:
        kind = subject.model_type
        if subject.is_gguf:
            return self._of_gguf(kind)
        if subject.is_pipeline:
            return Check(NO, f"a {subject.inspection.layout} is no class of transformers")
        if subject.of_diffusers:
            return Check(NO, f"{subject.architecture} is a class of diffusers")
        if not kind:
            return Check(UNKNOWN, "the config names no model_type")
        ends = transformers_types().get(kind) or transformers_types().get(kind.replace("_", "-"))
        if ends is None:
            if subject.own_code:
                return Check(YES, f"type {kind} by the repo's own code (trust_remote_code=True)")
            return Check(NO, f"no release up to {self.version} has a type {kind}")
        note = "the repo has code of its own for it too" if subject.own_code else ""
        return Check(YES, self._since(kind, *ends), subject.architecture or None, note)

    def _of_gguf(self, kind: str) -> Check:
        if kind in self.lists["gguf"]:
            return Check(YES, f"GGUF of {kind}, unpacked on loading (gguf_file=...)", kind)
        return Check(NO, f"transformers {self.version} does not read GGUF of {kind}")

    def _since(self, kind: str, first: str, last: str) -> str:
        """In which of the releases that were read: ``in 4.51.3, not in 4.49.0``."""
        versions = self.lists["versions"]
        at = versions.index(first)
        since = f"{first} or before" if at == 0 else f"{first} at the latest, not in"
        known = f"type {kind} since {since}" + (f" {versions[at - 1]}" if at else "")
        if last != versions[-1]:
            return f"{known}; gone after {last}"
        return known

    def of_packing(self, subject: Subject) -> Check:
        method = subject.method
        if not method or subject.is_gguf or subject.is_pipeline:
            return PASSED
        known = _CALLED.get(method, method)
        if known not in self.lists["methods"]:
            return Check(NO, f"transformers {self.version} has no quantisation method {method}")
        return PASSED

    def launch(self, subject: Subject) -> Launch:
        fits = PASSED
        if subject.device is not None:
            sized = subject.sized(self.name)
            if isinstance(sized, str):
                return Launch(unknown=sized)
            fits = of_memory(sized)
        architecture = subject.architecture
        if not architecture.isidentifier() or subject.is_gguf:
            return Launch(unknown="the class is not named", fits=fits)
        causal = architecture.endswith(_CAUSAL)
        name = "AutoModelForCausalLM" if causal else architecture
        if not causal and subject.own_code:
            name = "AutoModel"
        more = ", trust_remote_code=True" if self._by_own_code(subject) else ""
        loaded = f"M.from_pretrained({subject.place!r}, dtype='auto', device_map='auto'{more})"
        code = f"from transformers import {name} as M; {loaded}"
        return Launch((LaunchLine(f"python -c {in_double_quotes(code)}"),), fits=fits)

    def _by_own_code(self, subject: Subject) -> bool:
        kind = subject.model_type
        known = transformers_types()
        return subject.own_code and kind not in known and kind.replace("_", "-") not in known
