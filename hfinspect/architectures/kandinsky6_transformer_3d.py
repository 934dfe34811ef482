"""Kandinsky6Transformer3DModel: video and its sound from text (Kandinsky 6).

Source of shapes: diffusers/models/transformers/transformer_kandinsky6.py. A stream of video and one
of sound, each with a width of its own; they look at each other in every block.
"""

from math import prod
from typing import NamedTuple

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.diffusion import feed_forward, timestep_embedding
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm


class _Stream(NamedTuple):
    width: Dim
    time: Dim
    inner: Dim
    head: Dim

    def modulation(self, parts: int, width: Dim | None = None) -> Module:
        """``parts`` vectors from the time, of the stream's width or another."""
        return Module(
            "Kandinsky6Modulation",
            activation=Activation("SiLU"),
            out_layer=Linear(self.time, parts * (width or self.width)),
            component=Component.OTHER,
        )

    def attention(self, context: Dim | None = None) -> Module:
        width, source = self.width, context or self.width
        return Module(
            "Kandinsky6Attention",
            to_query=Linear(width, width, kind="query"),
            to_key=Linear(source, width, kind="key"),
            to_value=Linear(source, width, kind="value"),
            query_norm=RMSNorm(self.head),
            key_norm=RMSNorm(self.head),
            out_layer=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        )

    def norm(self) -> Module:
        return LayerNorm(self.width, weight=False)

    def block(self, kind: str, modulation: str, *attentions: str) -> Module:
        """A norm before each attention and the MLP; three vectors of the time for each of them."""
        class_name = f"Kandinsky6Transformer{kind}Block"
        parts = {f"{modulation}_modulation": self.modulation(3 * len(attentions) + 3)}
        for name in attentions:
            parts |= {f"{name}_norm": self.norm(), name: self.attention()}
        mlp = feed_forward(self.width, gated=False, inner=self.inner, bias=False)
        return Module(class_name, parts, feed_forward_norm=self.norm(), feed_forward=mlp)

    def out_layer(self, channels: int, ending: str = "") -> Module:
        return Module(
            f"Kandinsky6OutLayer{ending}",
            modulation=self.modulation(2),
            norm=self.norm(),
            out_layer=Linear(self.width, channels),
            component=Component.OTHER,
        )


def _streams(c: ModelConfig) -> tuple[_Stream, _Stream]:
    """Of video, and of sound: its sizes are those of video where the config says none, or 0."""
    sizes = {"model_dim": 4096, "time_dim": 1024, "ff_dim": 16384}
    video = [c.dim(key, default=size) for key, size in sizes.items()]
    own = [c.optional_dim(f"{key}_a", minimum=0) for key in sizes]
    sound = [size or video[i] for i, size in enumerate(own)]
    axes = c.dims("axes_dims", default=(32, 48, 48))
    axes_a = c.dims("axes_dims_a", default=()) or axes
    found = [
        _Stream(width, time, inner, sum(dims, exact(0)))
        for (width, time, inner), dims in ((video, axes), (sound, axes_a))
    ]
    for stream, end in zip(found, ("", "_a"), strict=True):
        c.divided(stream.width, stream.head, f"model_dim{end}", f"axes_dims{end}")
        if stream.width % 2:
            raise c.error(f"model_dim{end}", int(stream.width), "an even number")
    return found[0], found[1]


def _fused(c: ModelConfig, video: _Stream, sound: _Stream) -> Module:
    gates = c.flag("cross_gates", default=False)
    looks = ("self_attention", "cross_attention")

    def crossing(own: _Stream, other: _Stream) -> Module:
        return own.modulation(1, 2 * own.width + other.width) if gates else own.modulation(3)

    return Module(
        "Kandinsky6FusedTransformerDecoderBlock",
        video_dec_block=video.block("Decoder", "visual", *looks),
        audio_dec_block=sound.block("Decoder", "visual", *looks),
        va_cross_attention=video.attention(sound.width),
        av_cross_attention=sound.attention(video.width),
        va_modulation=crossing(video, sound),
        av_modulation=crossing(sound, video),
        va_normalization=video.norm(),
        av_normalization=sound.norm(),
    )


def _embedded(inputs: Dim, width: Dim) -> Module:
    return Module(
        "Kandinsky6TextEmbeddings",
        in_layer=Linear(inputs, width),
        norm=LayerNorm(width),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    video, sound = _streams(c)
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
    text, pooled = c.dim("in_text_dim", default=3584), c.dim("in_text_dim2", default=768)
    count = c.count("num_text_blocks", default=4)
    for name, stream in (("video", video), ("audio", sound)):
        times = timestep_embedding(stream.width, stream.time)
        block = stream.block("Encoder", "text", "attn")
        children |= {
            f"{name}_time_embeddings": Module("Kandinsky6TimeEmbeddings", timestep_embedder=times),
            f"{name}_text_embeddings": _embedded(text, stream.width),
            f"{name}_pooled_text_embeddings": _embedded(pooled, stream.time),
            f"{name}_text_transformer_blocks": Layers.of(count, block),
        }
    seen = c.count("num_visual_blocks", default=60)
    children["visual_transformer_blocks"] = Layers.of(seen, _fused(c, video, sound))
    return Module("Kandinsky6Transformer3DModel", children, part="vision")


register((), {"Kandinsky6Transformer3DModel": model}, category="diffusion", source="diffusers")
