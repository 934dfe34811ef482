"""Canary (NVIDIA 2024). Source of shapes: transformers/models/canary. Parakeet's encoder of sound,
and a decoder of text with attention to it."""

from ..layers.blocks import Heads, grouped_attention, grouped_heads
from ..layers.heads import causal_lm
from ..layers.vision import plain_mlp
from ..trees import KeysValues, ModelConfig, auto_model, register_pair, register_part
from ..trees.config_defaults import config_defaults
from ..trees.modules import Embedding, LayerNorm, Layers, Module

DECODER = config_defaults("canary")


def decoder(name: str, c: ModelConfig, heads: Heads) -> Module:
    h = c.dim("hidden_size")
    inner = c.dim("intermediate_size")
    bias = c.flag("attention_bias", default=True)
    norm = LayerNorm(h)
    looks = {"self_attn": f"{name}SelfAttention", "encoder_attn": f"{name}CrossAttention"}
    parts = {at: grouped_attention(kind, h, heads, bias=bias) for at, kind in looks.items()}
    act = c.text("hidden_act", default="relu")
    norms = ("input", "post_attention", "final")
    kv = heads.kv * heads.dim  # of the encoder's tokens, as no attribute says in all spellings
    parts["encoder_attn"].cache = (KeysValues(kv, kv, heads.kv, cross=True),)
    parts["mlp"] = plain_mlp(f"{name}DecoderMLP", h, inner, act=act)
    parts |= {f"{place}_layernorm": norm for place in norms}
    table = Embedding(c.dim("vocab_size"), h, padding_idx=c.padding_idx)
    layers = Layers.of(c.count("num_hidden_layers"), Module(f"{name}DecoderLayer", parts))
    ends = {"norm": norm, "embedding_layernorm": norm}
    return Module(f"{name}Decoder", {"embed_tokens": table, "layers": layers, **ends})


def _decoder(c: ModelConfig) -> Module:
    c = c.with_defaults(**DECODER)
    return decoder("Canary", c, grouped_heads(c, c.dim("hidden_size"), head_dim=128, kv=8))


def model(c: ModelConfig) -> Module:
    sound = c.section("encoder_config", default={"num_hidden_layers": 32, "num_mel_bins": 128})
    heard = auto_model(sound, default_type="parakeet_encoder")
    return Module("CanaryModel", encoder=heard, decoder=_decoder(c.section("decoder_config")))


generation = causal_lm(
    "CanaryForConditionalGeneration",
    model,
    embedding="decoder.embed_tokens",
    tied_default=True,
    bias=True,
    head="proj_out",
)
register_pair("canary", "Canary", generation, model, "encoder-decoder")
register_part("canary_decoder", "CanaryDecoder", _decoder, "text decoder")
