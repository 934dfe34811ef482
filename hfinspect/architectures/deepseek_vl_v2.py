"""DeepSeek-VL2 (Wu et al. 2024). Its SigLIP is timm's, whose AttentionPoolLatent the files hold
although the model skips the pooling. The decoder may have latent attention or (tiny) none."""

from ..layers.blocks import fused_attention
from ..layers.decoders import Decoder, grouped
from ..layers.latent_decoders import latent
from ..layers.multimodal import linear_row
from ..layers.multimodal import projector as joining
from ..layers.vision import pair, patch_conv, patch_count, plain_mlp, scaled
from ..trees import Component, Dim, ModelConfig, register_part
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, Weight
from .deepseek import DEEPSEEK, moe


def vision_model(c: ModelConfig) -> Module:
    """timm's VisionTransformer; one learned query attends to all patches (``global_pool`` map)."""
    width = c.dim("width", default=1024)
    patch = pair(c, "patch_size", default=16)
    norm = LayerNorm(width, eps=1e-6)
    qkv = fused_attention("Attention", width)
    inner = scaled(c, width, "mlp_ratio", default=4)
    mlp = plain_mlp("Mlp", width, inner, act="gelu_pytorch_tanh")
    block = Module("Block", norm1=norm, attn=qkv, norm2=norm, mlp=mlp)
    token = c.flag("class_token", default=False)
    place = Component.EMBEDDING
    patches = patch_count(pair(c, "image_size", default=384), patch)
    places = patches + 1 if token else patches
    pooling = Module(
        "AttentionPoolLatent",
        latent=Weight(1, 1, width),
        q=Linear(width, width, kind="query"),
        kv=Linear(width, 2 * width),
        proj=qkv["proj"],
        norm=norm,
        mlp=mlp,
        component=Component.ATTENTION,
        kind="pooler",
    )
    return Module(
        "VisionTransformer",
        cls_token=Weight(1, 1, width, component=place, kind="class_token") if token else None,
        pos_embed=Weight(1, places, width, component=place, kind="position"),
        patch_embed=Module("PatchEmbed", proj=patch_conv(3, width, patch)),
        blocks=Layers.of(c.count("layers", default=24), block, class_name="Sequential"),
        norm=norm,
        attn_pool=pooling if c.text("global_pool", default="map") == "map" else None,
        part="vision",
    )


def projector(c: ModelConfig) -> Module:
    """``depth`` linear layers, the first over a square of patches joined together."""
    form = c.word("projector_type", "downsample_mlp_gelu", "mlp_gelu", "linear", "identity")
    width = c.dim("input_dim", default=1152)
    out = c.dim("n_embed", default=2048)
    between = max(int(c.count("depth", default=2)) - 1, 0)
    if form == "downsample_mlp_gelu":
        side = c.dim("downsample_ratio", default=2)
        inner = out * c.dim("mlp_ratio", default=1)
        layers = linear_row([width * side * side, *[inner] * max(between, 1), out])
    elif form == "mlp_gelu":
        layers = linear_row([width, *[out] * between, out])
    else:
        layers = Linear(width, out) if form == "linear" else Activation("Identity")
    pooled = Linear(4 * width, width) if c.flag("token_pooling", default=False) else None
    return joining("MlpProjector", token_pooling_layer=pooled, layers=layers)


def _attention(d: Decoder, c: ModelConfig) -> Module:
    return latent()(d, c) if c.flag("use_mla", default=True) else grouped(d.like("Llama"), c)


def _sparse(d: Decoder, c: ModelConfig) -> Module:
    block = moe(d, c)
    if c.text("topk_method", default="greedy") == "noaux_tc":
        block.inside("gate").adding(e_score_correction_bias=Weight(c.count("n_routed_experts")))
    return block


TEXT = DEEPSEEK.like("DeepseekV2", attention=_attention, moe=_sparse)


def language_model(c: ModelConfig, at: str = "") -> Module:
    tied = f"{at}model.embed_tokens.weight" if c.tied(default=False) else None
    return Module("DeepseekV2ForCausalLM", model=TEXT.model(c), lm_head=TEXT.words(c, tied))


def model(c: ModelConfig) -> Module:
    """Two vectors separate rows of patches and views of the image, or one per resolution."""
    projection = c.section("projector_config")
    place = Component.EMBEDDING
    width = projection.dim("n_embed", default=2048)
    names = ("image_newline", "view_seperator")
    marks = dict.fromkeys(names, Weight(width, component=place))
    if c.word("tile_tag", "2D", "1D") == "1D":
        listed = c.raw("candidate_resolutions")
        if not isinstance(listed, list) or not listed:
            raise c.error("candidate_resolutions", listed, "a list of sizes")
        rows = Dim(len(listed), "resolutions", definition="number of candidate_resolutions") + 1
        marks = {"tile_indicators": Weight(rows, width, component=place)}
    return Module(
        "DeepseekVLV2ForCausalLM",
        marks,
        vision=vision_model(c.section("vision_config")),
        projector=projector(projection),
        language=language_model(c.section("language_config"), "language."),
    )


_SOURCE = "github.com/deepseek-ai/DeepSeek-VL2"
register_part("deepseek_vl_v2", "DeepseekVLV2ForCausalLM", model, source=_SOURCE)
