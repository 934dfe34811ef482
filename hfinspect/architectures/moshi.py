"""Moshi (Défossez et al. 2024). Source of shapes: transformers/models/moshi. The whole adds tables
for what both speakers say, the Mimi codec, and a depth decoder (a trace)."""

from ..layers.decoders import Decoder, grouped
from ..layers.vision import plain_mlp
from ..layers.windows import windows
from ..trees import ModelConfig, auto_model, builder, register
from ..trees.modules import Embedding, Linear, Module, ModuleList


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """Llama's, each matrix in a module of its own."""
    block = grouped(d, c)
    name = f"{d.name}Linear"
    return block.adding(**{at: Module(name, linear=x) for at, x in block.children.items()})


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    inner = c.dim("ffn_dim", default=d.intermediate_size)
    half = c.divided(inner, 2, "ffn_dim", "ffn_dim")
    both = Linear(h, inner, False, kind="gate_up")
    return plain_mlp(f"{d.name}GatingMLP", h, half, act=d.act(c), bias=False).adding(fc1=both)


MOSHI = Decoder(
    "Moshi",
    intermediate_size=22528,
    rms_norm_eps=1e-8,
    attention_bias=None,
    attention=_attention,
    mlp=_mlp,
    rotary=False,
    windows=lambda c: windows(c, 3000),
)


def model(c: ModelConfig) -> Module:
    table = Embedding(MOSHI.size(c, "vocab_size") + 1, MOSHI.width(c))
    return MOSHI.model(c).adding(embed_tokens=table)


def causal(c: ModelConfig) -> Module:
    # The class ties nothing whatever tie_word_embeddings says.
    return Module("MoshiForCausalLM", model=model(c), lm_head=MOSHI.words(c))


def conditional_generation(c: ModelConfig) -> Module:
    codec = c.section("audio_encoder_config")
    depth = c.section("depth_decoder_config")
    books = c.count("num_codebooks", default=8, minimum=1)
    h = MOSHI.width(c)
    sounds = c.dim("audio_vocab_size", default=codec.dim("codebook_size", default=2048))
    if c.has("depth_decoder_config"):  # sizes that both decoders have are the large one's
        shared = {"input_size": h, "num_codebooks": books, "audio_vocab_size": sounds}
        depth = depth.with_values(vocab_size=MOSHI.size(c, "vocab_size"), **shared)
    return Module(
        _WHOLE,
        embed_tokens=ModuleList([Embedding(sounds + 1, h)] * (2 * int(books))),
        audio_encoder=auto_model(codec, default_type="mimi", part="audio"),
        decoder=causal(c),
        depth_decoder=builder("MoshiDepthDecoder")(depth),
    )


_WHOLE = "MoshiForConditionalGeneration"
_CLASSES = {"MoshiForCausalLM": causal, "MoshiModel": model, _WHOLE: conditional_generation}
register("moshi", _CLASSES, base_prefix="model", category="text decoder")
