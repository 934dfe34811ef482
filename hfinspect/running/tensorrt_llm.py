"""What TensorRT-LLM loads: the classes that its PyTorch backend registers, what it makes of a
quantization_config, and its page of packings by generation of cards."""

from typing import ClassVar, Final

from ..core.engine_answers import NO, UNKNOWN, YES, LaunchLine
from ..core.footprint import Memory
from .kernel_choice import spelled_capability
from .loader import PASSED, Check, Launch, Loader
from .served import of_memory, tokens_of, why_tokens
from .subject import LEAST_CONTEXT, Subject

_PAGE: Final = "its page of packings"
#: Packings as its page names them, of the format of compressed-tensors.
_COMPRESSED: Final = {
    "float-quantized": "FP8(rowwise)",
    "nvfp4-pack-quantized": "NVFP4",
    "mxfp4-pack-quantized": "MXFP4",
}
#: Algorithms of ModelOpt, the first that the scheme has. FP8_PB_WO is FP8 in blocks.
_MODELOPT: Final = (
    ("MIXED", ""),
    ("MXFP8", ""),
    ("W4A16_AWQ", "W4A16 AWQ"),
    ("W4A8_AWQ", "W4A8 AWQ"),
    ("NVFP4", "NVFP4"),
    ("PB_WO", "FP8(block scaling)"),
    ("BLOCK", "FP8(block scaling)"),
    ("FP8", "FP8(per tensor)"),
)
#: MXFP4 runs with 16 bits where no card of the page has it: ``get_mxfp4_quant_algo``, and Triton's
#: experts on Hopper (``resolve_moe_backend``) in _torch/model_config.py.
_MXFP4_BY_SOURCE: Final = 90
#: Tokens of a block of its cache (``tokens_per_block``), and the share of what is free next to
#: weights and a step that the cache takes (``free_gpu_memory_fraction``), in percent.
_BLOCK: Final = 32
_PERCENT: Final = 90
#: Requests at once where nobody says it (``max_batch_size``).
_MOST_REQUESTS: Final = 2048
#: Tokens of a step: what ``memory`` counts for a prompt where no engine says it.
_STEP: Final = 2048


class TensorRtLlm(Loader):
    name: ClassVar[str] = "tensorrt-llm"
    label: ClassVar[str] = "TensorRT-LLM"
    key: ClassVar[str] = "tensorrt_llm"

    @property
    def version(self) -> str:
        return f"source at {self.lists['version']}"

    def of_class(self, subject: Subject) -> Check:
        if subject.is_gguf:
            return Check(NO, "it reads no GGUF")
        if subject.is_pipeline:
            return Check(UNKNOWN, "its classes of pictures and films were not read")
        architecture = subject.architecture
        if not architecture:
            return Check(UNKNOWN, "the config names no class")
        if self._registers(subject):
            return Check(YES, f"class {architecture}", architecture)
        if architecture in self.lists["autodeploy"]:
            return Check(YES, f"{architecture} by its backend AutoDeploy", architecture)
        return Check(NO, f"it registers no class {architecture}")

    def _registers(self, subject: Subject) -> bool:
        return subject.architecture in self.lists["classes"]

    # ---- the packing

    def of_packing(self, subject: Subject) -> Check:
        method = subject.method
        if not method or subject.is_pipeline or subject.is_gguf:
            return PASSED
        if method not in self.lists["methods"]:
            return Check(NO, f"it reads no {method}")
        if refusal := self._refused(subject):
            return Check(NO, refusal)
        packing = self._packing(subject)
        if packing is None:
            form = subject.format_of_packing or subject.scheme or "this form"
            return Check(UNKNOWN, f"what it makes of {method} in {form} is not listed")
        numbers = self.lists["cards"].get(packing, ()) if subject.device is None else ()
        cards = ", ".join(map(spelled_capability, numbers))
        return Check(YES, note=f"{packing} runs on compute capability {cards}" if cards else "")

    def _refused(self, subject: Subject) -> str:
        """Why a packing of a method that it reads is refused; empty where it is not."""
        declared = subject.declared
        method = subject.method
        if method == "gptq":
            supported = self.lists["gptq"]
            bits = declared.integer("bits")
            group = declared.integer("group_size")
            if bits not in supported["bits"] or group not in supported["groups"]:
                sizes = " or ".join(map(str, supported["groups"]))
                return f"it takes GPTQ of 4 bits in groups of {sizes}, and this has {bits}, {group}"
            return "it takes no GPTQ with desc_act" if declared.values.get("desc_act") else ""
        if method == "fp8":
            block = declared.values.get("weight_block_size")
            static = declared.text("activation_scheme") == "static"
            if block not in (None, [128, 128]) or not (block or static):
                return "it takes FP8 with blocks of 128 by 128 or with static scales"
        if method == "compressed-tensors" and subject.format_of_packing == "pack-quantized":
            return "it takes no compressed-tensors of format pack-quantized"
        return ""

    def _packing(self, subject: Subject) -> str | None:
        """What its page calls the packing; empty where the page has no such column, None where
        that is not known."""
        method = subject.method
        declared = subject.declared
        if method == "gptq":
            return "W4A16 GPTQ"
        if method == "fp8":
            block = declared.values.get("weight_block_size")
            return "FP8(block scaling)" if block else "FP8(per tensor)"
        if method == "compressed-tensors":
            return _COMPRESSED.get(subject.format_of_packing)
        if method == "modelopt":
            return next((name for word, name in _MODELOPT if word in subject.scheme), None)
        return {"mxfp4": "MXFP4", "nvfp4": "NVFP4"}.get(method, "")

    # ---- the card

    def of_card(self, subject: Subject) -> Check:
        if subject.maker in ("amd", "apple", "other"):
            return Check(NO, "it runs on NVIDIA's cards alone")
        capability = subject.capability
        cards = self.lists["cards"]
        if capability is None:
            return PASSED
        card = subject.card.name if subject.card else ""
        if capability not in {number for numbers in cards.values() for number in numbers}:
            what = f"{card} (compute capability {spelled_capability(capability)})"
            return Check(UNKNOWN, f"{_PAGE} names no cards like {what}")
        packing = self._packing(subject) if subject.method else ""
        if not packing or capability in cards.get(packing, ()):
            return PASSED
        if packing == "MXFP4" and capability >= _MXFP4_BY_SOURCE:
            return Check(YES, note="on this card MXFP4 runs as W4A16_MXFP4")
        return Check(NO, f"{_PAGE} has no {packing} on {card}")

    # ---- the line

    def launch(self, subject: Subject) -> Launch:
        device = subject.device
        if device is None:
            return Launch(unknown="name a card (--on) for a line with its numbers")
        sized = subject.sized("logical")
        if isinstance(sized, str):
            return Launch(unknown=sized)
        sized = self._with_share(subject, sized, device.nbytes)
        fits = of_memory(sized)
        if fits.answer == NO:
            return Launch(fits=fits)
        flags, because = self._settings(subject, sized)
        command = " ".join((f"trtllm-serve {subject.name}", *flags)) + subject.revision
        return Launch((LaunchLine(command, tuple(because)),), fits=fits)

    def _with_share(self, subject: Subject, sized: Memory, nbytes: int) -> Memory:
        """The same sum where the cache takes its share of what weights and a step leave free."""
        if sized.workspace is None or sized.weights.per_device is None:
            return sized
        occupied = sized.weights.per_device + sized.workspace.nbytes
        if occupied >= nbytes:
            return sized
        memory = subject.sized("logical", nbytes=occupied + (nbytes - occupied) * _PERCENT // 100)
        return memory if isinstance(memory, Memory) else sized

    def _settings(self, subject: Subject, sized: Memory) -> tuple[list[str], list[str]]:
        flags = []
        because = []
        tokens = tokens_of(subject, sized)
        if tokens is not None:
            if tokens != sized.own_context and subject.options.context is None:
                tokens = tokens // _BLOCK * _BLOCK or tokens
            flags.append(f"--max_seq_len {tokens}")
            because.append(why_tokens(subject, sized, tokens))
            context = min(LEAST_CONTEXT, tokens)
            if requests := self._requests(subject, sized, context):
                flags.append(f"--max_batch_size {requests}")
                because.append(f"{requests:,} requests at once: so many of {context:,} tokens fit")
        flags.append(f"--max_num_tokens {_STEP} --enable_chunked_prefill")
        because.append(f"the sum counts steps of {_STEP:,} tokens")
        flags.append(f"--kv_cache_free_gpu_memory_fraction 0.{_PERCENT}")
        because.append(f"the cache takes {_PERCENT}% of what is free, its own default")
        split = (("--tp_size", sized.tensor_parallel), ("--pp_size", sized.pipeline_parallel))
        flags += [f"{flag} {count}" for flag, count in split if count > 1]
        if subject.architecture in self.lists["autodeploy"] and not self._registers(subject):
            flags.append("--backend _autodeploy")
        return flags, because

    def _requests(self, subject: Subject, sized: Memory, context: int) -> int:
        """Sequences of this context that fit at once, at least those that were named."""
        if not context or sized.device is None:
            return 0
        short = subject.sized("logical", context, nbytes=sized.device[1])
        most = short.max_batch if isinstance(short, Memory) else None
        return max(subject.options.batch, min(most or 1, _MOST_REQUESTS))
