"""VideoLLaMA 3 (Zhang et al. 2025). Source of shapes: transformers/models/video_llama_3.

A SigLIP tower with rotary positions, for images of any size, two linear layers, and Qwen2.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import decoder, lm_head, projector
from ..layers.vision import clip_encoder, clip_layer, pair, patch_conv
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential

_NAME = "VideoLlama3"


def vision_model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=768), pair(c, "patch_size", default=16)
    eps = c.number("layer_norm_eps", default=1e-6)
    layer = clip_layer(
        f"{_NAME}Vision",
        h,
        c.dim("intermediate_size", default=3072),
        eps=eps,
        act=c.text("hidden_act", default="gelu_pytorch_tanh"),
    )
    return Module(
        f"{_NAME}VisionModel",
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(f"{_NAME}Vision", c.count("num_hidden_layers", default=12), layer),
        post_layernorm=LayerNorm(h, eps=eps),
        part="vision",
    )


def base(c: ModelConfig) -> Module:
    vision, text = c.section("vision_config"), decoder(c, "qwen2")
    width = vision.dim("hidden_size", default=768)
    readout = Sequential(
        Linear(width, text.hidden), Activation("GELU"), Linear(text.hidden, text.hidden)
    )
    return Module(
        f"{_NAME}Model",
        vision_model=vision_model(vision),
        projector=projector(f"{_NAME}Projector", readout=readout),
        language_model=text.base,
    )


def generation(c: ModelConfig) -> Module:
    text = decoder(c, "qwen2")
    tied = c.tied(default=False) or text.tied
    to = "model.language_model.embed_tokens.weight" if tied else None
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=lm_head(text, to))


register(
    "video_llama_3",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    base_prefix="model",
    category="multimodal",
)
register_part("video_llama_3_vision", f"{_NAME}VisionModel", vision_model, "vision")
