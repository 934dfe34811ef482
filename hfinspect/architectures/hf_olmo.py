"""OLMo 1B and 7B under their first class (Groeneveld et al. 2024); transformers' ``olmo`` is the
converted form."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import composed
from ..layers.vision import scaled
from ..trees import Component, Dim, LayerNorm, Linear, ModelConfig, Module, register

_BIASED = s.flagged("include_bias", default=True)


def flat(inputs: int, outputs: int, bias: bool = False, *, kind: str) -> Module:
    """A linear layer that stands in the block itself, be it of attention or of the MLP."""
    attends = kind in ("qkv", "query", "key", "value", "output")
    component = Component.ATTENTION if attends else Component.MLP
    return Linear(inputs, outputs, bias=bias, component=component, kind=kind)


def _norm(c: ModelConfig, size: int, affine: str = "layer_norm_with_affine") -> Module:
    """layer_norm_type ``rms`` has a weight, ``default`` a bias too, where there are any."""
    form = c.word("layer_norm_type", "default", "low_precision", "rms")
    biased = c.flag("bias_for_layer_norm", default=_BIASED(c)) and form != "rms"
    name = "RMSLayerNorm" if form == "rms" else "LayerNorm"
    return LayerNorm(size, weight=c.flag(affine, default=True), bias=biased, class_name=name)


def _key_width(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    single = c.flag("multi_query_attention", default=False)
    return c.dim("n_kv_heads", default=1 if single else d.heads(c)) * d.head(c)


def _normed(c: ModelConfig, width: Dim) -> Module | None:
    norm = _norm(c, width, "attention_layer_norm_with_affine")
    return norm if c.flag("attention_layer_norm", default=False) else None


def _both(c: ModelConfig, h: Dim) -> Dim:
    """mlp_hidden_size counts gate and up together."""
    size = c.optional_dim("mlp_hidden_size")
    return scaled(c, h, "mlp_ratio", default=4) if size is None else size


def _inner(c: ModelConfig, h: Dim) -> Dim:
    gated = (c.text("activation_type", default="swiglu") or "").endswith("glu")
    return _both(c, h) // 2 if gated else _both(c, h)


def _positions(d: s.NamedDecoder, c: ModelConfig) -> Module | None:
    table = s.positions(d, c)
    without = ("rope", "alibi")
    return None if any(c.flag(key, default=False) for key in without) else table


OLMO = s.NamedDecoder(
    "OLMo",
    width=size("d_model", default=768),
    heads=size("n_heads", default=12),
    depth=size("n_layers", default=12),
    vocab=size("embedding_size", "vocab_size", default=50304),
    length=size("max_sequence_length", default=1024),
    norms=_norm,
    linear=flat,
    bias=_BIASED,
    inner=_inner,
    joined=lambda d, c: d.width(c) + 2 * _key_width(d, c),
    called={"Model": "ModuleDict", "Block": "OLMoSequentialBlock"},
    model={
        "wte": s.words,
        "emb_drop": s.dropout("embedding_dropout", 0.1),
        "ln_f": s.norm,
        "blocks": s.layers,
        "wpe": _positions,
        "ff_out": s.where(s.unless("weight_tying", default=True), s.lm_head),
    },
    block={
        "dropout": s.dropout("residual_dropout", 0.1),
        "k_norm": lambda d, c: _normed(c, _key_width(d, c)),
        "q_norm": lambda d, c: _normed(c, d.width(c)),
        "attn_out": s.output,
        "ff_out": s.down,
        "attn_norm": s.norm,
        "ff_norm": s.norm,
        "att_proj": s.qkv,
        "ff_proj": lambda d, c: flat(d.width(c), _both(c, d.width(c)), d.bias(c), kind="gate_up"),
    },
)

_MODEL = composed({"OLMo": {"transformer": OLMO.base}})["OLMo"]
_NAMES = "OLMoForCausalLM", "OLMoModelForCausalLM"
register(
    "hf_olmo",
    composed({name: {"model": _MODEL} for name in _NAMES}),
    base_prefix="model",
    category="text decoder",
    source="hf_olmo/modeling_olmo.py and olmo/model.py of github.com/allenai/OLMo",
)
