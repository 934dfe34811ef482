"""Images of which each takes the same number of tokens, whatever its size: the processor brings all
to one square, and the model pools it to a fixed length."""

from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings
from .rule import ImagesOnly, ItemTokens, NoSounds, counts, not_judged, takes_no


@counts("gemma3 shieldgemma2 t5gemma2", "models/gemma3/processing_gemma3.py")
class Gemma3(ImagesOnly):
    """Gemma 3: pooled soft tokens between two markers, an empty line before and after."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.part("image").flag("do_pan_and_scan"):
            not_judged("images with do_pan_and_scan", settings)
        tokens = settings.root.count("image_seq_length")
        return ItemTokens(tokens + 4, (f"{tokens:,} soft tokens of any size", *_AROUND))


_AROUND = ("2 markers and 2 empty lines",)


@counts("gemma3n", "models/gemma3n/processing_gemma3n.py")
class Gemma3n(Gemma3):
    """Gemma 3n: images as in Gemma 3; each sound is padded to the same length too."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("audio")
        tokens = settings.root.count("audio_seq_length")
        return ItemTokens(tokens + 4, (f"{tokens:,} soft tokens of any length", *_AROUND))


@counts("paligemma colpali florence2 pi0", "models/paligemma/processing_paligemma.py")
class ImageSequence(ImagesOnly):
    """PaliGemma: the tokens are a setting of the image processor."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tokens = settings.part("image").count("image_seq_length")
        return ItemTokens(tokens, (f"{tokens:,} tokens of any size",))


@counts("deepseek_vl deepseek_vl_hybrid", "models/deepseek_vl/processing_deepseek_vl.py")
class OwnNumber(ImagesOnly):
    """DeepSeek-VL: the processor's own number."""

    markers: ClassVar = 0
    fixed: ClassVar = 0
    key: ClassVar = "num_image_tokens"

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("image")
        tokens = self.fixed or settings.root.count(self.key)
        around = f", {self.markers} markers" if self.markers else ""
        return ItemTokens(tokens + self.markers, (f"{tokens:,} tokens of any size{around}",))


@counts("chameleon", "models/chameleon/processing_chameleon.py")
class Chameleon(OwnNumber):
    """Chameleon: the codes of its image tokenizer, between two markers."""

    markers: ClassVar = 2
    key: ClassVar = "image_seq_length"


@counts("janus", "models/janus/processing_janus.py")
class Janus(OwnNumber):
    """Janus: the same between two markers."""

    markers: ClassVar = 2
    fixed: ClassVar = 576


@counts("kosmos-2", "models/kosmos2/processing_kosmos2.py")
class Kosmos2(OwnNumber):
    """Kosmos-2: 64 between two markers."""

    markers: ClassVar = 2
    fixed: ClassVar = 64


@counts("kosmos-2.5", "models/kosmos2_5/processing_kosmos2_5.py")
class Kosmos25(OwnNumber):
    """Kosmos-2.5: the processor's own number between two markers."""

    markers: ClassVar = 2


@counts("blip-2 instructblip", "models/blip_2/processing_blip_2.py")
class Queries(ImagesOnly):
    """BLIP-2: as many tokens as the Q-Former has queries."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("image")
        tokens = _queries(settings)
        return ItemTokens(tokens, (f"{tokens:,} queries, for an image of any size",))


def _queries(settings: ProcessorSettings) -> int:
    root = settings.root
    return (root if root.says("num_query_tokens") else settings.section()).count("num_query_tokens")


@counts("instructblipvideo", "models/instructblipvideo/processing_instructblipvideo.py")
class FourFrames(NoSounds):
    """InstructBLIP for videos: the queries of four frames, which is what it was trained with."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("image", settings)

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        settings.part("video")
        tokens = _queries(settings)
        return ItemTokens(4 * tokens, (f"{tokens:,} queries a frame, always 4 frames",))


@counts("idefics2", "models/idefics2/processing_idefics2.py")
class Idefics2(ImagesOnly):
    """Idefics 2: a resampled image between two markers; where it is split, four quarters and the
    whole, each with a marker between."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        split = settings.part("image").flag("do_image_splitting")
        tokens = settings.root.optional("image_seq_len", 64, least=1)
        parts = 5 if split else 1
        return ItemTokens(
            parts * tokens + parts + 1,
            (
                f"{'quarters and the whole' if split else '1 image'}: {parts} x {tokens:,} tokens",
                f"{parts + 1} markers around them",
            ),
        )


@counts("git", "models/git/modeling_git.py")
class Git(NoSounds):
    """GIT: the patches of a square and a class token, which the model itself puts before the text
    (compared with its cache)."""

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
