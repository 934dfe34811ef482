"""Nemotron-H and Nemotron 3 (NVIDIA 2025). Source of shapes: transformers/models/nemotron_h.

A layer is one thing only: a Mamba 2 mixer (M), attention (*), an MLP (-) or experts (E). Files keep
the first release's prefix ``backbone``, and on the Hub layers of multi-token prediction, which
transformers drops; their shapes: vLLM, model_executor/models/nemotron_h_mtp.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers import spelled as s
from ..layers.blocks import Heads, activation, grouped_attention, rms_norms, size
from ..layers.experts import corrected_router, experts
from ..layers.heads import to_words
from ..layers.mamba2_mixer import Mixer
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..layers.spelled import Spelled
from ..trees.modules import Activation, Layers, Linear, Module

_LETTERS = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}
_OLDER = {"mamba": "linear_attention", "attention": "full_attention"}
_DEFAULT = ("linear_attention", "moe", "full_attention", "mlp")


def _kinds(
    c: ModelConfig, keys: tuple[str, ...], pattern: str, default: tuple[str, ...]
) -> list[str]:
    """The list if there is one, else the pattern of letters."""
    key = next((key for key in keys if c.has(key)), pattern)
    if key == pattern:
        found = [_LETTERS.get(letter, letter) for letter in c.text(pattern) or ()] or list(default)
    else:
        found = [_OLDER.get(kind, kind) for kind in c.strings(key)]
    for kind in found:
        if kind not in _LETTERS.values():
            raise c.error(key, kind, f"layers among {', '.join(_LETTERS.values())}")
    return found


def mixer(d: Spelled, c: ModelConfig) -> Module:
    heads = c.dim("mamba_num_heads", default=128)
    inner, state = heads * c.dim("mamba_head_dim", default=64), c.dim("ssm_state_size", default=128)
    groups = c.dim("mamba_n_groups", "n_groups", default=8)
    kernel = c.dim("mamba_d_conv", "conv_kernel", default=4)
    convolved = c.flag("mamba_conv_bias", "use_conv_bias", default=True)
    bias = c.flag("use_bias", default=False)
    sizes = Mixer(d.width(c), inner, heads, groups, state, kernel, bias, convolved)
    act = c.text("mamba_hidden_act", default="silu")
    return mamba_mixer("NemotronHMamba2Mixer", sizes, norm="NemotronHRMSNormGated", act=act)


def attention(d: Spelled, c: ModelConfig) -> Module:
    """attention_bias is a key of the config that the class does not read."""
    query, kv = c.dim("num_attention_heads", default=32), c.dim("num_key_value_heads", default=8)
    heads = Heads(query, kv, c.dim("head_dim", default=128))
    return grouped_attention("NemotronHAttention", d.width(c), heads)


def mlp(
    c: ModelConfig, width: Dim, inner: Dim, *, bias: bool | None = None, kind: str | None = None
) -> Module:
    bias = c.flag("mlp_bias", default=False) if bias is None else bias
    return Module(
        "NemotronHMLP",
        up_proj=Linear(width, inner, bias=bias, kind=kind or "up"),
        down_proj=Linear(inner, width, bias=bias, kind=kind or "down"),
        act_fn=activation(c.text("mlp_hidden_act", default="relu2")),
        component=Component.MLP,
    )


def moe(d: Spelled, c: ModelConfig) -> Module:
    h, bias = d.width(c), c.flag("mlp_bias", default=False)
    count = c.count("n_routed_experts", "num_local_experts", default=8, minimum=1)
    latent = c.optional_dim("moe_latent_size")
    inner = c.dim("moe_intermediate_size", default=7688)
    shared = c.dim("moe_shared_expert_intermediate_size", default=7688)
    expert = mlp(c, latent or h, inner, bias=False, kind="expert")
    per_token, same = c.count("num_experts_per_tok", default=2), Activation("Identity")
    return Module(
        "NemotronHMoE",
        experts=experts(count, per_token, expert, class_name="NemotronHExperts"),
        gate=corrected_router("NemotronHTopkRouter", h, count),
        shared_experts=mlp(c, h, shared, kind="shared_expert"),
        fc1_latent_proj=Linear(h, latent, bias=bias) if latent else same,
        fc2_latent_proj=Linear(latent, h, bias=bias) if latent else same,
        component=Component.MLP,
    )


def _mixer(d: Spelled, c: ModelConfig, kind: str) -> Module:
    if kind == "mlp":
        return mlp(c, d.width(c), c.dim("intermediate_size", default=21504))
    return {"linear_attention": mixer, "full_attention": attention, "moe": moe}[kind](d, c)


def _layers(d: Spelled, c: ModelConfig) -> Layers:
    kinds = _kinds(c, ("layers_block_type", "layer_types"), "hybrid_override_pattern", _DEFAULT)
    built = {
        kind: Module("NemotronHBlock", norm=s.norm(d, c), mixer=_mixer(d, c, kind))
        for kind in set(kinds)
    }
    return Layers(built[kind] for kind in kinds)


_NEMOTRON = Spelled(
    "NemotronH", width=size("hidden_size", default=4096), vocab=size("vocab_size", default=131072),
    norms=rms_norms("NemotronHRMSNorm", 1e-5, "layer_norm_epsilon"),
    model={"embeddings": s.words, "layers": _layers, "norm_f": s.norm}, prefix="backbone",
)  # fmt: skip


def prediction_layers(d: Spelled, c: ModelConfig) -> Module | None:
    """``mtp``: a small stack per predicted token, projections at its start, a norm at its end."""
    steps = int(c.count("num_nextn_predict_layers", default=0))
    default = ("full_attention", "moe")
    kinds = _kinds(c, ("mtp_layers_block_type",), "mtp_hybrid_override_pattern", default)
    if not steps or not kinds:
        return None
    joint = Linear(exact(2) * d.width(c), d.width(c), bias=False, component=Component.PROJECTOR)
    ends = {"enorm": s.norm(d, c), "hnorm": s.norm(d, c), "eh_proj": joint}
    blocks = [
        Module("NemotronHMTPBlock", norm=s.norm(d, c), mixer=_mixer(d, c, kind)) for kind in kinds
    ]
    blocks[0].children = {**ends, **blocks[0].children}
    blocks[-1].children["final_layernorm"] = s.norm(d, c)
    layers = Layers(blocks * steps)
    return Module("NemotronHMTP", layers=layers, part="mtp", kind="mtp", saved=False)


def causal_lm(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    d = _NEMOTRON
    head, mtp = to_words(d.width(c), d.vocab(c)), prediction_layers(d, c)
    return Module("NemotronHForCausalLM", backbone=d.base(c), lm_head=head, mtp=mtp)


_NEMOTRON.register(
    "nemotron_h",
    {"NemotronHForCausalLM": causal_lm, "NemotronHModel": _NEMOTRON.base},
    aliases={"model.": "backbone."},
)
