"""Images of which each takes the same number of tokens, whatever its size: the processor brings all
to one square, and the model pools it to a fixed length."""

from __future__ import annotations

from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings
from .rule import ImagesOnly, ItemTokens, NoSounds, not_judged, takes_no


class Gemma3(ImagesOnly):
    """Gemma 3: pooled soft tokens between two markers, an empty line before and after."""

    types: ClassVar[tuple[str, ...]] = ("gemma3", "shieldgemma2", "t5gemma2")
    source: ClassVar = "models/gemma3/processing_gemma3.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.part("image").flag("do_pan_and_scan"):
            not_judged("images with do_pan_and_scan", settings)
        tokens = settings.own.count("image_seq_length")
        return ItemTokens(tokens + 4, (f"{tokens:,} soft tokens of any size", *_AROUND))


_AROUND = ("2 markers and 2 empty lines",)


class Gemma3n(Gemma3):
    """Gemma 3n: images as in Gemma 3; each sound is padded to the same length too."""

    types: ClassVar[tuple[str, ...]] = ("gemma3n",)
    source: ClassVar = "models/gemma3n/processing_gemma3n.py"

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("audio")
        tokens = settings.own.count("audio_seq_length")
        return ItemTokens(tokens + 4, (f"{tokens:,} soft tokens of any length", *_AROUND))


class ImageSequence(ImagesOnly):
    """PaliGemma: the tokens are a setting of the image processor."""

    types: ClassVar[tuple[str, ...]] = ("paligemma", "colpali", "florence2", "pi0")
    source: ClassVar = "models/paligemma/processing_paligemma.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tokens = settings.part("image").count("image_seq_length")
        return ItemTokens(tokens, (f"{tokens:,} tokens of any size",))


class OwnNumber(ImagesOnly):
    """DeepSeek-VL: the processor's own number."""

    types: ClassVar[tuple[str, ...]] = ("deepseek_vl", "deepseek_vl_hybrid")
    source: ClassVar = "models/deepseek_vl/processing_deepseek_vl.py"
    markers: ClassVar = 0
    fixed: ClassVar = 0
    key: ClassVar = "num_image_tokens"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("image")
        tokens = self.fixed or settings.own.count(self.key)
        around = f", {self.markers} markers" if self.markers else ""
        return ItemTokens(tokens + self.markers, (f"{tokens:,} tokens of any size{around}",))


class Chameleon(OwnNumber):
    """Chameleon: the codes of its image tokenizer, between two markers."""

    types: ClassVar[tuple[str, ...]] = ("chameleon",)
    source: ClassVar = "models/chameleon/processing_chameleon.py"
    markers: ClassVar = 2
    key: ClassVar = "image_seq_length"


class Janus(OwnNumber):
    """Janus: the same between two markers."""

    types: ClassVar[tuple[str, ...]] = ("janus",)
    source: ClassVar = "models/janus/processing_janus.py"
    markers: ClassVar = 2
    fixed: ClassVar = 576


class Kosmos2(OwnNumber):
    """Kosmos-2: 64 between two markers."""

    types: ClassVar[tuple[str, ...]] = ("kosmos-2",)
    source: ClassVar = "models/kosmos2/processing_kosmos2.py"
    markers: ClassVar = 2
    fixed: ClassVar = 64


class Kosmos25(OwnNumber):
    """Kosmos-2.5: the processor's own number between two markers."""

    types: ClassVar[tuple[str, ...]] = ("kosmos-2.5",)
    source: ClassVar = "models/kosmos2_5/processing_kosmos2_5.py"
    markers: ClassVar = 2


class Queries(ImagesOnly):
    """BLIP-2: as many tokens as the Q-Former has queries."""

    types: ClassVar[tuple[str, ...]] = ("blip-2", "instructblip")
    source: ClassVar = "models/blip_2/processing_blip_2.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("image")
        tokens = _queries(settings)
        return ItemTokens(tokens, (f"{tokens:,} queries, for an image of any size",))


def _queries(settings: ProcessorSettings) -> int:
    own = settings.own
    return (own if own.says("num_query_tokens") else settings.section()).count("num_query_tokens")


class FourFrames(NoSounds):
    """InstructBLIP for videos: the queries of four frames, which is what it was trained with."""

    types: ClassVar[tuple[str, ...]] = ("instructblipvideo",)
    source: ClassVar = "models/instructblipvideo/processing_instructblipvideo.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("image", settings)

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("video")
        tokens = _queries(settings)
        return ItemTokens(4 * tokens, (f"{tokens:,} queries a frame, always 4 frames",))


class Idefics2(ImagesOnly):
    """Idefics 2: a resampled image between two markers; where it is split, four quarters and the
    whole, each with a marker between."""

    types: ClassVar[tuple[str, ...]] = ("idefics2",)
    source: ClassVar = "models/idefics2/processing_idefics2.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        split = settings.part("image").flag("do_image_splitting")
        tokens = settings.own.optional("image_seq_len", 64, least=1)
        parts = 5 if split else 1
        return ItemTokens(
            parts * tokens + parts + 1,
            (
                f"{'quarters and the whole' if split else '1 image'}: {parts} x {tokens:,} tokens",
                f"{parts + 1} markers around them",
            ),
        )


class Git(NoSounds):
    """GIT: the patches of a square and a class token, which the model itself puts before the text
    (compared with its cache)."""

    types: ClassVar[tuple[str, ...]] = ("git",)
    source: ClassVar = "models/git/modeling_git.py"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("image")
        vision = settings.section("vision_config")
        side = vision.optional("image_size", 224, least=1)
        patch = vision.optional("patch_size", 16, least=1)
        across = side // patch
        return ItemTokens(
            across * across + 1, (f"{across} x {across} patches of {patch} pixels, a class token",)
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        not_judged("video", settings)
