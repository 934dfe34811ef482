"""DeepSeek-VL (Lu et al. 2024) and Janus (Wu et al. 2024; Chen et al. 2025), which makes images as
well with LlamaGen's VQ-GAN, as released; ``deepseek_vl`` and ``janus`` are the converted forms."""

from ..layers.composing import renamed, respelled
from ..layers.multimodal import any_causal
from ..layers.vqgan import Codec, quantized
from ..trees import Component, ModelConfig, register_part
from ..trees.modules import Activation, Buffer, Embedding, Linear, Module, ModuleList, Parameter
from .deepseek_vl_v2 import projector, vision_model

#: siglip_vit.py's table: width, layers, patch and ratio of the MLP by model_name.
_SIGLIP = {
    "siglip_so400m_patch14_384": (1152, 27, 14, 3.7362),
    "siglip_so400m_patch14_224": (1152, 27, 14, 3.7362),
    "siglip_large_patch16_384": (1024, 24, 16, 4),
}


def vision_tower(c: ModelConfig) -> Module:
    """``cls`` CLIPVisionTower, which is a SigLIP; HybridVisionTower (with SAM) is not known."""
    kind = c.text("cls", default="CLIPVisionTower")
    params = c.section("params")
    name = params.text("model_name", default="siglip_large_patch16_384") or ""
    if kind != "CLIPVisionTower" or name not in _SIGLIP:
        raise c.uncatalogued(f"the vision tower {kind} of {name}"[:80])
    sizes = dict(zip(("width", "layers", "patch_size", "mlp_ratio"), _SIGLIP[name], strict=True))
    tower = vision_model(params.with_defaults(image_size=384, **sizes))
    return Module("CLIPVisionTower", vision_tower=tower, part="vision")


#: vq_model.py's ModelArgs, the only ones there are ("VQ-16"): attention at the coarsest resolution.
_CODEC = Codec("", 128, (128, 128, 256, 256, 512), 2, 256, 256, lambda i: i == 4, stack=ModuleList)
#: Names of parts in janus/models/vq_model.py, where transformers has others.
_SPELLED = {
    "down": "conv_blocks",
    "up": "conv_blocks",
    "block": "res",
    "block_1": "0",
    "attn_1": "1",
    "block_2": "2",
}


def _making(c: ModelConfig) -> dict[str, Module | Parameter]:
    vq, top = (c.section(f"gen_{at}_config").section("params") for at in ("vision", "head"))
    width = top.dim("n_embed", default=2048)
    inner = top.dim("image_token_embed", default=2048)
    codes = vq.dim("image_token_size", default=16384)
    code = vq.dim("n_embed", default=8)
    codec = quantized("", _CODEC.latent, code, codes, _CODEC.encoder(), _CODEC.decoder())
    codec.inside("quantize").adding(codebook_used=Buffer(65536))
    renamed(renamed(codec.called("VQModel"), "ConvDown", "Down"), "ConvUp", "Up")
    head = Module(
        "vision_head",
        output_mlp_projector=Linear(width, inner),
        vision_activation=Activation("GELU"),
        vision_head=Linear(inner, top.dim("image_token_size", default=16384)),
        component=Component.HEAD,
    )
    return {
        "gen_vision_model": respelled(codec, _SPELLED),
        "gen_aligner": _aligner(c, "gen_aligner_config", 8),
        "gen_head": head,
        "gen_embed": Embedding(codes, code, kind="codebook"),
    }


def _aligner(c: ModelConfig, key: str, width: int) -> Module:
    usual = {"projector_type": "mlp_gelu", "input_dim": width, "n_embed": 2048, "depth": 2}
    return projector(c.section(key).section("params").with_defaults(**usual))


def model(c: ModelConfig) -> Module:
    kind = c.section("aligner_config").section("params").text("projector_type", default="mlp_gelu")
    if kind not in ("mlp_gelu", "linear", "identity"):
        raise c.uncatalogued(f"the projector {kind}"[:80])
    generation = _making(c) if c.has("gen_vision_config") or not c.has("vision_config") else {}
    return Module(
        "MultiModalityCausalLM",
        {
            "vision_model": vision_tower(c.section("vision_config")),
            "aligner": _aligner(c, "aligner_config", 1024),
            **generation,
            "language_model": any_causal("language_config", "llama")(c),
        },
    )


_SOURCE = "github.com/deepseek-ai/Janus and github.com/deepseek-ai/DeepSeek-VL"
register_part("multi_modality", "MultiModalityCausalLM", model, source=_SOURCE)
