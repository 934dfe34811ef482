"""Nemotron-H and Nemotron 3 (NVIDIA 2025; transformers/models/nemotron_h). Files keep the first
release's prefix ``backbone``, and on the Hub layers of multi-token prediction, which transformers
drops; their shapes: vLLM, model_executor/models/nemotron_h_mtp.py."""

from functools import partial

from ..layers import named_decoder as s
from ..layers.blocks import Heads, activation, grouped_attention, rms_norms, size
from ..layers.experts import corrected_router, experts
from ..layers.mamba2_mixer import Mixer
from ..trees import Component, Dim, ModelConfig, exact
from ..trees.modules import Activation, Layers, Linear, Module, once
from .qwen3_next import with_predictor

_LETTERS = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}
_OLDER = {"mamba": "linear_attention", "attention": "full_attention"}
_MIXER = Mixer(
    heads=size("mamba_num_heads", default=128),
    groups=size("mamba_n_groups", "n_groups", default=8),
    bias=s.flagged("use_bias"),
    state=size("ssm_state_size", default=128),
    kernel=size("mamba_d_conv", "conv_kernel", default=4),
    conv_bias=s.flagged("mamba_conv_bias", "use_conv_bias", default=True),
)


def _kinds(c: ModelConfig, pattern: str, default: tuple[str, ...], *keys: str) -> list[str]:
    """The list under ``keys`` if there is one, else the pattern of letters."""
    key = next((key for key in keys if c.has(key)), pattern)
    if key == pattern:
        kinds = [_LETTERS.get(letter, letter) for letter in c.text(pattern) or ()] or list(default)
    else:
        kinds = [_OLDER.get(kind, kind) for kind in c.strings(key)]
    for kind in kinds:
        if kind not in _LETTERS.values():
            raise c.error(key, kind, f"layers among {', '.join(_LETTERS.values())}")
    return kinds


def _mamba(d: s.NamedDecoder, c: ModelConfig) -> Module:
    inner = _MIXER.heads(c) * c.dim("mamba_head_dim", default=64)
    act = c.text("mamba_hidden_act", default="silu")
    norm = "NemotronHRMSNormGated"
    return _MIXER("NemotronHMamba2Mixer", c, d.width(c), norm=norm, inner=inner, act=act)


def _attention(d: s.NamedDecoder, c: ModelConfig) -> Module:
    """attention_bias is a key of the config that the class does not read."""
    query = c.dim("num_attention_heads", default=32)
    kv = c.dim("num_key_value_heads", default=8)
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    return grouped_attention("NemotronHAttention", d.width(c), heads)


def _mlp(c: ModelConfig, width: Dim, inner: Dim, kind: str | None = None) -> Module:
    bias = kind != "expert" and c.flag("mlp_bias", default=False)
    return Module(
        "NemotronHMLP",
        up_proj=Linear(width, inner, bias=bias, kind=kind or "up"),
        down_proj=Linear(inner, width, bias=bias, kind=kind or "down"),
        act_fn=activation(c.text("mlp_hidden_act", default="relu2")),
        component=Component.MLP,
    )


def _moe(d: s.NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    bias = c.flag("mlp_bias", default=False)
    count = c.count("n_routed_experts", "num_local_experts", default=8, minimum=1)
    latent = c.optional_dim("moe_latent_size")
    expert = _mlp(c, latent or h, c.dim("moe_intermediate_size", default=7688), "expert")
    shared = c.dim("moe_shared_expert_intermediate_size", default=7688)
    per_token = c.count("num_experts_per_tok", default=2)
    same = Activation("Identity")
    return Module(
        "NemotronHMoE",
        experts=experts(count, per_token, expert, class_name="NemotronHExperts"),
        gate=corrected_router("NemotronHTopkRouter", h, count),
        shared_experts=_mlp(c, h, shared, "shared_expert"),
        fc1_latent_proj=Linear(h, latent, bias=bias) if latent else same,
        fc2_latent_proj=Linear(latent, h, bias=bias) if latent else same,
        component=Component.MLP,
    )


#: A layer is one thing only.
_MIXERS: dict[str, s.NamedPart] = {
    "linear_attention": _mamba,
    "full_attention": _attention,
    "moe": _moe,
    "mlp": lambda d, c: _mlp(c, d.width(c), c.dim("intermediate_size", default=21504)),
}


def _block(d: s.NamedDecoder, c: ModelConfig, name: str, kind: str) -> Module:
    return Module(f"NemotronH{name}", norm=s.norm(d, c), mixer=_MIXERS[kind](d, c))


def _layers(d: s.NamedDecoder, c: ModelConfig) -> Layers:
    default = tuple(_LETTERS.values())
    kinds = _kinds(c, "hybrid_override_pattern", default, "layers_block_type", "layer_types")
    return Layers(once(kinds, partial(_block, d, c, "Block")))


def _predictor(d: s.NamedDecoder, c: ModelConfig) -> Module | None:
    """``mtp``: a small stack per predicted token, projections at its start, a norm at its end."""
    steps = int(c.count("num_nextn_predict_layers", default=0))
    default = ("full_attention", "moe")
    kinds = _kinds(c, "mtp_hybrid_override_pattern", default, "mtp_layers_block_type")
    if not steps or not kinds:
        return None
    joint = Linear(exact(2) * d.width(c), d.width(c), bias=False, component=Component.PROJECTOR)
    ends = {"enorm": s.norm(d, c), "hnorm": s.norm(d, c), "eh_proj": joint}
    blocks = [_block(d, c, "MTPBlock", kind) for kind in kinds]
    blocks[0].children = {**ends, **blocks[0].children}
    blocks[-1].adding(final_layernorm=s.norm(d, c))
    layers = Layers(blocks * steps)
    return Module("NemotronHMTP", layers=layers, part="mtp", kind="mtp", saved=False)


_NEMOTRON = s.NamedDecoder(
    "NemotronH",
    width=size("hidden_size", default=4096),
    vocab=size("vocab_size", default=131072),
    norms=rms_norms("NemotronHRMSNorm", 1e-5, "layer_norm_epsilon"),
    prefix="backbone",
    tied=None,
    model={"embeddings": s.words, "layers": _layers, "norm_f": s.norm},
)
_CLASSES = with_predictor(_NEMOTRON.classes(heads=()), partial(_predictor, _NEMOTRON))
_NEMOTRON.register("nemotron_h", _CLASSES, aliases={"model.": "backbone."})
