"""NV-Embed (Lee et al. 2024): Mistral that attends both ways, and a pooling whose keys and values
are learned latents."""

from ..layers.multimodal import within
from ..trees import Component, ModelConfig, register_part
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, Sequential, Weight
from .mistral import MISTRAL


def _text(c: ModelConfig) -> Module:
    base = MISTRAL.named("BidirectionalMistralModel", c)
    base.scope = True
    return base


def latent_attention(c: ModelConfig) -> Module:
    """The latents' width is the tokens' own in every release."""
    width = c.dim("latent_dim", default=4096)
    outer = c.dim("hidden_dim", default=4096)
    inner = c.dim("cross_dim_head", default=4096) * c.dim("num_cross_heads", default=8)
    attention = Module(
        "Attention",
        to_q=Linear(width, inner, bias=False, kind="query"),
        to_kv=Linear(outer, inner * 2, bias=False),
        to_out=Linear(inner, width, bias=False, kind="output"),
        component=Component.ATTENTION,
    )
    net = Sequential(Linear(width, width * 8), Activation("GEGLU"), Linear(width * 4, width))
    mlp = Module("FeedForward", net=net, component=Component.MLP)
    reading = Module("PreNorm", fn=attention, norm=LayerNorm(width), norm_context=LayerNorm(outer))
    blocks = [reading, Module("PreNorm", fn=mlp, norm=LayerNorm(width))]
    count = c.dim("num_latents_value", default=512)
    return Module(
        "LatentAttentionModel",
        latents=Weight(count, width, component=Component.EMBEDDING),
        cross_attend_blocks=Layers(blocks),
        kind="pooler",
    )


_PARTS = {
    "latent_attention_model": within("latent_attention_config", latent_attention),
    "embedding_model": lambda c: _text(c.section("text_config")) if c.has("text_config") else None,
}
_SOURCE = "modeling_nvembed.py of nvidia/NV-Embed-v2; base checked against transformers' Mistral"
register_part("nvembed", "NVEmbedModel", _PARTS, "encoder", _SOURCE)
register_part("bidir_mistral", "BidirectionalMistralModel", _text, "encoder", _SOURCE)
register_part("latent_attention", "LatentAttentionModel", latent_attention, "encoder", _SOURCE)
