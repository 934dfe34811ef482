"""What ``generate()`` of a real transformers takes next to weights and cache:
``fixtures/oracle/transformers_workspace.json``.

Makes small random models in bfloat16, and follows the bytes of all storages that a call makes, from
each operation of torch to the next, until they are freed. Needs torch and transformers::

    python -m tests.sizing.record_transformers_workspace [MODEL ...]

With names, only these are recorded again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.sizing.workspace_models import MODELS as FIRST
from tests.sizing.workspace_types import TYPES

MODELS = {**FIRST, **TYPES}
RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "transformers_workspace.json"


class Case(NamedTuple):
    """One call: an attention (empty: the type's own), ``padded``: half of the first prompt. The
    decoder next to an encoder is given a prompt of so many tokens too."""

    attention: str
    static: bool
    batch: int
    tokens: int
    padded: bool


#: Of all models; the last two of those that have both kernels.
CASES = (
    Case("", False, 1, 16, False),
    Case("", False, 1, 384, False),
    Case("", False, 4, 96, True),
    Case("eager", False, 1, 384, False),
    Case("", True, 2, 96, True),
)
#: More of models in ``TYPES``: what grows with the square of the tokens is the most there.
LONG = (Case("", False, 1, 1536, False), Case("", False, 3, 700, True))
#: Of models called deep, whose cache is larger than what their encoder takes: short prompts next to
#: a long input, which those of ``_SHORT`` tokens have.
DEEP = (
    Case("", False, 1, 16, False),
    Case("", False, 1, 17, False),
    Case("", False, 2, 17, True),
)
_SHORT = 17
_LONG_INPUT = 1000
#: Latents have heads of two widths, which no fused kernel of torch's takes on a CPU.
_EAGER = (
    *("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots3_note_text"),
    *("glm4_moe_lite", "glm_moe_dsa", "hy_v4", "longcat_flash", "youtu"),
)
_OF_SOUND = ("whisper", "speech_to_text", "moonshine", "speecht5")
#: Classes that no AutoModel of texts or sounds gives.
_CLASSES = {
    "pop2piano": "Pop2PianoForConditionalGeneration",
    "encoder-decoder": "EncoderDecoderModel",
    "vision-encoder-decoder": "VisionEncoderDecoderModel",
    "speech-encoder-decoder": "SpeechEncoderDecoderModel",
    "kosmos-2": "Kosmos2ForConditionalGeneration",
    "kosmos-2.5": "Kosmos2_5ForConditionalGeneration",
    "glm5_next": "Glm5NextForConditionalGeneration",
    "minicpm_ocr": "MiniCPMOcrForConditionalGeneration",
    "minicpmv4_6": "MiniCPMV4_6ForConditionalGeneration",
    "minicpmv4_7": "MiniCPMV4_7ForConditionalGeneration",
    "nemotron_h_omni": "NemotronH_Omni_Reasoning_V3",
    "t5gemma2": "T5Gemma2ForConditionalGeneration",
    "udop": "UdopForConditionalGeneration",
}
#: Of sound for each token of Moonshine's encoder, the steps of its convolutions.
_SAMPLES = 64 * 3 * 2
#: Tokens that a call generates.
_NEW = 2


def _peak(model: Any, case: Case) -> tuple[int, int]:
    """Most bytes of a call, and bytes of its cache in the end."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from transformers import GenerationMixin

    class Following(TorchDispatchMode):  # type: ignore[misc]
        """Storages that operations made and nobody freed."""

        def __init__(self, known: set[int]) -> None:
            super().__init__()
            self.known = known
            self.peak = 0
            self.alive: dict[int, tuple[Any, int]] = {}

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(given):
                if isinstance(tensor, torch.Tensor):
                    storage = tensor.untyped_storage()
                    if storage._cdata not in self.known:
                        self.alive[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
            self.alive = {key: one for key, one in self.alive.items() if not one[0].expired()}
            self.peak = max(self.peak, sum(nbytes for _, nbytes in self.alive.values()))
            return given

    given = _inputs(model.config, case)
    known = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers())}
    known |= {t.untyped_storage()._cdata for t in given.values()}
    kind = {"cache_implementation": "static"} if case.static else {}
    with torch.no_grad(), Following(known) as following:
        made = GenerationMixin.generate(
            getattr(model, "text_model", model),  # Kosmos' whole wants a picture
            **given,
            max_new_tokens=_NEW,
            do_sample=True,
            eos_token_id=[],
            return_dict_in_generate=True,
            **kind,
        )
    stores = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in _kept(made)}
    return following.peak, sum(stores.values())


def _inputs(config: Any, case: Case) -> dict[str, Any]:
    """What a call is given."""
    import torch

    text = config.get_text_config()
    ids = torch.randint(3, text.vocab_size - 16, (case.batch, case.tokens))
    mask = torch.ones_like(ids)
    if not config.is_encoder_decoder:
        if case.padded:
            mask[0, : case.tokens // 2] = 0
        return {"input_ids": ids, "attention_mask": mask}
    ids[:, 0] = config.decoder_start_token_id
    seen = encoder_tokens(config.model_type, case.tokens, case.padded, config.to_dict())
    if config.model_type == "whisper":
        sound = torch.randn(case.batch, config.num_mel_bins, 2 * seen).bfloat16()
        return {"input_features": sound, "decoder_input_ids": ids}
    if config.model_type == "moonshine":
        sound = torch.randn(case.batch, _SAMPLES * (seen + 1)).bfloat16()
        return {"input_values": sound, "decoder_input_ids": ids}
    if config.model_type == "speech_to_text":
        sound = torch.randn(case.batch, 4 * seen, config.input_feat_per_channel).bfloat16()
        return {"input_features": sound, "decoder_input_ids": ids}
    if config.model_type == "vision-encoder-decoder":
        side = config.encoder.image_size
        picture = torch.randn(case.batch, 3, side, side).bfloat16()
        return {"pixel_values": picture, "decoder_input_ids": ids}
    if config.model_type in ("speecht5", "speech-encoder-decoder"):
        sound = torch.randn(case.batch, 320 * (seen + 1)).bfloat16()
        return {"input_values": sound, "decoder_input_ids": ids}
    of_encoder = config.encoder if config.model_type == "encoder-decoder" else config
    text = torch.randint(3, of_encoder.vocab_size, (case.batch, seen))
    mask = torch.ones_like(text)
    if case.padded:
        mask[0, : seen // 2] = 0
    if config.model_type == "pop2piano":
        sound = torch.randn(case.batch, seen, config.d_model).bfloat16()
        return {"input_features": sound, "attention_mask": mask, "decoder_input_ids": ids}
    boxes = {"bbox": torch.zeros(*text.shape, 4)} if config.model_type == "udop" else {}
    return {"input_ids": text, "attention_mask": mask, "decoder_input_ids": ids, **boxes}


def encoder_tokens(name: str, tokens: int, padded: bool, config: dict[str, Any]) -> int:
    """Those that an encoder gives: twice those of the decoder where prompts are padded."""
    if name == "whisper":
        return int(config["max_source_positions"])
    if name == "vision-encoder-decoder":
        encoder = config["encoder"]
        across = int(encoder.get("image_size", 224)) // int(encoder.get("patch_size", 16))
        return across**2 + (2 if encoder["model_type"] == "deit" else 1)
    if tokens == _SHORT:
        return _LONG_INPUT
    return 2 * tokens if padded else tokens


def _kept(made: Any) -> list[Any]:
    """The tensors of what a call gave as its cache or states."""
    import torch

    tensors = []
    open_ = [getattr(made, "past_key_values", None)]
    seen = set()
    open_ += [getattr(made, "state", None), getattr(made, "cache_params", None)]
    while open_:
        one = open_.pop()
        if isinstance(one, torch.Tensor):
            tensors.append(one)
        elif isinstance(one, dict):
            open_ += one.values()
        elif isinstance(one, (list, tuple)):
            open_ += one
        elif id(one) not in seen and "Cache" in "".join(map(str, type(one).__mro__)):
            seen.add(id(one))
            open_ += vars(one).values()
    return tensors


def _keeps_rows_alone(config: Any) -> bool:
    """Whether a StaticCache is measured: not of states, nor of what an encoder gives."""
    plain = {"full_attention", "sliding_attention", "chunked_attention"}
    layers = set(getattr(config, "layer_types", None) or plain)
    return (
        layers <= plain
        and not config.is_encoder_decoder
        and getattr(config, "num_attention_heads", 0) > 0
    )


def measured(name: str) -> list[list[Any]]:
    """The cases of a model: each with its peak and its cache, in bytes."""
    import torch
    import transformers
    from transformers import AutoConfig

    torch.manual_seed(0)
    config = AutoConfig.for_model(name.partition(" ")[0], **MODELS[name])
    auto = "AutoModelForCausalLM"
    if config.is_encoder_decoder:
        sound = config.model_type in _OF_SOUND
        auto = "AutoModelForSpeechSeq2Seq" if sound else "AutoModelForSeq2SeqLM"

    def made() -> Any:
        if config.model_type in _CLASSES:
            named = getattr(transformers, _CLASSES[config.model_type])
            return named._from_config(config, dtype=torch.bfloat16).eval()
        return getattr(transformers, auto).from_config(config, dtype=torch.bfloat16).eval()

    own = "eager" if config.model_type in _EAGER else made().config._attn_implementation
    rows = []
    usual = CASES + (LONG if name in TYPES else ())
    for case in DEEP if name.endswith(" deep") else usual:
        if case.attention == own or (case.static and not _keeps_rows_alone(config)):
            continue
        model = made()  # a short prompt changes BigBird-Pegasus for good
        model.set_attn_implementation(case.attention or own)
        try:
            peak, cache = _peak(model, case)
        except (ValueError, NotImplementedError, RuntimeError, IndexError) as error:
            print(f"{name} {case}: {error}"[:160])
            continue
        rows.append([name, case.attention or own, *case[1:], peak, cache])
        print(rows[-1], flush=True)
    return rows


def write(passes: Mapping[str, Sequence[list[Any]]]) -> None:
    """The rows of these models, in place of what is recorded of them."""
    import torch
    import transformers

    held = json.loads(RECORD.read_text())["rows"]
    rows = [row for row in held if row[0] in MODELS and row[0] not in passes]
    rows += [row for own in passes.values() for row in own]
    columns = ("model", *Case._fields, "peak", "cache")
    record = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "models": MODELS,
        "columns": columns,
        "rows": rows,
    }
    RECORD.write_text(json.dumps(record) + "\n")
    print(f"{len(rows)} rows of transformers {transformers.__version__}")


def main(names: list[str]) -> None:
    import transformers

    transformers.logging.set_verbosity_error()
    write({name: measured(name) for name in names or MODELS})


if __name__ == "__main__":
    main(sys.argv[1:])
