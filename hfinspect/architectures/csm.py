"""Sesame's conversational speech model (2025): a Llama over the words of all codebooks, a small
Llama that makes a frame's further codes one after the other, and the Mimi codec
(transformers/models/csm)."""

from ..trees import Component, Dim, ModelConfig, auto_model, config_defaults, register
from ..trees.modules import Embedding, Linear, Module, Weight
from .llama import LLAMA

_CSM = LLAMA.like("Csm", **config_defaults("csm"))
_DEPTH = _CSM.like(
    "Csm", hidden_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2
)


def _codes(c: ModelConfig) -> Dim:
    """Rows of a table of codes: the words of each codebook."""
    return c.count("num_codebooks", default=32) * _CSM.size(c, "vocab_size")


def backbone(c: ModelConfig, tied_to: str | None = None) -> Module:
    table = Embedding(_codes(c), _CSM.width(c), tied_to=tied_to)
    words = Module("CsmBackboneModelEmbeddings", embed_audio_tokens=table)
    return _CSM.named("CsmBackboneModel", c).adding(embed_tokens=words)


def depth_model(c: ModelConfig) -> Module:
    inputs = c.dim("backbone_hidden_size", default=2048)
    joining = Linear(inputs, _DEPTH.width(c), bias=False, component=Component.PROJECTOR)
    more = {"embed_tokens": Embedding(_codes(c), inputs), "inputs_embeds_projector": joining}
    return _DEPTH.named("CsmDepthDecoderModel", c).adding(**more)


def depth_causal(c: ModelConfig) -> Module:
    books = c.count("num_codebooks", default=32, minimum=2)
    vocab = _DEPTH.size(c, "vocab_size")
    weight = Weight(books - 1, _DEPTH.width(c), vocab, kind="lm_head")
    head = Module("CsmCodebooksHead", weight=weight, component=Component.HEAD)
    return Module("CsmDepthDecoderForCausalLM", model=depth_model(c), codebooks_head=head)


def generation(c: ModelConfig) -> Module:
    depth = depth_causal(c.section("depth_decoder_config"))
    depth.part = "audio"
    tied = c.flag("tie_codebooks_embeddings", default=True)
    return Module(
        "CsmForConditionalGeneration",
        lm_head=_CSM.words(c),
        embed_text_tokens=Embedding(c.dim("text_vocab_size", default=128256), _CSM.width(c)),
        backbone_model=backbone(c, "depth_decoder.model.embed_tokens.weight" if tied else None),
        depth_decoder=depth,
        codec_model=auto_model(c.section("codec_config"), default_type="mimi", part="audio"),
    )


_CLASSES = {"CsmForConditionalGeneration": generation, "CsmBackboneModel": backbone}
register("csm", _CLASSES, base="CsmForConditionalGeneration", category="audio")
_PAIR = {"CsmDepthDecoderForCausalLM": depth_causal, "CsmDepthDecoderModel": depth_model}
register("csm_depth_decoder_model", _PAIR, base_prefix="model", category="text decoder")
