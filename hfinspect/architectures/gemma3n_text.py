"""Gemma 3n's text model (Gemma Team 2025; transformers/models/gemma3n). In addition to Gemma 3's
layer: AltUp, LAuReL and an embedding of its own for every layer. The last layers reuse the keys and
values of earlier ones: files hold projections that are never used."""

from ..layers.blocks import activation, gated_mlp, size
from ..layers.decoders import Decoder, norms_called
from ..layers.heads import register_tower
from ..layers.mixtures import counts
from ..layers.windows import every, windows
from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, ModuleList, Weight
from .llama import LLAMA

_per_layer = size("hidden_size_per_layer_input", default=256)
_inputs = counts("altup_num_inputs", default=4, minimum=1)
#: Before and after attention and MLP.
FOUR_NORMS = (
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)  # fmt: skip


def saved_unless(unused: bool, module: Module) -> Module:
    """What the class does not build (and a save leaves out) although files on the Hub hold it."""
    module.saved = not unused
    return module


def per_layer_gate(h: Dim, width: Dim, norm: Module) -> dict[str, Module]:
    """What mixes the layer's own embedding in: gate down to it, multiply, project back."""
    return {
        "per_layer_input_gate": Linear(h, width, bias=False, component=Component.MLP),
        "per_layer_projection": Linear(width, h, bias=False, component=Component.MLP),
        "post_per_layer_input_norm": norm,
    }


def per_layer_tables(
    c: ModelConfig, table: str, h: Dim, layers: Dim, width: Dim, norm: Module
) -> dict[str, Module]:
    """The embedding of every layer, in one table of that class, and its share of the words'."""
    words = c.dim("vocab_size_per_layer_input", default=262144)
    shared = Linear(h, layers * width, bias=False, component=Component.EMBEDDING)
    return {
        "embed_tokens_per_layer": Embedding(words, layers * width, class_name=table),
        "per_layer_model_projection": shared,
        "per_layer_projection_norm": norm,
    }


def sharing(root: Module, count: int) -> Module:
    """So many layers at the end take keys and values of earlier ones."""
    layers = root["layers"]
    assert isinstance(layers, Layers)
    layers.reused = count
    return root


def attention(d: Decoder, c: ModelConfig, *, shared: bool) -> Module:
    """``shared``: keys and values come from an earlier layer."""
    h, heads = d.width(c), d.heads(c)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    bias = c.flag("attention_bias", default=False)
    return Module(
        "Gemma3nTextAttention",
        q_proj=Linear(h, width, bias=bias, kind="query"),
        q_norm=d.norm(d, c, heads.dim),
        k_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="key")),
        v_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="value")),
        k_norm=saved_unless(shared, d.norm(d, c, heads.dim)),
        v_norm=None if shared else Activation("Gemma3nRMSNorm"),
        o_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def altup(d: Decoder, c: ModelConfig) -> Module:
    """Alternating updates (Baykal et al. 2023): n copies of the stream, n² + n³ coefficients."""
    h, inputs = d.width(c), _inputs(c)
    return Module(
        "Gemma3nTextAltUp",
        correct_output_scale=Weight(h, kind="scale"),
        correction_coefs=Linear(inputs, inputs, bias=False),
        prediction_coefs=Linear(inputs, inputs * inputs, bias=False),
        modality_router=Linear(h, inputs, bias=False, component=Component.ROUTER),
        router_norm=d.norm(d, c, h),
    )


def laurel(d: Decoder, c: ModelConfig) -> Module:
    """Learned augmented residual layer (Menghani et al. 2024): rank r, 2·H·r."""
    h, rank = d.width(c), c.dim("laurel_rank", default=64)
    return Module(
        "Gemma3nTextLaurelBlock",
        linear_left=Linear(h, rank, bias=False),
        linear_right=Linear(rank, h, bias=False),
        post_laurel_norm=d.norm(d, c, h),
    )


def layer(d: Decoder, c: ModelConfig, kind: tuple[Dim, bool]) -> Module:
    """Of an MLP of that width, and with keys and values of its own or not."""
    (inner, shared), h = kind, d.width(c)
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    return Module(
        "Gemma3nTextDecoderLayer",
        {
            "self_attn": attention(d, c, shared=shared),
            "mlp": gated_mlp("Gemma3nTextMLP", h, inner, act=act),
            **d.norms(c, *FOUR_NORMS),
            "act_fn": activation(act),
            "altup": altup(d, c),
            "laurel": laurel(d, c),
            **per_layer_gate(h, _per_layer(c), d.norm(d, c, h)),
        },
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Dim, bool]]:
    """The last num_kv_shared_layers have no keys and values of their own."""
    widths = c.dims("intermediate_size", default=(16384,))
    if len(widths) == 1:
        widths *= layers
    if len(widths) != layers:
        raise c.miscounted("intermediate_size", len(widths), f"{layers} of them")
    shared = int(c.count("num_kv_shared_layers", default=15))
    if 0 < layers <= shared:
        raise c.error("num_kv_shared_layers", shared, f"less than num_hidden_layers = {layers}")
    return [(inner, i >= layers - shared) for i, inner in enumerate(widths)]


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    h, width = d.width(c), _per_layer(c)
    count, table = c.count("num_hidden_layers", default=35), "Gemma3nTextScaledWordEmbedding"
    altup = ModuleList([Linear(h, h, bias=False)] * (int(_inputs(c)) - 1))
    return {
        "rotary_emb": Activation("Gemma3nRotaryEmbedding"),
        **per_layer_tables(c, table, h, count, width, d.norm(d, c, width)),
        "altup_projections": altup,
        "altup_unembed_projections": altup,
    }


_TEXT = LLAMA.like(
    "Gemma3nText", vocab_size=262400, hidden_size=2048, num_hidden_layers=35, num_attention_heads=8,
    num_key_value_heads=2, head_dim=256, norm=norms_called("Gemma3nRMSNorm"), layer=layer,
    kinds=_kinds, windows=lambda c: windows(c, 512, every(5)), embedding="ScaledWordEmbedding",
    rotary=False, further=_further,
)  # fmt: skip
hidden = _TEXT.width


def text_model(c: ModelConfig) -> Module:
    return sharing(_TEXT.model(c), int(c.count("num_kv_shared_layers", default=15)))


register_tower("gemma3n_text", "Gemma3n", text_model, tied=True)
