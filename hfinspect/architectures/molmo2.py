"""Molmo 2 (Ai2 2025). Source of shapes: transformers/models/molmo2; names of files:
transformers/conversion_mapping.py, which reads the released ones.

A ViT of which two layers' outputs are pooled and projected, and Qwen3's or OLMo 2's decoder.
Released configs call the tower ``vit_config`` and give it layers that nothing reads; the weights
stop at the deepest that is read. Their files hold the embedding in two parts, of ``vocab_size``
and ``additional_vocab_size`` rows; transformers 5 saves two halves instead, so its header is no
recording of this family.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_heads, size, two_layer_mlp
from ..layers.composing import respelled
from ..layers.heads import to_words
from ..layers.vision import pair, patch_count
from ..trees.catalog import register_pair, register_part
from ..trees.modules import LayerNorm, Layers, Linear, Module, RMSNorm, Weight

_NAME = "Molmo2"

# ---- text


def _norm(c: ModelConfig, size: Dim) -> Module:
    eps = c.number("rms_norm_eps", "layer_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}RMSNorm")


_hidden = size("hidden_size", default=4096)


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=12288)
    heads = grouped_heads(c, h, heads=32, kv=8, head_dim=128)
    width, kv = heads.query * heads.dim, heads.kv * heads.dim
    form = c.text("qk_norm_type", default="qwen3")
    if form not in ("qwen3", "olmo"):
        raise c.error("qk_norm_type", form, "qwen3 or olmo")
    each = form == "qwen3"
    bias = c.flag("attention_bias", "qkv_bias", default=False)
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=Module(
            f"{_NAME}Attention",
            att_proj=Linear(h, width + 2 * kv, bias=bias, kind="qkv"),
            attn_out=Linear(width, h, bias=False, kind="output"),
            q_norm=_norm(c, heads.dim if each else width),
            k_norm=_norm(c, heads.dim if each else kv),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            f"{_NAME}MLP",
            ff_proj=Linear(h, inner * 2, bias=False, kind="gate_up"),
            ff_out=Linear(inner, h, bias=False, kind="down"),
            act=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ),
        attn_norm=_norm(c, h),
        ff_norm=_norm(c, h),
    )


def text_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    more = c.dim("additional_vocab_size", default=128, minimum=0)
    tables = {"embedding": Weight(c.dim("vocab_size", default=151936), h, kind="token")}
    if more:
        tables["new_embedding"] = Weight(more, h, kind="token")
    return Module(
        f"{_NAME}TextModel",
        wte=Module(f"{_NAME}Embedding", tables, component=Component.EMBEDDING),
        blocks=Layers.of(c.count("num_hidden_layers", default=36), layer(c)),
        ln_f=_norm(c, h),
    )


def text_alone(c: ModelConfig) -> Module:
    """A save of it alone has two halves of the table, whatever was added to the vocabulary."""
    base = respelled(text_model(c), {"blocks": "layers", "ln_f": "norm"})
    more = c.dim("additional_vocab_size", default=128, minimum=0)
    rows, h = c.dim("vocab_size", default=151936) + more, _hidden(c)
    table = base.inside("wte")
    table.children = {
        "embedding": Weight((rows + 1) // 2, h, kind="token"),
        "new_embedding": Weight(rows // 2, h, kind="token"),
    }
    return base


# ---- vision


def _attention(c: ModelConfig, inputs: Dim) -> Module:
    h = c.dim("hidden_size", default=1152)
    heads = grouped_heads(c, h, heads=16, kv=16, head_dim=72)
    width, kv = heads.query * heads.dim, heads.kv * heads.dim
    bias = c.flag("attention_bias", default=True)
    return Module(
        f"{_NAME}VisionAttention",
        wq=Linear(inputs, width, bias=bias, kind="query"),
        wk=Linear(inputs, kv, bias=bias, kind="key"),
        wv=Linear(inputs, kv, bias=bias, kind="value"),
        wo=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def _vision_layer(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=1152), c.dim("intermediate_size", default=4304)
    eps = c.number("layer_norm_eps", default=1e-6)
    return Module(
        f"{_NAME}VisionEncoderLayer",
        attention=_attention(c, h),
        feed_forward=two_layer_mlp(f"{_NAME}VisionMLP", h, inner, names=("w1", "w2")),
        attention_norm=LayerNorm(h, eps=eps),
        ffn_norm=LayerNorm(h, eps=eps),
    )


def vision_model(c: ModelConfig, layers: Dim) -> Module:
    h, side = (
        c.dim("hidden_size", default=1152),
        c.dim("patch_size", "image_patch_size", default=14),
    )
    image = pair(c, "image_size", "image_default_input_size", default=378)
    count = c.dim(
        "num_position_embeddings", "image_num_pos", default=patch_count(image, (side, side))
    )
    pixels = c.dim("num_channels", default=3) * side * side
    return Module(
        f"{_NAME}VisionModel",
        positional_embedding=Weight(count, h, component=Component.EMBEDDING, kind="position"),
        patch_embedding=Linear(pixels, h, component=Component.EMBEDDING, kind="patch"),
        transformer=Module("Transformer", resblocks=Layers.of(layers, _vision_layer(c))),
        part="vision",
    )


def _tower(c: ModelConfig, read: tuple[int, ...]) -> Module:
    """Of a released config (``vit_config``), the layers up to the deepest that is read."""
    released = not c.has("vision_config") and c.has("vit_config")
    vision = c.section("vit_config" if released else "vision_config")
    layers = vision.count("num_hidden_layers", default=25, minimum=1)
    if released:
        layers = Dim(max(index % int(layers) for index in read) + 1, "vit_layers")
    return vision_model(vision, layers)


def _read(c: ModelConfig) -> tuple[int, ...]:
    """Which layers' outputs are joined; negative ones count from the end."""
    found = c.raw("vision_feature_layer", "vit_layers")
    if found is None:
        return (24, 18)
    if not isinstance(found, list) or not found:
        raise c.error("vit_layers", found, "a list of layers")
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in found):
        raise c.error("vit_layers", found, "numbers of layers")
    return tuple(found)


def _backbone(c: ModelConfig) -> Module:
    adapter = c.section("adapter_config")
    h, inner = (
        adapter.dim("hidden_size", default=1152),
        adapter.dim("intermediate_size", default=18944),
    )
    read = _read(adapter)
    joined = h * Dim(len(read), "vit_layers", definition="number of vit_layers")
    bias = adapter.flag("mlp_bias", default=False)
    projector = Module(
        f"{_NAME}ImageProjectorMLP",
        w1=Linear(h, inner, bias=bias),
        w2=Linear(inner, adapter.dim("text_hidden_size", default=3584), bias=False),
        w3=Linear(h, inner, bias=bias),
        component=Component.PROJECTOR,
        part="projector",
    )
    return Module(
        f"{_NAME}VisionBackbone",
        image_vit=_tower(c, read),
        image_pooling_2d=_attention(adapter, joined),
        image_projector=projector,
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}Model",
        transformer=text_model(c.section("text_config")),
        vision_backbone=_backbone(c),
    )


def generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    head = to_words(_hidden(text), text.dim("vocab_size", default=151936))  # fmt: skip
    return Module(f"{_NAME}ForConditionalGeneration", model=model(c), lm_head=head)


register_pair("molmo2", _NAME, generation, model, "multimodal")
register_part("molmo2_text", f"{_NAME}TextModel", text_alone, "text decoder")
