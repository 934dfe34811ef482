"""MiniCPM-V 1 to 4.5 (Yao et al. 2024), later ones with modeling_navit_siglip.py of the same repos.
The keys of the causal model ``llm`` stand in the same config; ``version`` says which it is."""

from ..layers.vision import multihead_attention
from ..trees import Component, Dim, ModelConfig, auto_class, auto_model, register_part
from ..trees.modules import LayerNorm, Linear, Module, Weight
from .deepseek_vl_v2 import vision_model as siglip_of_timm
from .llava_onevision import SO400M

#: The language model of each version; without one, the first two.
_TEXT = {"2.5": "llama", "2.6": "qwen2", "4": "llama", "4.0": "llama", "4.5": "qwen3"}
#: timm's SigLIP, the only ``vision_encoder`` of a published config, and that of later versions.
_TIMM_SIZES = {
    "width": 1152,
    "mlp_ratio": 4304 / 1152,
    "patch_size": 14,
    "image_size": 384,
    "global_pool": "",
}
_SIGLIP = {**SO400M, "image_size": 980, "num_hidden_layers": 27}


def vision_model(c: ModelConfig, *, first: bool) -> Module:
    """SigLIP for images of any shape: no pooling; 2.5 has it as Idefics2's. The last layer is not
    kept where it is not used (``drop_vision_last_layer``)."""
    v = c.section("vision_config").with_defaults(**_SIGLIP)
    count = 27 if first else int(v.count("num_hidden_layers"))
    layers = max(count - 1, 0) if c.flag("drop_vision_last_layer", default=True) else count
    if first:
        c.word("vision_encoder", "vit_so400m_patch14_siglip_384.webli")
        return siglip_of_timm(ModelConfig({**_TIMM_SIZES, "layers": layers}, "vision_encoder."))
    section = v.with_values(num_hidden_layers=layers, model_type="siglip_vision_model")
    tower = auto_model(section, part="vision")
    tower.inside("embeddings").without("position_ids")
    return tower


def resampler(c: ModelConfig, width: Dim, *, fixed: bool) -> Module:
    """Q queries of the text's width H attend to patches of width V: Q·H + V·H + 5·H² weights.
    ``fixed``: positions of the queries are kept, a parameter that is not trained."""
    h = c.dim("hidden_size", default=2304)
    queries = c.dim("query_num", default=64)
    attention = multihead_attention(h)
    norm = LayerNorm(h, eps=1e-6)
    attention.component = None  # a connector's
    return Module(
        "Resampler",
        query=Weight(queries, h),
        pos_embed=Weight(queries, h, kind="position") if fixed else None,
        kv_proj=Linear(width, h, bias=False) if width != h else None,
        attn=attention,
        ln_q=norm,
        ln_kv=norm,
        ln_post=norm,
        proj=Weight(h, h),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    version = str(c.raw("version"))
    first = not c.has("version", "vision_config")
    if not first and version not in _TEXT:
        raise c.uncatalogued(f"a minicpmv config of version {version[:20]}")
    width = Dim(1152) if first else c.section("vision_config").dim("hidden_size", default=1152)
    text = c.with_values(model_type="minicpm" if first else _TEXT[version])
    return Module(
        "MiniCPMV",
        llm=auto_class(text, "ForCausalLM"),
        vpm=vision_model(c, first=first),
        resampler=resampler(c, width, fixed=first),
    )


_SOURCE = "modeling_minicpmv.py and resampler.py of openbmb/MiniCPM-V-2 and MiniCPM-V-2_6"
register_part("minicpmv", "MiniCPMV", model, source=_SOURCE)
