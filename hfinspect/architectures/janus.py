"""Janus (Wu et al. 2024; Chen et al. 2025; transformers/models/janus): a tower, a VQ-GAN with a
table of its codes and a head over them, a decoder. As released: multi_modality.py."""

from ..layers.blocks import activation
from ..layers.multimodal import any_model, decoder, projector, register_worded
from ..layers.vqgan import codec, quantized
from ..trees import Component, Dim, ModelConfig, register_part
from ..trees.modules import Embedding, Linear, Module, ModuleList


def _aligner(name: str, c: ModelConfig, width: Dim, depth: Dim) -> Module:
    out = c.dim("projection_dim", default=2048)
    return projector(
        f"{name}AlignerMLP",
        fc1=Linear(width, out),
        hidden_layers=ModuleList([Linear(out, out)] * max(int(depth) - 1, 0)),
        activation_fn=activation(c.text("hidden_act", default="gelu")),
    )


def _vq_model(c: ModelConfig) -> Module:
    """Attention at the coarsest resolution."""
    sizes = codec("JanusVQVAE", c, lambda i, count: i == count - 1)
    return quantized(
        "JanusVQVAE",
        sizes.latent,
        c.dim("embed_dim", default=8),
        c.dim("num_embeddings", default=16384),
        sizes.encoder(),
        sizes.decoder(c.dim("out_channels", default=3)),
    )


def _model(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    vq = c.section("vq_config")
    code = vq.dim("embed_dim", default=8)
    codes = vq.dim("num_embeddings", default=16384)
    width = vision.dim("hidden_size", default=1024)
    depth = vision.count("depth", default=2)
    count = vq.count("num_hidden_layers", default=2)
    out = vq.dim("projection_dim", default=2048)
    return Module(
        "JanusModel",
        vision_model=any_model("vision_config", "janus_vision_model", "vision")(c),
        aligner=_aligner("JanusVision", vision, width, depth),
        vqmodel=_vq_model(vq),
        generation_embeddings=Embedding(codes, code, kind="codebook"),
        generation_aligner=_aligner("JanusVQVAE", vq, code, count),
        generation_head=Module(
            "JanusVQVAEHead",
            proj_out=Linear(vq.dim("image_token_embed_dim", default=2048), out),
            activation_fn=activation(vq.text("hidden_act", default="gelu")),
            vision_head=Linear(out, codes),
            component=Component.HEAD,
        ),
        language_model=decoder(c, "llama").base,
    )


register_worded("janus", "Janus", _model, tied=True)
register_part("janus_vqgan", "JanusVQVAE", _vq_model, "vision")
