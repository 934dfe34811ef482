"""BLIP (Li et al. 2022). Source: transformers/models/blip/modeling_blip.py, modeling_blip_text.py.

A ViT with fused q, k, v, and BERT with cross-attention to the image: as decoder (captions), as
encoder (retrieval), as both (question answering).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.vision import (
    clip_encoder,
    clip_layer,
    pair,
    patch_conv,
    patch_count,
)
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Buffer, Embedding, LayerNorm, Layers, Linear, Module, Weight

# ---- vision, shared with BLIP-2


def fused_attention(name: str, width: Dim, *, bias: bool = True) -> Module:
    return Module(
        f"{name}Attention",
        qkv=Linear(width, 3 * width, bias=bias, kind="qkv"),
        projection=Linear(width, width, kind="output"),
        component=Component.ATTENTION,
    )


def vision_model(
    name: str,
    c: ModelConfig,
    *,
    width: int = 768,
    inner: int = 3072,
    layers: int = 12,
    image_size: int = 384,
    patch_size: int = 16,
    eps: float = 1e-5,
    bias: bool = True,
) -> Module:
    """The keyword arguments are the config class's own defaults."""
    h = c.dim("hidden_size", default=width)
    image = pair(c, "image_size", default=image_size)
    patch = pair(c, "patch_size", default=patch_size)
    found = c.number("layer_norm_eps", default=eps)
    layer = clip_layer(
        name,
        h,
        c.dim("intermediate_size", default=inner),
        eps=found,
        act=c.text("hidden_act", default="gelu"),
        attention=fused_attention(name, h, bias=bias),
    )
    return Module(
        f"{name}VisionModel",
        embeddings=Module(
            f"{name}VisionEmbeddings",
            class_embedding=Weight(1, 1, h, kind="class_token"),
            position_embedding=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
            patch_embedding=patch_conv(3, h, patch),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(name, c.count("num_hidden_layers", default=layers), layer),
        post_layernorm=LayerNorm(h, eps=found),
        part="vision",
    )


# ---- BERT's blocks, shared with BLIP-2's Q-Former


def bert_attention(outer: str, inner: str, output: str, at: str, h: Dim, context: Dim) -> Module:
    """Class names of the three modules, and the attribute the middle one stands under."""
    return Module(
        outer,
        {
            at: Module(
                inner,
                query=Linear(h, h, kind="query"),
                key=Linear(context, h, kind="key"),
                value=Linear(context, h, kind="value"),
            ),
            "output": Module(
                output, dense=Linear(h, h, kind="output"), LayerNorm=LayerNorm(h, eps=1e-12)
            ),
        },
        component=Component.ATTENTION,
    )


def bert_mlp(name: str, c: ModelConfig, h: Dim, suffix: str = "") -> dict[str, Module]:
    """``intermediate`` and ``output``, as attributes of a layer."""
    inner = c.dim("intermediate_size", default=3072)
    return {
        f"intermediate{suffix}": Module(
            f"{name}Intermediate",
            dense=Linear(h, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        f"output{suffix}": Module(
            f"{name}Output",
            dense=Linear(inner, h, kind="down"),
            LayerNorm=LayerNorm(h, eps=1e-12),
            component=Component.MLP,
        ),
    }


# ---- text


_hidden = size("hidden_size", default=768)


def _attention(h: Dim, context: Dim) -> Module:
    return bert_attention(
        "BlipTextAttention", "BlipTextSelfAttention", "BlipTextSelfOutput", "self", h, context
    )


def text_model(c: ModelConfig, context: Dim, *, pooling: bool) -> Module:
    h = _hidden(c)
    positions = c.dim("max_position_embeddings", default=512)
    crossing = c.flag("is_decoder", default=True)
    layer = Module(
        "BlipTextLayer",
        {
            "attention": _attention(h, h),
            "crossattention": _attention(h, context) if crossing else None,
            **bert_mlp("BlipText", c, h),
        },
    )
    pooler = Module(
        "BlipTextPooler",
        dense=Linear(h, h),
        activation=Activation("Tanh"),
        component=Component.HEAD,
        kind="pooler",
    )
    return Module(
        "BlipTextModel",
        embeddings=Module(
            "BlipTextEmbeddings",
            word_embeddings=Embedding(c.dim("vocab_size", default=30524), h),
            position_embeddings=Embedding(positions, h, kind="position"),
            LayerNorm=LayerNorm(h, eps=1e-12),
            # Older files hold the positions 0..n-1 as a tensor.
            position_ids=Buffer(1, positions, dtype="I64", saved=False),
            component=Component.EMBEDDING,
        ),
        encoder=Module(
            "BlipTextEncoder",
            layer=Layers.of(c.count("num_hidden_layers", default=12), layer),
        ),
        pooler=pooler if pooling else None,
    )


def text_decoder(c: ModelConfig, context: Dim, *, tied: bool, at: str = "text_decoder.") -> Module:
    """BERT with its masked-LM head, which writes the text word by word."""
    h, vocab = _hidden(c), c.dim("vocab_size", default=30524)
    words = f"{at}bert.embeddings.word_embeddings.weight"
    predictions = Module(
        "BlipTextLMPredictionHead",
        bias=Weight(vocab, kind="lm_head"),
        transform=Module(
            "BlipTextPredictionHeadTransform",
            dense=Linear(h, h, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act", default="gelu")),
            LayerNorm=LayerNorm(h, eps=1e-12),
        ),
        decoder=Linear(
            h,
            vocab,
            tied_to=words if tied else None,
            bias_tied_to=f"{at}cls.predictions.bias" if tied else None,
            kind="lm_head",
        ),
    )
    return Module(
        "BlipTextLMHeadModel",
        bert=text_model(c, context, pooling=False),
        cls=Module("BlipTextOnlyMLMHead", predictions=predictions, component=Component.HEAD),
    )


# ---- together


def _parts(c: ModelConfig) -> tuple[Module, ModelConfig, Dim, bool]:
    text, vision = c.section("text_config"), c.section("vision_config")
    # Either key suffices: the decoder inside ties as well.
    tied = c.tied(default=True) or text.tied(default=True)
    return vision_model("Blip", vision), text, vision.dim("hidden_size", default=768), tied


def generation(c: ModelConfig) -> Module:
    vision, text, width, tied = _parts(c)
    return Module(
        "BlipForConditionalGeneration",
        vision_model=vision,
        text_decoder=text_decoder(text, width, tied=tied),
    )


def question_answering(c: ModelConfig) -> Module:
    vision, text, width, tied = _parts(c)
    return Module(
        "BlipForQuestionAnswering",
        vision_model=vision,
        text_encoder=text_model(text, width, pooling=False),
        text_decoder=text_decoder(text, width, tied=tied),
    )


def retrieval(c: ModelConfig) -> Module:
    vision, text, width, _ = _parts(c)
    shared = c.dim("image_text_hidden_size", default=256)
    return Module(
        "BlipForImageTextRetrieval",
        vision_model=vision,
        text_encoder=text_model(text, width, pooling=False),
        vision_proj=Linear(width, shared, component=Component.PROJECTOR),
        text_proj=Linear(_hidden(text), shared, component=Component.PROJECTOR),
        itm_head=Linear(_hidden(text), 2, component=Component.HEAD, kind="classifier"),
    )


def both(c: ModelConfig) -> Module:
    vision, text, width, _ = _parts(c)
    shared = c.dim("projection_dim", default=512)
    return Module(
        "BlipModel",
        logit_scale=Weight(kind="scale"),
        text_model=text_model(text, width, pooling=True),
        vision_model=vision,
        visual_projection=Linear(width, shared, bias=False, component=Component.PROJECTOR),
        text_projection=Linear(_hidden(text), shared, bias=False, component=Component.PROJECTOR),
    )


_context = size("encoder_hidden_size", default=768)


def only_text(c: ModelConfig) -> Module:
    return text_model(c, _context(c), pooling=True)


def only_decoder(c: ModelConfig) -> Module:
    return text_decoder(c, _context(c), tied=c.tied(), at="")


def only_vision(c: ModelConfig) -> Module:
    whole = c.has("vision_config") or c.model_type == "blip"
    return vision_model("Blip", c.section("vision_config") if whole else c)


register(
    "blip",
    {
        "BlipForConditionalGeneration": generation,
        "BlipModel": both,
        "BlipForQuestionAnswering": question_answering,
        "BlipForImageTextRetrieval": retrieval,
    },
    category="multimodal",
)
register_part("blip_vision_model", "BlipVisionModel", only_vision, "vision")
register(
    "blip_text_model",
    {"BlipTextLMHeadModel": only_decoder, "BlipTextModel": only_text},
    base="BlipTextModel",
    base_prefix="bert",
    category="encoder",
)
