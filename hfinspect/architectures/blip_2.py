"""BLIP-2 (Li et al. 2023). Source of shapes: transformers/models/blip_2/modeling_blip_2.py.

BLIP's ViT at EVA's size, a Q-Former (BERT whose learned queries look at the image every other
layer), one linear layer, and a whole language model, decoder or encoder-decoder.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..trees.catalog import auto_class, register, register_part
from ..trees.modules import Buffer, Embedding, LayerNorm, Layers, Linear, Module, Parameter, Weight
from .blip import bert_attention, bert_mlp
from .blip import vision_model as blip_vision_model

Children = dict[str, Module | Parameter | None]


def vision_model(c: ModelConfig) -> Module:
    return blip_vision_model(
        "Blip2", c, width=1408, inner=6144, layers=39, image_size=224, patch_size=14, eps=1e-6,
        bias=c.flag("qkv_bias", default=True),
    )  # fmt: skip


# ---- Q-Former


_hidden = size("hidden_size", default=768)


def _attention(h: Dim, context: Dim) -> Module:
    return bert_attention(
        "Blip2QFormerAttention",
        "Blip2QFormerMultiHeadAttention",
        "Blip2QFormerSelfOutput",
        "attention",
        h,
        context,
    )


def qformer_layer(c: ModelConfig, context: Dim, *, crossing: bool) -> Module:
    h, words = _hidden(c), c.flag("use_qformer_text_input", default=False)
    return Module(
        "Blip2QFormerLayer",
        {
            "attention": _attention(h, h),
            "crossattention": _attention(h, context) if crossing else None,
            **(bert_mlp("Blip2QFormer", c, h) if words else {}),
            **bert_mlp("Blip2QFormer", c, h, "_query"),
        },
    )


def qformer(c: ModelConfig, context: Dim) -> Module:
    every = int(c.dim("cross_attention_frequency", default=2))
    kinds = {crossing: qformer_layer(c, context, crossing=crossing) for crossing in (False, True)}
    count = int(c.count("num_hidden_layers", default=12))
    layers = Layers(kinds[i % every == 0] for i in range(count))
    return Module(
        "Blip2QFormerModel",
        layernorm=LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12)),
        encoder=Module("Blip2QFormerEncoder", layer=layers),
        part="projector",
    )


def _queries(c: ModelConfig) -> Parameter:
    count = c.dim("num_query_tokens", default=32)
    return Weight(1, count, _hidden(c.section("qformer_config")), component=Component.EMBEDDING)


def _text_embeddings(c: ModelConfig) -> Module:
    h, positions = _hidden(c), c.dim("max_position_embeddings", default=512)
    return Module(
        "Blip2TextEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=30522), h),
        position_embeddings=Embedding(positions, h, kind="position"),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


# ---- together


def _seeing(c: ModelConfig) -> Children:
    """Vision tower, queries and Q-Former, which reads what the tower puts out."""
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=1408)
    return {
        "query_tokens": _queries(c),
        "vision_model": vision_model(vision),
        "qformer": qformer(c.section("qformer_config"), width),
    }


def _whole(name: str, c: ModelConfig) -> Module:
    text = c.section("text_config")
    language = auto_class(
        text, ("ForCausalLM", "ForConditionalGeneration"), default_type="opt", part="text"
    )
    keys = ("hidden_size", "d_model", "n_embd")
    # OPT's and T5's own defaults; other models must say how wide they are.
    default = {"opt": 768, "t5": 512}.get(text.model_type or "opt")
    width = text.dim(*keys) if default is None else text.dim(*keys, default=default)
    return Module(
        name,
        {
            **_seeing(c),
            "language_projection": Linear(
                _hidden(c.section("qformer_config")), width, component=Component.PROJECTOR
            ),
            "language_model": language,
        },
    )


def generation(c: ModelConfig) -> Module:
    return _whole("Blip2ForConditionalGeneration", c)


def base(c: ModelConfig) -> Module:
    return _whole("Blip2Model", c)


def _projection(c: ModelConfig) -> Module:
    width = _hidden(c.section("qformer_config"))
    return Linear(
        width, c.dim("image_text_hidden_size", default=256), component=Component.PROJECTOR
    )


def vision_with_projection(c: ModelConfig) -> Module:
    return Module(
        "Blip2VisionModelWithProjection", {**_seeing(c), "vision_projection": _projection(c)}
    )


def text_with_projection(c: ModelConfig) -> Module:
    section = c.section("qformer_config")
    width = c.section("vision_config").dim("hidden_size", default=1408)
    return Module(
        "Blip2TextModelWithProjection",
        query_tokens=_queries(c),
        embeddings=_text_embeddings(section),
        qformer=qformer(section, width),
        text_projection=_projection(c),
    )


def retrieval(c: ModelConfig) -> Module:
    section = c.section("qformer_config")
    return Module(
        "Blip2ForImageTextRetrieval",
        {
            **_seeing(c),
            "embeddings": _text_embeddings(section),
            "vision_projection": _projection(c),
            "text_projection": _projection(c),
            "itm_head": Linear(_hidden(section), 2, component=Component.HEAD, kind="classifier"),
        },
    )


register(
    "blip-2",
    {
        "Blip2ForConditionalGeneration": generation,
        "Blip2Model": base,
        "Blip2VisionModelWithProjection": vision_with_projection,
        "Blip2TextModelWithProjection": text_with_projection,
        "Blip2ForImageTextRetrieval": retrieval,
    },
    category="multimodal",
)


def only_qformer(c: ModelConfig) -> Module:
    return qformer(c, c.dim("encoder_hidden_size", default=1408))


register_part("blip_2_vision_model", "Blip2VisionModel", vision_model, "vision")
register_part("blip_2_qformer", "Blip2QFormerModel", only_qformer, "multimodal")
