"""Molmo 2 (Ai2 2025). Source of shapes: transformers/models/molmo2. Two layers of a ViT, pooled and
projected, and Qwen3's or OLMo 2's decoder. Released configs give the tower (``vit_config``) layers
that nothing reads; their weights stop at the deepest that is read and hold the embedding in two
parts, of ``vocab_size`` and ``additional_vocab_size`` rows, of which transformers 5 saves two
halves: its header is no recording of this family."""

from ..layers.composing import joined, respelled
from ..layers.decoders import Decoder, fused_mlp, grouped, norms_called
from ..layers.multimodal import register_worded, within
from ..layers.vision import pair, patch_count
from ..trees import Component, Dim, Linear, ModelConfig, Module, Weight, builder, config_defaults

_NAME = "Molmo2"
#: transformers' names -> those in files: of the tower and what follows it, of the decoder's layers.
_VISION = {
    "self_attn": "attention",
    "q_proj": "wq",
    "k_proj": "wk",
    "v_proj": "wv",
    "o_proj": "wo",
    "mlp": "feed_forward",
    "fc1": "w1",
    "fc2": "w2",
    "layer_norm1": "attention_norm",
    "layer_norm2": "ffn_norm",
    "gate_proj": "w1",
    "down_proj": "w2",
    "up_proj": "w3",
}
_LAYER = {
    "o_proj": "attn_out",
    "gate_up_proj": "ff_proj",
    "down_proj": "ff_out",
    "activation_fn": "act",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "embed_tokens": "wte",
}
#: Keys of released configs -> those of the tower.
_KEYS = {
    "image_patch_size": "patch_size",
    "image_default_input_size": "image_size",
    "image_num_pos": "num_position_embeddings",
}


def _attention(d: Decoder, c: ModelConfig) -> Module:
    over_all_heads = c.word("qk_norm_type", "qwen3", "olmo") == "olmo"
    bias = c.flag("attention_bias", "qkv_bias", default=False)
    formed = d.like(d.name, whole_norm=over_all_heads, attention_bias=bias)
    return joined(grouped(formed, c), ("q_proj", "k_proj", "v_proj"), "att_proj", "qkv")


TEXT = Decoder(
    _NAME,
    **config_defaults("molmo2"),
    out_bias=False,
    qk_norm=True,
    attention=_attention,
    mlp=fused_mlp,
    rotary=False,
    norm=norms_called(f"{_NAME}RMSNorm", "rms_norm_eps", "layer_norm_eps"),
)


def _text(c: ModelConfig, *, alone: bool = True) -> Module:
    """The decoder with a table in two parts, which are halves of it in a save of it alone."""
    vocab = TEXT.size(c, "vocab_size")
    more = c.dim("additional_vocab_size", default=128, minimum=0)
    first, second = ((vocab + more + 1) // 2, (vocab + more) // 2) if alone else (vocab, more)
    rows = {"embedding": first, "new_embedding": second}
    tables = {name: Weight(n, TEXT.width(c), kind="token") for name, n in rows.items() if n}
    table = Module(f"{_NAME}Embedding", tables, component=Component.EMBEDDING)
    return respelled(TEXT.named(f"{_NAME}TextModel", c), _LAYER).adding(wte=table)


def vision_model(c: ModelConfig) -> Module:
    """The tower (a trace) as files have it."""
    values = {ours: c.values[theirs] for theirs, ours in _KEYS.items() if c.has(theirs)}
    values |= {key: c.values[key] for key in c.values if key not in _KEYS}
    if values.pop("image_size", None) is not None:  # all that it says is how many places there are
        image = pair(c, "image_size", "image_default_input_size", default=378)
        side = c.dim("patch_size", "image_patch_size", default=14)
        values.setdefault("num_position_embeddings", int(patch_count(image, (side, side))))
    tower = builder(f"{_NAME}VisionModel")(ModelConfig(values, c.path))
    layers = respelled(tower, _VISION).inside("layers")
    grid = tower.tensor("positional_embedding")
    return tower.without("layers").adding(
        positional_embedding=Weight(*grid.shape, component=Component.EMBEDDING, kind="position"),
        transformer=Module("Transformer", resblocks=layers),
    )


def adapter(c: ModelConfig, read: int) -> Module:
    """What pools the outputs of ``read`` layers side by side, and projects (a trace of two)."""
    layers = ("vision_feature_layer", "vit_layers")
    values = {key: value for key, value in c.values.items() if key not in layers}
    both = builder(f"{_NAME}Adapter")(ModelConfig(values, c.path))
    both.inside("image_projector").part = "projector"
    count = Dim(read, "vit_layers", definition="number of vit_layers")
    inputs = c.dim("hidden_size", default=1152) * count
    pooling = both.inside("image_pooling_2d")
    for name in ("q_proj", "k_proj", "v_proj"):
        linear = pooling.inside(name)
        rows = linear.tensor().shape[0]
        bias = "bias" in linear.children
        pooling.children[name] = Linear(inputs, rows, bias, kind=linear.kind)
    return respelled(both, _VISION)


def _read(c: ModelConfig) -> tuple[int, ...]:
    """Which layers' outputs are joined; negative ones count from the end."""
    layers = c.raw("vision_feature_layer", "vit_layers")
    if layers is None:
        return (24, 18)
    if not isinstance(layers, list) or not layers or any(type(i) is not int for i in layers):
        raise c.error("vit_layers", layers, "a list of numbers of layers")
    return tuple(layers)


def _model(c: ModelConfig) -> Module:
    """Of a released config (``vit_config``), the layers up to the deepest that is read."""
    text, joins, vision = (c.section(f"{key}_config") for key in ("text", "adapter", "vision"))
    read = _read(joins)
    if c.has("vit_config") and not c.has("vision_config"):
        vision = c.section("vit_config")
        count = int(vision.count("num_hidden_layers", default=25, minimum=1))
        vision = vision.with_values(num_hidden_layers=max(index % count for index in read) + 1)
    tower = {"image_vit": vision_model(vision), **adapter(joins, len(read)).children}
    return Module(
        f"{_NAME}Model",
        transformer=respelled(_text(text, alone=False), {"layers": "blocks", "norm": "ln_f"}),
        vision_backbone=Module(f"{_NAME}VisionBackbone", tower, part="vision"),
    )


register_worded("molmo2", _NAME, _model, head=within("text_config", TEXT.words), alone=_text)
