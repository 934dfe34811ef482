"""Kandinsky6Transformer3DModel: video and its sound from text, two streams with widths of their own
(Kandinsky 6). Source of shapes: diffusers/models/transformers/transformer_kandinsky6.py."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..layers.diffusion import feed_forward, timestep_embedding
from ..trees import Component, Dim, ModelConfig, exact, register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm


class _Kandinsky6Stream(NamedTuple):
    width: Dim
    time: Dim
    inner: Dim
    head: Dim

    def modulation(self, width: Dim) -> Module:
        """So many numbers from the time."""
        parts = {"activation": Activation("SiLU"), "out_layer": Linear(self.time, width)}
        return Module("Kandinsky6Modulation", parts, component=Component.OTHER)

    def attention(self, context: Dim | None = None) -> Module:
        width = self.width
        source = context or self.width
        inward = {"query": width, "key": source, "value": source}
        parts = {f"to_{kind}": Linear(size, width, kind=kind) for kind, size in inward.items()}
        parts |= dict.fromkeys(("query_norm", "key_norm"), RMSNorm(self.head))
        parts["out_layer"] = Linear(width, width, kind="output")
        return Module("Kandinsky6Attention", {**parts}, component=Component.ATTENTION)

    def norm(self) -> Module:
        return LayerNorm(self.width, weight=False)

    def block(self, kind: str, at: str, *attentions: str) -> Module:
        """A norm before each attention and the MLP; three vectors of the time for each of them."""
        layers = {name: self.attention() for name in attentions}
        layers["feed_forward"] = feed_forward(self.width, gated=False, inner=self.inner, bias=False)
        parts = {f"{at}_modulation": self.modulation(3 * len(layers) * self.width)}
        for name, part in layers.items():
            parts |= {f"{name}_norm": self.norm(), name: part}
        return Module(f"Kandinsky6Transformer{kind}Block", parts)

    def out_layer(self, channels: int, ending: str = "") -> Module:
        parts = {"modulation": self.modulation(2 * self.width), "norm": self.norm()}
        parts["out_layer"] = Linear(self.width, channels)
        return Module(f"Kandinsky6OutLayer{ending}", parts, component=Component.OTHER)


def _streams(c: ModelConfig) -> Sequence[_Kandinsky6Stream]:
    """Of video, and of sound: its sizes are those of video where the config says none, or 0."""
    sizes = {"model_dim": 4096, "time_dim": 1024, "ff_dim": 16384}
    axes = (32, 48, 48)
    streams = list[_Kandinsky6Stream]()
    heads = c.dims("axes_dims", default=axes)
    for end, dims in (("", heads), ("_a", c.dims("axes_dims_a", default=()) or heads)):
        own_sizes = [c.optional_dim(f"{key}_a", minimum=0) if end else None for key in sizes]
        both = zip(own_sizes, sizes.items(), strict=True)
        width, time, inner = (size or c.dim(key, default=usual) for size, (key, usual) in both)
        streams.append(_Kandinsky6Stream(width, time, inner, sum(dims, exact(0))))
        c.divided(width, streams[-1].head, f"model_dim{end}", f"axes_dims{end}")
        c.divided(width, 2, f"model_dim{end}", f"model_dim{end}")
    return streams


def _embedded(inputs: Dim, width: Dim) -> Module:
    parts = {"in_layer": Linear(inputs, width), "norm": LayerNorm(width)}
    return Module("Kandinsky6TextEmbeddings", parts, component=Component.EMBEDDING)


def model(c: ModelConfig) -> Module:
    streams = dict(zip(("video", "audio"), _streams(c), strict=True))
    video, sound = streams.values()
    # Both look at each other behind a norm and three vectors of the time; or with gates of their
    # own for what comes from the other.
    gates = c.flag("cross_gates", default=False)
    looks = ("self_attention", "cross_attention")
    blocks = {name: stream.block("Decoder", "visual", *looks) for name, stream in streams.items()}
    fused = {f"{name}_dec_block": block for name, block in blocks.items()}
    ways = {"va": (video, sound), "av": (sound, video)}
    for at, (reader, context) in ways.items():
        fused[f"{at}_cross_attention"] = reader.attention(context.width)
    for at, (reader, context) in ways.items():
        width = 2 * reader.width + context.width if gates else 3 * reader.width
        fused[f"{at}_modulation"] = reader.modulation(width)
    fused |= {f"{at}_normalization": stream.norm() for at, (stream, _) in ways.items()}
    patch = prod(c.dims("patch_size", default=(1, 2, 2)))
    channels = c.dim("in_visual_dim", default=16)
    channels = 2 * channels + 1 if c.flag("visual_cond", default=True) else channels
    kinds = c.count("visual_token_type_num_embeddings", default=0)
    into = Linear(patch * channels, video.width, component=Component.EMBEDDING, kind="patch")
    children: dict[str, Module | None] = {
        "visual_embeddings": Module("Kandinsky6VisualEmbeddings", in_layer=into),
        "visual_token_type_embeddings": Embedding(kinds, video.width) if kinds else None,
        "out_layer": video.out_layer(patch * c.dim("out_visual_dim", default=16)),
        "audio_embeddings": _embedded(c.dim("in_audio_dim", default=20), sound.width),
        "audio_out_layer": sound.out_layer(c.dim("out_audio_dim", default=20), "Audio"),
    }
    text = c.dim("in_text_dim", default=3584)
    pooled = c.dim("in_text_dim2", default=768)
    count = c.count("num_text_blocks", default=4)
    for name, stream in streams.items():
        times = timestep_embedding(stream.width, stream.time)
        block = stream.block("Encoder", "text", "attn")
        children |= {
            f"{name}_time_embeddings": Module("Kandinsky6TimeEmbeddings", timestep_embedder=times),
            f"{name}_text_embeddings": _embedded(text, stream.width),
            f"{name}_pooled_text_embeddings": _embedded(pooled, stream.time),
            f"{name}_text_transformer_blocks": Layers.of(count, block),
        }
    block = Module("Kandinsky6FusedTransformerDecoderBlock", fused)
    count = c.count("num_visual_blocks", default=60)
    children["visual_transformer_blocks"] = Layers.of(count, block)
    return Module("Kandinsky6Transformer3DModel", children, part="vision")


register((), {"Kandinsky6Transformer3DModel": model}, category="diffusion", source="diffusers")
