"""Higgs Audio v2 (Boson AI 2025). Source of shapes: transformers/models/higgs_audio_v2. A Llama
with a second MLP and second norms for the tokens of sound, whose codebooks share one table and
head."""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, pre_norm
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Embedding, Module
from .llama import LLAMA


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    for name in ("mlp", "input_layernorm", "post_attention_layernorm"):
        block.children[f"audio_{name}"] = block.children[name]
    return block


_HIGGS = LLAMA.like(
    "HiggsAudioV2", vocab_size=128256, hidden_size=3072, intermediate_size=8192,
    num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8, head_dim=128,
    null_head_dim=True, rms_norm_eps=1e-5, mlp_bias=False, layer=_layer,
)  # fmt: skip


def _codes(c: ModelConfig) -> Dim:
    return c.count("num_codebooks", default=8) * c.dim("codebook_size", default=1024)


def model(c: ModelConfig) -> Module:
    found, table = _HIGGS.model(c), Embedding(_codes(c), _HIGGS.width(c))
    sounds = Module("HiggsAudioV2Embeddings", embed_audio_tokens=table)
    found.children["embed_audio_tokens"] = sounds
    return found


def generation(c: ModelConfig) -> Module:
    head = to_words(_HIGGS.width(c), _codes(c))
    return Module(_WHOLE, model=model(c), audio_lm_head=head)


_WHOLE = "HiggsAudioV2ForConditionalGeneration"
_CLASSES = {_WHOLE: generation, "HiggsAudioV2Model": model}
register("higgs_audio_v2", _CLASSES, base=_WHOLE, base_prefix="model", category="audio")
