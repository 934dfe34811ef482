"""OLMo 1B and 7B under their first class (Groeneveld et al. 2024). No class in transformers, whose
``olmo`` is the converted form. Source of shapes: hf_olmo/modeling_olmo.py and olmo/model.py of
github.com/allenai/OLMo.
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


def flat(inputs: Dim, outputs: Dim, kind: str, bias: bool = False) -> Module:
    """A linear layer that stands in the block itself, be it of attention or of the MLP."""
    attends = kind in ("qkv", "query", "key", "value", "output")
    component = Component.ATTENTION if attends else Component.MLP
    return Linear(inputs, outputs, bias=bias, component=component, kind=kind)


def block(c: ModelConfig) -> Module:
    """mlp_hidden_size counts gate and up together."""
    h, bias, heads = _hidden(c), _bias(c), c.dim("n_heads", default=12)
    said = c.optional_dim("mlp_hidden_size")
    wide = scaled(c, h, "mlp_ratio", default=4) if said is None else said
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
        attn_out=flat(h, h, "output", bias),
        ff_out=flat(wide // 2 if gated else wide, h, "down", bias),
        attn_norm=_norm(c, h),
        ff_norm=_norm(c, h),
        att_proj=flat(h, h + 2 * kv, "qkv", bias),
        ff_proj=flat(h, wide, "gate_up", bias),
    )


def around(
    name: str, c: ModelConfig, each: Module, norm: Module, table: tuple[Dim, Dim], layers: int,
    *, dropout: float = 0.0, positions: Module | None = None, head: Module | None = None,
) -> Module:  # fmt: skip
    """The model around its blocks; ``layers`` and ``dropout`` are defaults."""
    return Module(
        name,
        transformer=Module(
            "ModuleDict",
            wte=Embedding(*table),
            emb_drop=Dropout(c.number("embedding_dropout", default=dropout)),
            ln_f=norm,
            blocks=Layers.of(c.count("n_layers", default=layers), each),
            wpe=positions,
            ff_out=head,
        ),
    )


def model(c: ModelConfig) -> Module:
    h, vocab = _hidden(c), c.dim("embedding_size", "vocab_size", default=50304)
    learned = not (c.flag("rope", default=False) or c.flag("alibi", default=False))
    positions = Embedding(c.dim("max_sequence_length", default=1024), h, kind="position")
    tied = c.flag("weight_tying", default=True)
    return around(
        "OLMo", c, block(c), _norm(c, h), (vocab, h), 12, dropout=0.1,
        positions=positions if learned else None,
        head=None if tied else to_words(h, vocab, bias=_bias(c)),
    )  # fmt: skip


def causal_lm(c: ModelConfig) -> Module:
    return Module("OLMoForCausalLM", model=model(c))


register(
    "hf_olmo",
    {"OLMoForCausalLM": causal_lm, "OLMoModelForCausalLM": causal_lm},
    base_prefix="model",
    category="text decoder",
    source="hf_olmo/modeling_olmo.py and olmo/model.py of github.com/allenai/OLMo",
)
