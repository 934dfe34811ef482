"""Gemma 3n's text model (Gemma Team 2025; transformers/models/gemma3n). In addition to Gemma 3's
layer: AltUp, LAuReL and an embedding of its own for every layer. The last layers reuse the keys and
values of earlier ones: files hold projections that are never used."""

from ..layers.blocks import Heads, activation, gated_mlp, grouped_attention, size
from ..layers.decoders import Decoder, norms_called
from ..layers.heads import register_tower
from ..layers.mixtures import counts
from ..layers.windows import every, windows
from ..trees import Activation, Builder, Component, Dim, Embedding, Layers, Linear, ModelConfig
from ..trees.config_defaults import config_defaults
from ..trees.modules import Module, ModuleList, Weight

_per_layer = size("hidden_size_per_layer_input", default=256)
_inputs = counts("altup_num_inputs", default=4, minimum=1)
GELU = "gelu_pytorch_tanh"
#: Before and after attention and MLP.
FOUR_NORMS = tuple(
    "input_layernorm post_attention_layernorm pre_feedforward_layernorm "
    "post_feedforward_layernorm".split()
)


def per_layer_gate(h: Dim, width: Dim, norm: Module) -> dict[str, Module]:
    """What mixes the layer's own embedding in: gate down to it, multiply, project back."""
    return {
        "per_layer_input_gate": Linear(h, width, bias=False, component=Component.MLP),
        "per_layer_projection": Linear(width, h, bias=False, component=Component.MLP),
        "post_per_layer_input_norm": norm,
    }


def per_layer_tables(d: Decoder, c: ModelConfig, width: Dim) -> dict[str, Module]:
    """The embedding of every layer, in one table, and its share of the words'."""
    words = c.dim("vocab_size_per_layer_input", default=262144)
    all_layers = c.count("num_hidden_layers", default=d.num_hidden_layers) * width
    shared = Linear(d.width(c), all_layers, bias=False, component=Component.EMBEDDING)
    table = Embedding(words, all_layers, class_name=f"{d.name}{d.embedding}")
    return {
        "embed_tokens_per_layer": table,
        "per_layer_model_projection": shared,
        "per_layer_projection_norm": d.norm(d, c, width),
    }


def sharing(d: Decoder, count: int) -> Builder:
    """The model, of which so many layers at the end take keys and values of earlier ones."""

    def model(c: ModelConfig) -> Module:
        root = d.model(c)
        layers = root["layers"]
        assert isinstance(layers, Layers)
        layers.reused = int(c.count("num_kv_shared_layers", default=count))
        return root

    return model


def attention(d: Decoder, c: ModelConfig, heads: Heads, shared: bool, order: str) -> Module:
    """``shared``: keys and values come from an earlier layer; the class does not build (and a save
    leaves out) what files on the Hub hold. ``order`` is that of its parts."""
    bias = c.flag("attention_bias", default=False)
    block = grouped_attention(f"{d.name}Attention", d.width(c), heads, bias=bias)
    q_norm = d.norm(d, c, heads.dim)
    k_norm = d.norm(d, c, heads.dim)
    v_norm = None if shared else Activation(k_norm.class_name)
    parts = block.adding(q_norm=q_norm, k_norm=k_norm, v_norm=v_norm).children
    for name in ("k_proj", "v_proj", "k_norm"):
        block.inside(name).saved = not shared
    block.children = {name: parts[name] for name in order.split() if name in parts}
    return block


def _layer(d: Decoder, c: ModelConfig, kind: tuple[Dim, bool]) -> Module:
    """Of an MLP of that width, and with keys and values of its own or not."""
    (inner, shared) = kind
    h = d.width(c)
    inputs = _inputs(c)
    act = c.text("hidden_activation", default=GELU)
    rank = c.dim("laurel_rank", default=64)
    # Alternating updates (Baykal et al. 2023): n copies of the stream, n² + n³ coefficients.
    altup = Module(
        "Gemma3nTextAltUp",
        correct_output_scale=Weight(h, kind="scale"),
        correction_coefs=Linear(inputs, inputs, bias=False),
        prediction_coefs=Linear(inputs, inputs * inputs, bias=False),
        modality_router=Linear(h, inputs, bias=False, component=Component.ROUTER),
        router_norm=d.norm(d, c, h),
    )
    # Learned augmented residual layer (Menghani et al. 2024): rank r, 2·H·r.
    laurel = Module(
        "Gemma3nTextLaurelBlock",
        linear_left=Linear(h, rank, bias=False),
        linear_right=Linear(rank, h, bias=False),
        post_laurel_norm=d.norm(d, c, h),
    )
    order = "q_proj q_norm k_proj v_proj k_norm v_norm o_proj"
    look = attention(d, c, d.heads(c), shared, order)
    return Module(
        "Gemma3nTextDecoderLayer",
        {
            "self_attn": look,
            "mlp": gated_mlp("Gemma3nTextMLP", h, inner, act=act),
            **d.norms(c, *FOUR_NORMS),
            "act_fn": activation(act),
            "altup": altup,
            "laurel": laurel,
            **per_layer_gate(h, _per_layer(c), d.norm(d, c, h)),
        },
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Dim, bool]]:
    """The last num_kv_shared_layers have no keys and values of their own."""
    key = "intermediate_size"
    widths = c.dims("intermediate_size", default=(16384,))
    widths = widths * layers if len(widths) == 1 else c.dims(key, count=layers)
    shared = int(c.count("num_kv_shared_layers", default=15))
    if 0 < layers <= shared:
        raise c.error("num_kv_shared_layers", shared, f"less than num_hidden_layers = {layers}")
    return [(inner, i >= layers - shared) for i, inner in enumerate(widths)]


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    altup = ModuleList([Linear(d.width(c), d.width(c), bias=False)] * (int(_inputs(c)) - 1))
    return {
        "rotary_emb": Activation("Gemma3nRotaryEmbedding"),
        **per_layer_tables(d, c, _per_layer(c)),
        "altup_projections": altup,
        "altup_unembed_projections": altup,
    }


_TEXT = Decoder(
    "Gemma3nText",
    **config_defaults("gemma3n_text"),
    norm=norms_called("Gemma3nRMSNorm"),
    layer=_layer,
    kinds=_kinds,
    windows=lambda c: windows(c, 512, every(5)),
    embedding="ScaledWordEmbedding",
    rotary=False,
    further=_further,
)
hidden = _TEXT.width
text_model = sharing(_TEXT, 15)
register_tower("gemma3n_text", "Gemma3n", text_model, tied=True)
