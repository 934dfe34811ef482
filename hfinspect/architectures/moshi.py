"""Moshi (Défossez et al. 2024). Source of shapes: transformers/models/moshi.

A decoder whose MLP halves its first output to gate the other half; its table has one row more than
the vocabulary.  The whole of Moshi adds tables for what both speakers say, the Mimi codec, and a
depth decoder with a matrix of its own for every codebook.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.decoders import Decoder
from ..layers.windows import windows
from ..trees.catalog import auto_model, register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Embedding, Linear, Module, ModuleList, Weight


def _matrix(
    d: Decoder, inputs: int, outputs: int, kind: str | None, books: Dim | None = None
) -> Module:
    """A linear layer, or one for each of ``books`` codebooks in one tensor."""
    if books is None:
        return Linear(inputs, outputs, bias=False, kind=kind)
    return Module(f"{d.name}FlexibleLinear", weight=Weight(books, outputs, inputs, kind=kind))


def _attention(d: Decoder, c: ModelConfig, books: Dim | None = None) -> Module:
    h, heads = d.width(c), d.heads(c)
    width, kv = heads.query * heads.dim, heads.kv * heads.dim
    sizes = {
        "q_proj": (h, width, "query"), "k_proj": (h, kv, "key"), "v_proj": (h, kv, "value"),
        "o_proj": (width, h, "output"),
    }  # fmt: skip
    return Module(
        f"{d.name}Attention",
        {
            name: Module(f"{d.name}Linear", linear=_matrix(d, *size, books))
            for name, size in sizes.items()
        },
        component=Component.ATTENTION,
        keeps=(KeysValues(kv, kv, heads=heads.kv),) if books is None else None,
    )


def _mlp(d: Decoder, c: ModelConfig, books: Dim | None = None) -> Module:
    h, inner = d.width(c), c.dim("ffn_dim", default=d.intermediate_size)
    half = c.divided(inner, 2, "ffn_dim", "ffn_dim")
    kinds = ("gate_up", "down") if books is None else (None, None)
    # A single codebook has plain matrices in its MLP.
    books = None if books == 1 else books
    return Module(
        f"{d.name}GatingMLP",
        activation_fn=activation(d.act(c)),
        fc1=_matrix(d, h, inner, kinds[0], books),
        fc2=_matrix(d, half, h, kinds[1], books),
        component=Component.MLP,
    )


MOSHI = Decoder(
    "Moshi", intermediate_size=22528, rms_norm_eps=1e-8, attention=_attention, mlp=_mlp,
    rotary=False, windows=lambda c: windows(c, 3000),
)  # fmt: skip


def _books(c: ModelConfig) -> Dim:
    return c.count("num_codebooks", default=8, minimum=1)


_DEPTH = MOSHI.like(
    "Moshi", hidden_size=1024, intermediate_size=5632, num_hidden_layers=6, num_attention_heads=16,
    attention=lambda d, c: _attention(d, c, _books(c)), mlp=lambda d, c: _mlp(d, c, _books(c)),
    windows=None,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    found = MOSHI.model(c)
    found.children["embed_tokens"] = Embedding(MOSHI.size(c, "vocab_size") + 1, MOSHI.width(c))
    return found


def causal(c: ModelConfig) -> Module:
    # The class ties nothing whatever tie_word_embeddings says.
    return Module("MoshiForCausalLM", model=model(c), lm_head=MOSHI.words(c))


def depth_decoder(c: ModelConfig) -> Module:
    h, books, sounds = _DEPTH.width(c), _books(c), c.dim("audio_vocab_size", default=2048)
    head = _matrix(_DEPTH, h, sounds, "lm_head", books)
    head.component = Component.HEAD
    given = _matrix(_DEPTH, c.dim("input_size", default=4096), h, None, books)
    given.component = Component.PROJECTOR
    return Module(
        "MoshiDepthDecoder",
        text_embed_tokens=Embedding(_DEPTH.size(c, "vocab_size") + 1, h),
        embed_tokens=ModuleList([Embedding(sounds + 1, h)] * (int(books) - 1)),
        input_projections=given,
        layers=_DEPTH.layers(c),
        lm_heads=head,
        part="audio",
    )


def conditional_generation(c: ModelConfig) -> Module:
    codec, depth = c.section("audio_encoder_config"), c.section("depth_decoder_config")
    books, h = _books(c), MOSHI.width(c)
    sounds = c.dim("audio_vocab_size", default=codec.dim("codebook_size", default=2048))
    if c.has("depth_decoder_config"):
        # Sizes that both decoders have are the large one's.
        shared = {
            "audio_vocab_size": sounds, "input_size": h, "num_codebooks": books,
            "vocab_size": MOSHI.size(c, "vocab_size"),
        }  # fmt: skip
        depth = ModelConfig({**depth.values, **shared}, depth.path)
    return Module(
        "MoshiForConditionalGeneration",
        embed_tokens=ModuleList([Embedding(sounds + 1, h)] * (2 * int(books))),
        audio_encoder=auto_model(codec, default_type="mimi", part="audio"),
        decoder=causal(c),
        depth_decoder=depth_decoder(depth),
    )


_CLASSES = {
    "MoshiForCausalLM": causal,
    "MoshiModel": model,
    "MoshiForConditionalGeneration": conditional_generation,
}
register("moshi", _CLASSES, base_prefix="model", category="text decoder")
register_part("moshi_depth", "MoshiDepthDecoder", depth_decoder, "audio")
