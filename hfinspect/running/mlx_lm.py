"""What MLX-LM loads: a module in mlx_lm/models for each type, and the methods of quantisation in
``load_model`` (utils.py)."""

from typing import ClassVar

from ..analysis.mlx_layout import MLX_LAYOUT
from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..core.footprint import Memory
from ..core.text import byte_size
from ..sizing.engines.registry import LOGICAL
from ..sizing.own_cache import GENERATES
from .loader import PASSED, Check, Launch, Loader
from .served import of_memory, tokens_of, why_tokens
from .subject import Subject


class MlxLm(Loader):
    name: ClassVar[str] = "mlx-lm"
    label: ClassVar[str] = "MLX-LM"
    key: ClassVar[str] = "mlx_lm"
    layouts: ClassVar[tuple[str, ...]] = (MLX_LAYOUT,)

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
        module_name = self.lists["renamed"].get(kind, kind)
        if module_name not in self.lists["types"]:
            return Check(NO, f"MLX-LM {self.version} has no type {kind}")
        if not subject.architecture.endswith(GENERATES):
            reason = f"its types write words, and {subject.architecture} has no such head"
            return Check(UNKNOWN, reason, module_name)
        towers = subject.architecture.endswith("ForConditionalGeneration")
        note = "of a model with towers it loads the language model" if towers else ""
        return Check(YES, f"type {kind}", module_name, note)

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
        server = f"mlx_lm.server --model {subject.name}"
        if subject.device is None:
            return Launch((LaunchLine(server),))
        if subject.device.count > 1:
            return Launch(unknown="how it shares a model over several cards is not read")
        sized = subject.sized("logical")
        if isinstance(sized, str):
            return Launch(unknown=sized)
        fits = of_memory(sized)
        tokens = tokens_of(subject, sized)
        if fits.answer == NO or not tokens or sized.main is None:
            return Launch((LaunchLine(server),), fits=fits)
        lines = self._server(subject, server, sized, tokens)
        return Launch((lines, *self._generating(subject, sized, tokens)), fits=fits)

    def _server(self, subject: Subject, server: str, sized: Memory, tokens: int) -> LaunchLine:
        """With what the card leaves for keys and values, of so many sequences at once."""
        batch = subject.options.batch
        device = sized.device
        because = [why_tokens(subject, sized, tokens)]
        flags = [
            f"--decode-concurrency {batch} --prompt-concurrency {batch}",
            f"--prefill-step-size {LOGICAL.step}",
        ]
        sequences = "1 sequence" if batch == 1 else f"{batch} sequences"
        because.append(f"{sequences} at once: each has a cache of its own")
        if device is not None and sized.weights.per_device is not None and sized.workspace:
            left = device[1] - sized.weights.per_device - sized.workspace.nbytes
            flags.insert(1, f"--prompt-cache-bytes {left}")
            because.append(f"{byte_size(left)} for all caches: what weights and a step leave")
        if subject.maker == "apple" and device is not None:
            wired = f"{byte_size(device[1])} are wired: Metal's recommended working set"
            because.append(wired)
        return LaunchLine(" ".join((server, *flags)), tuple(because))

    def _generating(self, subject: Subject, sized: Memory, tokens: int) -> tuple[LaunchLine, ...]:
        """A prompt in the shell; where the card holds less than the model's own context, with that
        limit, if the type has no caches of its own, which leave no choice."""
        line = f"mlx_lm.generate --model {subject.name} --prompt - --max-tokens 512"
        module_name = self.lists["renamed"].get(subject.model_type, subject.model_type)
        if tokens == sized.own_context or module_name in self.lists["own_caches"]:
            return (LaunchLine(line),)
        because = [f"{tokens:,} tokens are kept, older ones are dropped"]
        packed = self._in_eight_bits(subject, tokens)
        if packed:
            because.append(f"--kv-bits 8 instead keeps {packed:,} tokens")
        return (LaunchLine(f"{line} --max-kv-size {tokens}", tuple(because)),)

    def _in_eight_bits(self, subject: Subject, tokens: int) -> int | None:
        """The longest context with --kv-bits 8, where it is longer: 8 bits, and a scale and a bias
        of 16 for each 64 elements, as many bits as llama.cpp's q8_0 has."""
        sized = subject.sized("logical", cache_dtype="q8_0")
        longest = sized.max_context if isinstance(sized, Memory) else None
        return longest if longest and longest > tokens else None
