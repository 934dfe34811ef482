"""ERNIE 4.5 VL (Baidu 2025). Source: transformers/models/ernie4_5_vl_moe.

A ViT, a resampler over space and then time, and ERNIE's decoder whose sparse layers have two sets
of experts, one for words and narrower ones for patches: a token goes to one of the sets.

The released configs (``ernie4_5_moe_vl``) have the decoder's keys at the top, numbers of experts
and first sparse layers once for each set, and the tower in DFN's words. Source:
configuration_ernie4_5_vl.py in baidu/ERNIE-4.5-VL-28B-A3B-PT.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.experts import router, stacked_experts
from ..layers.heads import to_words
from ..layers.vision import scaled
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)

_NAME = "Ernie4_5_VLMoe"


# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name=f"{_NAME}RMSNorm")


def _mlp(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    act, bias = c.text("hidden_act", default="silu"), c.flag("use_bias", default=False)
    return gated_mlp(f"{_NAME}MLP", _hidden(c), inner, bias=bias, act=act, kind=kind)


def _widths(c: ModelConfig) -> tuple[Dim, Dim]:
    """Inner widths of the experts for words and of those for patches."""
    found = c.dims("moe_intermediate_size", default=(1536, 512))
    if len(found) != 2:
        raise c.error("moe_intermediate_size", c.raw("moe_intermediate_size"), "two widths")
    return found[0], found[1]


def moe(c: ModelConfig) -> Module:
    """Files number the experts for patches after those for words, and have the routers' scores
    transposed."""
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    count = c.count("moe_num_experts", "num_experts", default=64, minimum=1)
    used = min(int(c.count("moe_k", "num_experts_per_tok", default=6)), int(count))
    words, patches = _widths(c)
    # A token goes to either set. Those of words are counted as active, as is usual for a decoder.
    sets = [
        gated_mlp(f"{_NAME}MLP", h, inner, act=act, kind="expert") for inner in (words, patches)
    ]
    sets[0].active, sets[1].active = (used, int(count)), (0, int(count))
    shared = c.count("moe_num_shared_experts", default=2)
    gate = router(f"{_NAME}MoeTopKRouter", count, h)
    gate.children["weight_1"] = Weight(h, count)
    return Module(
        f"{_NAME}MoeBlock",
        gate=gate,
        moe_statics=Module(
            f"{_NAME}MoeStatics",
            e_score_correction_bias=Weight(exact(2), count),
            component=Component.ROUTER,
        ),
        experts=ModuleList(
            [sets[0]] * int(count) + [sets[1]] * int(count),
            class_name=f"{_NAME}MoeExperts",
            component=Component.MLP,
            kind="expert",
        ),
        shared_experts=_mlp(c, words * shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def moe_alone(c: ModelConfig) -> Module:
    """What a save of the text model alone has: the names in memory, each set of experts stacked."""
    h, shared = _hidden(c), c.count("moe_num_shared_experts", default=2)
    count = c.count("moe_num_experts", "num_experts", default=64, minimum=1)
    used = int(c.count("moe_k", "num_experts_per_tok", default=6))

    def one_set(inner: Dim, active: int) -> Module:
        gate = router(f"{_NAME}MoeTopKRouter", h, count)
        gate.children["moe_statics"] = Module(
            f"{_NAME}MoeStatics", e_score_correction_bias=Weight(exact(1), count)
        )
        stacked = stacked_experts(f"{_NAME}MoeExperts", count, active, h, inner)
        return Module(f"{_NAME}SparseMoeBlock", gate=gate, experts=stacked)

    words, patches = _widths(c)
    return Module(
        f"{_NAME}MoeBlock",
        text_moe=one_set(words, used),
        vision_moe=one_set(patches, 0),
        shared_experts=_mlp(c, words * shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def layer(c: ModelConfig, kind: str, routed: Builder = moe) -> Module:
    h, bias = _hidden(c), c.flag("use_bias", default=False)
    heads = grouped_heads(c, h, heads=20, kv=4)
    dense = c.dim("intermediate_size", default=12288)
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=grouped_attention(f"{_NAME}TextAttention", h, heads, bias=bias),
        mlp=routed(c) if kind == "sparse" else _mlp(c, dense),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def decoder(c: ModelConfig, routed: Builder = moe) -> dict[str, Module]:
    kinds = layer_types(
        c,
        int(c.count("num_hidden_layers", default=28)),
        lambda i: "sparse" if i else "dense",
        key="mlp_layer_types",
    )
    built = {kind: layer(c, kind, routed) for kind in set(kinds)}
    return {
        "embed_tokens": Embedding(c.dim("vocab_size", default=103424), _hidden(c)),
        "layers": Layers(built[kind] for kind in kinds),
        "norm": _norm(c),
        "rotary_emb": Activation(f"{_NAME}TextRotaryEmbedding"),
    }


def text_alone(c: ModelConfig) -> Module:
    return Module(f"{_NAME}TextModel", dict(decoder(c, moe_alone)))


# ---- vision


def vision_model(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=1280), c.dim("intermediate_size", default=5120)
    patch, eps = c.dim("patch_size", default=14), c.number("rms_norm_eps", default=1e-6)
    pixels = c.dim("in_channels", default=3) * patch * patch
    block = Module(
        f"{_NAME}VisionBlock",
        norm1=LayerNorm(h, eps=eps),
        norm2=LayerNorm(h, eps=eps),
        attn=Module(
            f"{_NAME}VisionAttention",
            qkv=Linear(h, 3 * h, kind="qkv"),
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "Ernie4_5VLVisionMLP",
            fc1=Linear(h, inner, kind="up"),
            act=activation(c.text("hidden_act", default="quick_gelu")),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
    )
    return Module(
        f"{_NAME}VisionTransformerPretrainedModel",
        patch_embed=Module(
            f"{_NAME}PatchEmbed",
            proj=Linear(pixels, h, bias=False, component=Component.EMBEDDING, kind="patch"),
        ),
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        ln=LayerNorm(h, eps=eps),
        part="vision",
    )


def resampler(c: ModelConfig, out: Dim) -> Module:
    """Joins a square of patches, then two frames. Files number the parts of an MLP and its norm."""
    side = c.dim("spatial_merge_size", default=2)
    space = c.dim("hidden_size", default=1280) * side * side
    time = space * c.dim("temporal_merge_size", default=2)

    def mlp(inputs: Dim) -> Module:
        parts = {"0": Linear(inputs, space), "2": Linear(space, space), "3": LayerNorm(space)}
        return Module(f"{_NAME}VisionMLP", parts)

    return Module(
        f"{_NAME}VariableResolutionResamplerModel",
        spatial_linear=mlp(space),
        temporal_linear=mlp(time),
        mlp=Linear(space, out),
        after_norm=RMSNorm(out, class_name=f"{_NAME}RMSNorm"),
        component=Component.PROJECTOR,
        part="projector",
    )


# ---- together


def _alike(c: ModelConfig, key: str) -> int | None:
    """A number, or one for each set of experts, all equal."""
    if not c.has(key):
        return None
    found = c.dims(key, minimum=0)
    if len({int(number) for number in found}) != 1:
        raise c.error(key, c.raw(key), "the same for both sets of experts")
    return int(found[0])


def _sections(c: ModelConfig) -> tuple[ModelConfig, ModelConfig]:
    """The decoder's config and the tower's, in the words of transformers."""
    vision = c.section("vision_config")
    if c.has("text_config") or not c.has("hidden_size"):
        return c.section("text_config"), vision
    values, tower = dict(c.values), dict(vision.values)
    values["moe_num_experts"] = _alike(c, "moe_num_experts")
    first = _alike(c, "moe_layer_start_index")
    if first is not None:
        count = int(c.count("num_hidden_layers", default=28))
        values["mlp_layer_types"] = ["dense" if i < first else "sparse" for i in range(count)]
    if vision.has("embed_dim"):
        tower["hidden_size"] = vision.raw("embed_dim")
    width = vision.dim("embed_dim", "hidden_size", default=1280)
    tower["intermediate_size"] = int(scaled(vision, width, "mlp_ratio", default=4))
    return ModelConfig(values, c.path), ModelConfig(tower, vision.path)


def base(c: ModelConfig) -> Module:
    """Files keep the decoder's parts next to the tower, as if there were no towers."""
    text, vision = _sections(c)
    return Module(
        f"{_NAME}Model",
        {
            **decoder(text),
            "vision_model": vision_model(vision),
            "resampler_model": resampler(vision, _hidden(text)),
        },
    )


def generation(c: ModelConfig) -> Module:
    text, _ = _sections(c)
    head = to_words(
        _hidden(text),
        text.dim("vocab_size", default=103424),
        "model.embed_tokens.weight" if c.tied() else None,
    )
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register(
    ("ernie4_5_vl_moe", "ernie4_5_moe_vl"),
    {
        f"{_NAME}ForConditionalGeneration": generation,
        f"{_NAME}Model": base,
        "Ernie4_5_VL_MoeForConditionalGeneration": generation,
        "Ernie4_5_VL_MoeModel": base,
    },
    base_prefix="model",
    aliases={
        "model.language_model.": "model.",
        "model.vision_tower.": "model.vision_model.",
        "vision_model.": "model.vision_model.",
    },
    category="multimodal",
)
# Each class has an older name too, which transformers goes on to know.
register(
    "ernie4_5_vl_moe_text",
    {f"{_NAME}TextModel": text_alone, "Ernie4_5_VL_MoeTextModel": text_alone},
    category="text decoder",
)
register(
    "ernie4_5_vl_moe_vision",
    {
        f"{_NAME}VisionTransformerPretrainedModel": vision_model,
        "Ernie4_5_VL_MoeVisionTransformerPretrainedModel": vision_model,
    },
    category="vision",
)
