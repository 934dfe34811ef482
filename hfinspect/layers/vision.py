"""What vision families share: pairs of sizes, patches, and two transformer layers.

``google_layer`` is the layer of the ViT family as its files spell it (attention.attention.query,
intermediate.dense, output.dense); ``clip_layers`` are those of the CLIP family (self_attn.q_proj,
mlp.fc1).  Sources: transformers/models/vit/modeling_vit.py with its renaming in
transformers/conversion_mapping.py, transformers/models/clip/modeling_clip.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ..core.config import MAX_COUNT
from ..trees import Builder, Component, Dim, ModelConfig, named, register
from ..trees import modules as nn
from ..trees.backbone_stages import MAX_STAGES
from .blocks import activation
from .composing import Form, composed
from .heads import classifier

Pair = tuple[Dim, Dim]

#: A hundred times any real expansion ratio.
MAX_RATIO = 1000


def pair(c: ModelConfig, *keys: str, default: int | Sequence[int]) -> Pair:
    """Height and width; a single number stands for both."""
    value = c.raw(*keys)
    if not isinstance(default if value is None else value, (list, tuple)):
        size = c.dim(*keys, default=default)
        return size, size
    sizes = c.dims(*keys, default=None if isinstance(default, int) else default)
    if len(sizes) not in (1, 2):
        raise c.error(keys[0], value, "one size or two")
    return sizes[0], sizes[-1]


def ratio_of(c: ModelConfig, key: str, *, default: float) -> float:
    """The ratio under ``key``. Raises ConfigError for none that a model can have."""
    ratio = float(c.number(key, default=default))
    if not 0 < ratio <= MAX_RATIO:
        raise c.error(key, ratio, f"above 0 and at most {MAX_RATIO:,}")
    return ratio


def multiple(size: float, divisor: int, least: int | None = None) -> int:
    """The nearest multiple of ``divisor`` (of two the greater) that is not more than a tenth below
    the size, and ``least``, or once the divisor, at least. Source: make_divisible of MobileNet."""
    rounded = max(least or divisor, int(size + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * size else rounded


def scaled(c: ModelConfig, size: Dim, key: str, *, default: float) -> Dim:
    """``int(size * ratio)`` with the ratio under ``key``; a whole ratio stays a product."""
    ratio = ratio_of(c, key, default=default)
    if ratio.is_integer():
        return size * c.dim(key, default=int(default))
    return named(
        int(int(size) * ratio), f"int({key} * size)", f"{key} = {ratio:g} times {int(size)}"
    )


def stage_depths(c: ModelConfig, default: Sequence[int]) -> tuple[Dim, ...]:
    """``depths``: how many layers each stage has, for one stage at least."""
    return c.dims("depths", default=default, minimum=0, maximum=MAX_COUNT, least=1, most=MAX_STAGES)


def patch_count(image: Pair, patch: Pair) -> Dim:
    """How many patches of a size cover an image: ⌊H/h⌋ · ⌊W/w⌋."""
    if image[0] is image[1] and patch[0] is patch[1]:
        side = image[0] // patch[0]
        return side * side
    return (image[0] // patch[0]) * (image[1] // patch[1])


def patch_conv(channels: int, hidden: int, patch: Pair, *, bias: bool = True) -> nn.Module:
    """The convolution that turns a patch into a vector: C·h·w·H weights."""
    at = Component.EMBEDDING
    return nn.Conv(channels, hidden, patch, stride=patch, bias=bias, component=at, kind="patch")


def image_patches(
    c: ModelConfig, hidden: int, patch: int = 16, *, bias: bool = True
) -> tuple[nn.Module, Dim]:
    """What turns patches into vectors, and how many an image has; ``patch`` is a default."""
    size = pair(c, "patch_size", default=patch)
    conv = patch_conv(c.dim("num_channels", default=3), hidden, size, bias=bias)
    return conv, patch_count(pair(c, "image_size", default=224), size)


def labels_classifier(c: ModelConfig, hidden: int) -> nn.Module:
    """``nn.Linear`` to the labels, ``nn.Identity`` where there are none."""
    labels = c.num_labels if c.has("id2label") else c.dim("num_labels", default=2, minimum=0)
    return classifier(hidden, labels) if labels else nn.Activation("Identity")


def uneven_width(c: ModelConfig, hidden: Dim, heads: Dim) -> Dim:
    """heads · head_dim, the hidden size as a rule: what does not divide is left over."""
    if hidden % heads == 0 and not c.has("head_dim"):
        return hidden
    return heads * c.dim("head_dim", default=hidden // heads)


def google_attention(
    name: str,
    hidden: int,
    *,
    qkv_bias: bool,
    key_bias: bool | None = None,
    width: int | None = None,
) -> nn.Module:
    """attention.{query,key,value} and output.dense, as BERT nests them."""
    inner = hidden if width is None else width
    key = qkv_bias if key_bias is None else key_bias
    biases = {"query": qkv_bias, "key": key, "value": qkv_bias}
    looks = {at: nn.Linear(hidden, inner, bias=bias, kind=at) for at, bias in biases.items()}
    out = nn.Module(f"{name}SelfOutput", dense=nn.Linear(inner, hidden, kind="output"))
    parts = {"attention": nn.Module(f"{name}SelfAttention", looks), "output": out}
    return nn.Module(f"{name}Attention", parts, component=Component.ATTENTION)


def google_layer(
    c: ModelConfig, name: str, hidden: int, attention: nn.Module, *, inner: int | None = None
) -> nn.Module:
    """Pre-norm ``attention`` and MLP: 2·H·I weights in the latter."""
    wide = c.dim("intermediate_size", default=3072) if inner is None else inner
    norm = nn.LayerNorm(hidden, eps=c.number("layer_norm_eps", default=1e-12))
    up = nn.Linear(hidden, wide, kind="up")
    act = activation(c.text("hidden_act", default="gelu"))
    first = nn.Module(f"{name}Intermediate", dense=up, intermediate_act_fn=act)
    last = nn.Module(f"{name}Output", dense=nn.Linear(wide, hidden, kind="down"))
    first.component = last.component = Component.MLP
    parts = {"attention": attention, "intermediate": first, "output": last}
    return nn.Module(f"{name}Layer", parts, layernorm_before=norm, layernorm_after=norm)


def google_embeddings(
    c: ModelConfig, name: str, hidden: Dim, *, masked: bool = False, placed: bool = True
) -> nn.Module:
    """A class token, a vector in place of hidden patches where ``masked``, positions where
    ``placed``, and patches."""
    patches, count = image_patches(c, hidden)
    return nn.Module(
        f"{name}Embeddings",
        cls_token=nn.Weight(1, 1, hidden, kind="class_token"),
        mask_token=nn.Weight(1, 1, hidden, kind="mask_token") if masked else None,
        position_embeddings=nn.Weight(1, count + 1, hidden, kind="position") if placed else None,
        patch_embeddings=nn.Module(f"{name}PatchEmbeddings", projection=patches),
        dropout=nn.Dropout(c.number("hidden_dropout_prob", default=0.0)),
        component=Component.EMBEDDING,
    )


def pixel_decoder(c: ModelConfig, hidden: Dim, default: int = 16) -> nn.Module:
    """Every pixel of a patch from its vector: a 1x1 convolution of H·s²·C weights, and a shuffle;
    ``default`` is the config class's encoder_stride."""
    stride = c.dim("encoder_stride", default=default)
    pixels = stride * stride * c.dim("num_channels", default=3)
    conv = nn.Conv(hidden, pixels, 1, component=Component.HEAD)
    return nn.Sequential(conv, nn.Activation("PixelShuffle"), component=Component.HEAD)


def window_layer(
    c: ModelConfig, name: str, width: Dim, attention: nn.Module, *, ratio: float = 4.0
) -> nn.Module:
    """Swin's layer around the ``attention`` within its windows, each part in the order of its
    class; ``ratio`` is the default of mlp_ratio. W² of the output and 2·r·W² of the MLP."""
    output = nn.Module(f"{name}SelfOutput", dense=nn.Linear(width, width, kind="output"))
    parts = {"self": attention, "output": output}
    looking = nn.Module(f"{name}Attention", parts, component=Component.ATTENTION)
    inner = scaled(c, width, "mlp_ratio", default=ratio)
    layer = google_layer(c.with_defaults(layer_norm_eps=1e-5), name, width, looking, inner=inner)
    order = "layernorm_before", "attention", "layernorm_after", "intermediate", "output"
    layer.children = {part: layer[part] for part in order}
    return layer


def clip_attention(
    name: str,
    hidden: int,
    *,
    bias: bool = True,
    key_bias: bool | None = None,
    out: str = "out_proj",
) -> nn.Module:
    """k, v, q and output projections, H² each; Whisper's kin have no ``key_bias``."""
    kinds = {"k_proj": "key", "v_proj": "value", "q_proj": "query", out: "output"}
    linears = {at: nn.Linear(hidden, hidden, bias=bias, kind=kind) for at, kind in kinds.items()}
    if key_bias is not None:
        linears["k_proj"] = nn.Linear(hidden, hidden, bias=key_bias, kind="key")
    return nn.Module(name, linears, component=Component.ATTENTION)


def multihead_attention(hidden: int) -> nn.Module:
    """torch.nn.MultiheadAttention: in_proj_weight (3·H, H) and out_proj."""
    out = nn.Linear(hidden, hidden, kind="output", class_name="NonDynamicallyQuantizableLinear")
    looks = {"in_proj_weight": nn.Weight(3 * hidden, hidden, kind="qkv")}
    looks["in_proj_bias"] = nn.Weight(3 * hidden, kind="qkv")
    return nn.Module("MultiheadAttention", looks, out_proj=out, component=Component.ATTENTION)


def narrowed_attention(
    name: str,
    hidden: int,
    inner: int | None = None,
    *,
    context: int | None = None,
    bias: bool = True,
    out: str = "o_proj",
) -> nn.Module:
    """Query, key, value and output, ``inner`` wide between them (None: as wide as the hidden size);
    keys and values of a ``context`` where that has another width: 2·H·I + 2·S·I weights."""
    width = hidden if inner is None else inner
    looked = hidden if context is None else context
    to = partial(nn.Linear, bias=bias)
    looks = {"q_proj": to(hidden, width, kind="query"), "k_proj": to(looked, width, kind="key")}
    looks |= {"v_proj": to(looked, width, kind="value"), out: to(width, hidden, kind="output")}
    return nn.Module(name, looks, component=Component.ATTENTION)


def plain_mlp(
    name: str, hidden: int, inner: int, *, act: str | None, bias: bool = True
) -> nn.Module:
    """fc2(act(fc1(x))): 2·H·I weights."""
    to = partial(nn.Linear, bias=bias)
    both = {"fc1": to(hidden, inner, kind="up"), "fc2": to(inner, hidden, kind="down")}
    parts = {"activation_fn": activation(act), **both}
    return nn.Module(name, parts, component=Component.MLP)


def clip_layers(
    name: str,
    c: ModelConfig,
    width: Dim,
    *,
    inner: int,
    act: str,
    deep: int = 12,
    heads: int = 12,
    attention: nn.Module | None = None,
) -> nn.Module:
    """Pre-norm attention and MLP of the CLIP family, with the sizes of the config; the numbers and
    ``act`` are defaults; ``name`` as in CLIPEncoderLayer -> CLIP."""
    c.divided(width, c.dim(key := "num_attention_heads", default=heads), "hidden_size", key)
    wide = c.dim("intermediate_size", default=inner)
    chosen = c.text("hidden_act", default=act)
    norm = nn.LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5))
    layer = nn.Module(
        f"{name}EncoderLayer",
        self_attn=attention or clip_attention(f"{name}Attention", width),
        layer_norm1=norm,
        mlp=plain_mlp(f"{name}MLP", width, wide, act=chosen),
        layer_norm2=norm,
    )
    layers = nn.Layers.of(c.count("num_hidden_layers", default=deep), layer)
    return nn.Module(f"{name}Encoder", layers=layers)


def clip_embeddings(
    name: str, c: ModelConfig, width: Dim, patch: int, *, classed: bool = True, old: bool = True
) -> nn.Module:
    """Patches of an image, learned positions and, where ``classed``, a class token, the patches
    then without a bias. ``old``: files may hold the positions 0..n-1 as a tensor."""
    patches, count = image_patches(c, width, patch=patch, bias=not classed)
    positions = count + 1 if classed else count
    return nn.Module(
        f"{name}Embeddings",
        class_embedding=nn.Weight(width, kind="class_token") if classed else None,
        patch_embedding=patches,
        position_embedding=nn.Embedding(positions, width, kind="position"),
        position_ids=nn.Buffer(1, positions, dtype="I64", saved=False) if old else None,
        component=Component.EMBEDDING,
    )


def clip_tower(
    class_name: str, c: ModelConfig, embeddings: nn.Module, encoder: nn.Module
) -> nn.Module:
    """A norm before and after the layers."""
    width = embeddings.tensor("class_embedding").shape[0]
    norm = nn.LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5))
    parts = {"embeddings": embeddings, "pre_layrnorm": norm, "encoder": encoder}
    return nn.Module(class_name, parts, post_layernorm=norm, part="vision")


def text_embeddings(
    name: str, c: ModelConfig, hidden: Dim, *, vocab_size: int = 49408, positions: int = 77
) -> nn.Module:
    """Words and learned positions of a text tower of CLIP's kind; the defaults are CLIP's."""
    count = c.dim("max_position_embeddings", default=positions)
    return nn.Module(
        f"{name}TextEmbeddings",
        token_embedding=nn.Embedding(c.dim("vocab_size", default=vocab_size), hidden),
        position_embedding=nn.Embedding(count, hidden, kind="position"),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=nn.Buffer(1, count, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def register_seeing(model_type: str, name: str, model: Builder, **forms: Builder | Form) -> None:
    """Add a family of images: classes with the endings of ``forms``, of which each keeps the model
    under the model type, and ``{name}Model``."""
    classes: dict[str, Builder | Form] = {
        name + ending: {model_type: model, **form} if isinstance(form, Mapping) else form
        for ending, form in forms.items()
    }
    classes_of = composed({**classes, f"{name}Model": model}, part="vision")
    register(model_type, classes_of, base_prefix=model_type, category="vision")
