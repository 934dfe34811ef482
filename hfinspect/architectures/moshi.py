"""Moshi (Défossez et al. 2024). Source of shapes: transformers/models/moshi.

A decoder whose MLP halves its first output to gate the other half; its table has one row more than
the vocabulary.  The whole of Moshi adds tables for what both speakers say, the Mimi codec, and a
depth decoder with a matrix of its own for every codebook.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_heads
from ..layers.heads import to_words
from ..layers.windows import windows
from ..trees.catalog import auto_model, register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Embedding, Layers, Linear, Module, ModuleList, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-8)
    return RMSNorm(_hidden(c), eps=eps, class_name="MoshiRMSNorm")


def _matrix(inputs: int, outputs: int, kind: str | None, books: Dim | None = None) -> Module:
    """A linear layer, or one for each of ``books`` codebooks in one tensor."""
    if books is None:
        return Linear(inputs, outputs, bias=False, kind=kind)
    return Module("MoshiFlexibleLinear", weight=Weight(books, outputs, inputs, kind=kind))


def layer(
    c: ModelConfig, *, heads: int = 32, ffn_dim: int = 22528, books: Dim | None = None
) -> Module:
    """The sizes are defaults; the depth decoder's has matrices for each of ``books``."""
    h, inner = _hidden(c), c.dim("ffn_dim", default=ffn_dim)
    half = c.divided(inner, 2, "ffn_dim", "ffn_dim")
    sizes = grouped_heads(c, h, heads=heads)
    width, kv_width = sizes.query * sizes.dim, sizes.kv * sizes.dim
    kinds = ("gate_up", "down") if books is None else (None, None)
    # A single codebook has plain matrices in its MLP.
    of = None if books == 1 else books

    def projected(inputs: int, outputs: int, kind: str) -> Module:
        return Module("MoshiLinear", linear=_matrix(inputs, outputs, kind, books))

    return Module(
        "MoshiDecoderLayer",
        self_attn=Module(
            "MoshiAttention",
            q_proj=projected(h, width, "query"),
            k_proj=projected(h, kv_width, "key"),
            v_proj=projected(h, kv_width, "value"),
            o_proj=projected(width, h, "output"),
            component=Component.ATTENTION,
            keeps=(KeysValues(kv_width, kv_width, heads=sizes.kv),) if books is None else None,
        ),
        mlp=Module(
            "MoshiGatingMLP",
            activation_fn=activation(c.text("hidden_act", default="silu")),
            fc1=_matrix(h, inner, kinds[0], of),
            fc2=_matrix(half, h, kinds[1], of),
            component=Component.MLP,
        ),
        input_layernorm=norm(c),
        post_attention_layernorm=norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MoshiModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000) + 1, _hidden(c)),
        layers=Layers.of(
            c.count("num_hidden_layers", default=32), layer(c), windows=windows(c, 3000)
        ),
        norm=norm(c),
    )


def causal(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=32000)
    # The class ties nothing whatever tie_word_embeddings says.
    return Module("MoshiForCausalLM", model=model(c), lm_head=to_words(_hidden(c), vocab))


def depth_decoder(c: ModelConfig) -> Module:
    c = c.with_defaults(hidden_size=1024)
    h, books = c.dim("hidden_size"), c.count("num_codebooks", default=8, minimum=1)
    sounds = c.dim("audio_vocab_size", default=2048)
    head = _matrix(h, sounds, "lm_head", books)
    head.component = Component.HEAD
    given = _matrix(c.dim("input_size", default=4096), h, None, books)
    given.component = Component.PROJECTOR
    block = layer(c, heads=16, ffn_dim=5632, books=books)
    return Module(
        "MoshiDepthDecoder",
        text_embed_tokens=Embedding(c.dim("vocab_size", default=32000) + 1, h),
        embed_tokens=ModuleList([Embedding(sounds + 1, h)] * (int(books) - 1)),
        input_projections=given,
        layers=Layers.of(c.count("num_hidden_layers", default=6), block),
        lm_heads=head,
        part="audio",
    )


def conditional_generation(c: ModelConfig) -> Module:
    codec, depth = c.section("audio_encoder_config"), c.section("depth_decoder_config")
    books = c.count("num_codebooks", default=8, minimum=1)
    sounds = c.dim("audio_vocab_size", default=codec.dim("codebook_size", default=2048))
    if c.has("depth_decoder_config"):
        # Sizes that both decoders have are the large one's.
        shared = {
            "audio_vocab_size": sounds, "input_size": _hidden(c), "num_codebooks": books,
            "vocab_size": c.dim("vocab_size", default=32000),
        }  # fmt: skip
        depth = ModelConfig({**depth.values, **shared}, depth.path)
    return Module(
        "MoshiForConditionalGeneration",
        embed_tokens=ModuleList([Embedding(sounds + 1, _hidden(c))] * (2 * int(books))),
        audio_encoder=auto_model(codec, default_type="mimi", part="audio"),
        decoder=causal(c),
        depth_decoder=depth_decoder(depth),
    )


register(
    "moshi",
    {
        "MoshiForCausalLM": causal,
        "MoshiModel": model,
        "MoshiForConditionalGeneration": conditional_generation,
    },
    base_prefix="model",
    category="text decoder",
)
register_part("moshi_depth", "MoshiDepthDecoder", depth_decoder, "audio")
