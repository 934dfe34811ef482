"""OLMo 1B and 7B under their first class (Groeneveld et al. 2024). No class in transformers, whose
``olmo`` is the converted form. Source of shapes: hf_olmo/modeling_olmo.py and olmo/model.py of
github.com/allenai/OLMo.

q, k and v in one matrix, gate and up in another; norms without weights unless the config wants
them.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.vision import scaled
from ..trees.catalog import register
from ..trees.modules import Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("d_model", default=768)


def _bias(c: ModelConfig) -> bool:
    return c.flag("include_bias", default=True)


def _norm(c: ModelConfig, size: Dim, *, affine: bool | None = None) -> Module:
    """layer_norm_type ``rms`` has a weight, ``default`` a bias too, where there are any."""
    form = c.word("layer_norm_type", "default", "low_precision", "rms")
    learned = c.flag("layer_norm_with_affine", default=True) if affine is None else affine
    biased = c.flag("bias_for_layer_norm", default=_bias(c)) and form != "rms"
    name = "RMSLayerNorm" if form == "rms" else "LayerNorm"
    return LayerNorm(size, weight=learned, bias=biased, class_name=name)


def _inner(c: ModelConfig) -> Dim:
    if c.has("mlp_hidden_size"):
        return c.dim("mlp_hidden_size")
    return scaled(c, _hidden(c), "mlp_ratio", default=4)


def block(c: ModelConfig) -> Module:
    """mlp_hidden_size counts gate and up together."""
    h, wide, bias = _hidden(c), _inner(c), _bias(c)
    heads = c.dim("n_heads", default=12)
    head = c.divided(h, heads, "d_model", "n_heads")
    single = c.flag("multi_query_attention", default=False)
    kv = c.dim("n_kv_heads", default=1 if single else heads) * head
    gated = (c.text("activation_type", default="swiglu") or "").endswith("glu")
    normed = c.flag("attention_layer_norm", default=False)
    affine = c.flag("attention_layer_norm_with_affine", default=True)
    return Module(
        "OLMoSequentialBlock",
        dropout=Dropout(c.number("residual_dropout", default=0.1)),
        k_norm=_norm(c, kv, affine=affine) if normed else None,
        q_norm=_norm(c, h, affine=affine) if normed else None,
        attn_out=Linear(h, h, bias=bias, component=Component.ATTENTION, kind="output"),
        ff_out=Linear(
            wide // 2 if gated else wide, h, bias=bias, component=Component.MLP, kind="down"
        ),
        attn_norm=_norm(c, h),
        ff_norm=_norm(c, h),
        att_proj=Linear(h, h + 2 * kv, bias=bias, component=Component.ATTENTION, kind="qkv"),
        ff_proj=Linear(h, wide, bias=bias, component=Component.MLP, kind="gate_up"),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    vocab = c.dim("embedding_size", "vocab_size", default=50304)
    learned = not (c.flag("rope", default=False) or c.flag("alibi", default=False))
    positions = Embedding(c.dim("max_sequence_length", default=1024), h, kind="position")
    tied = c.flag("weight_tying", default=True)
    head = to_words(h, vocab, bias=_bias(c))
    return Module(
        "OLMo",
        transformer=Module(
            "ModuleDict",
            wte=Embedding(vocab, h),
            emb_drop=Dropout(c.number("embedding_dropout", default=0.1)),
            ln_f=_norm(c, h),
            blocks=Layers.of(c.count("n_layers", default=12), block(c)),
            wpe=positions if learned else None,
            ff_out=None if tied else head,
        ),
    )


def causal_lm(c: ModelConfig) -> Module:
    return Module("OLMoForCausalLM", model=model(c))


register(
    "hf_olmo",
    {"OLMoForCausalLM": causal_lm, "OLMoModelForCausalLM": causal_lm},
    base_prefix="model",
    category="text decoder",
    source="hf_olmo/modeling_olmo.py and olmo/model.py of github.com/allenai/OLMo",
)
