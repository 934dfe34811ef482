"""VideoMAE (Tong et al. 2022). Source of shapes: transformers/models/videomae/modeling_videomae.py.
A ViT over tubes of patches, with biases on queries and values only, apart from their matrices; for
pretraining a narrower one that paints the masked tubes. Positions are fixed waves and not saved."""

from ..layers.blocks import size
from ..layers.vision import google_attention, google_layer, labels_classifier, pair, register_seeing
from ..trees import Component, Conv, Dim, LayerNorm, Layers, Linear, ModelConfig, Module, Weight

_NAME = "VideoMAE"
_TABLE = Component.EMBEDDING
_hidden = size("hidden_size", default=768)


def _layers(c: ModelConfig, h: Dim, at: str, *, deep: int, heads: int, inner: int) -> Layers:
    """The numbers are defaults of the keys that begin with ``at``."""
    c.divided(h, c.dim(at + (key := "num_attention_heads"), default=heads), "hidden_size", key)
    look = google_attention(_NAME, h, qkv_bias=False)
    if c.flag("qkv_bias", "qv_bias", default=True):
        biases = {"q_bias": Weight(h, kind="query"), "v_bias": Weight(h, kind="value")}
        look.inside("attention").adding(**biases)
    layer = google_layer(c, _NAME, h, look, inner=c.dim(f"{at}intermediate_size", default=inner))
    return Layers.of(c.count(f"{at}num_hidden_layers", default=deep), layer)


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    channels = c.dim("num_channels", default=3)
    tube = (c.dim("tubelet_size", default=2), *pair(c, "patch_size", default=16))
    patches = Conv(channels, h, tube, dims=3, stride=tube, component=_TABLE, kind="patch")
    patches = Module(f"{_NAME}PatchEmbeddings", projection=patches)
    mean = c.flag("use_mean_pooling", default=True)
    eps = c.number("layer_norm_eps", default=1e-12)
    layers = _layers(c, h, "", deep=12, heads=12, inner=3072)
    embeddings = Module(f"{_NAME}Embeddings", patch_embeddings=patches, component=_TABLE)
    parts = {"embeddings": embeddings, "encoder": Module(f"{_NAME}Encoder", layer=layers)}
    norm = None if mean else LayerNorm(h, eps=eps)
    return Module(f"{_NAME}Model", parts, layernorm=norm, part="vision")


def pretraining(c: ModelConfig) -> Module:
    h = c.dim("decoder_hidden_size", default=384)
    patch = c.dim("patch_size", default=16)
    pixels = c.dim("num_channels", default=3) * c.dim("tubelet_size", default=2) * patch * patch
    layers = _layers(c, h, "decoder_", deep=4, heads=6, inner=1536)
    head = Linear(h, pixels, component=Component.HEAD)
    narrowed = Linear(_hidden(c), h, bias=False, component=Component.PROJECTOR)
    parts = {"videomae": model(c), "encoder_to_decoder": narrowed}
    mask = Weight(1, 1, h, component=_TABLE, kind="mask_token")
    decoder = Module(f"{_NAME}Decoder", decoder_layers=layers, norm=LayerNorm(h), head=head)
    return Module(f"{_NAME}ForPreTraining", parts, mask_token=mask, decoder=decoder, part="vision")


def _mean_norm(c: ModelConfig) -> Module | None:
    return LayerNorm(_hidden(c)) if c.flag("use_mean_pooling", default=True) else None


_LABELS = {"fc_norm": _mean_norm, "classifier": lambda c: labels_classifier(c, _hidden(c))}
register_seeing(
    "videomae", _NAME, model, ForVideoClassification=_LABELS, ForPreTraining=pretraining
)
