"""Processors of several senses whose images have a rule of their own as well."""

import math

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .resizing import within_budget
from .rule import ItemTokens, TokenRule, counts, takes_no
from .sound_frames import samples_of
from .sound_samples import by_samples


@counts("apertus1p5", "models/apertus1p5/processing_apertus1p5.py")
class Apertus(TokenRule):
    """Apertus 1.5: a code for each square of 16 pixels, an end between rows, three markers; the
    height and width that it writes before as text are not counted."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        square = part.count("spatial_factor")
        least = part.inner("size", "min_pixels")
        most = part.inner("size", "max_pixels")
        high, wide = within_budget(image.height, image.width, square, least, most)
        rows = high // square
        columns = wide // square
        if not rows * columns:
            raise UnknownTokensError("the processor would resize the image to nothing")
        return ItemTokens(
            rows * columns + rows - 1 + 3,
            (
                f"resized to {wide:,} x {high:,}: {columns:,} x {rows:,} codes",
                f"{rows - 1:,} ends between rows, 3 markers",
                "without the height and width that stand before it as text",
            ),
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        return by_samples(samples_of(audio, part), part.count("hop_length"), 2)


@counts("inkling_mm_model", "models/inkling/processing_inkling.py")
class Inkling(TokenRule):
    """Inkling: squares of 40 pixels, one column more than the image fills; sounds by 50 ms."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        square = part.inner("size", "height")
        high = image.height
        wide = image.width
        if part.raw("rescale_image_frac") is not None:
            longest = max(high, wide)
            target = longest * part.ratio("rescale_image_frac")
            if part.raw("rescale_image_max_upscaled_long_edge") is not None:
                target = min(
                    target, max(part.count("rescale_image_max_upscaled_long_edge"), longest)
                )
            ratio = target / longest
            high = math.floor(high * ratio + 0.5)
            wide = math.floor(wide * ratio + 0.5)
        rows = -(-high // square)
        columns = wide // square + 1
        return ItemTokens(
            rows * columns,
            (f"{wide:,} x {high:,} in {columns:,} x {rows:,} squares of {square} pixels",),
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        each = round(part.ratio("audio_token_duration_s") * part.count("sampling_rate"))
        return by_samples(samples_of(audio, part), each)


@counts("nemotron_h_omni", "models/nemotron_h_omni/processing_nemotron_h_omni.py")
class NemotronOmni(TokenRule):
    """Nemotron-H Omni: images between two numbers of patches, frames two at a time near one number
    of patches, sounds by their frames; each between two markers."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        merge = _merge(part)
        least = part.count("min_num_patches")
        most = part.optional("max_num_patches", 0)
        budget = max((part.count("max_model_len") - 4) * merge**2, least)
        budget = max(min(budget, most) if most else budget, least)
        rows, columns = _grid(image, part.count("patch_size"), merge, least, budget)
        tokens = rows * columns // merge**2
        return ItemTokens(
            tokens + 2,
            (
                f"{columns:,} x {rows:,} patches, {merge} x {merge} in one: {tokens:,} tokens",
                "2 markers",
            ),
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        rows, columns = _frame_grid(video, part)
        each = rows * columns // _merge(part) ** 2
        step = settings.root.optional("video_temporal_patch_dim", 2, least=1)
        groups = -(-video.frames // step)
        return ItemTokens(
            groups * (each + 2) + groups - 1,
            (
                f"{video.frames:,} frames, {step} at a time: {groups:,} of {each:,} tokens",
                "2 markers around each, and an end of line between",
                "without the frames' numbers that stand before them as text",
            ),
        )

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        root = settings.root
        samples = audio.milliseconds * root.optional("audio_sampling_rate", 16_000, least=1) // 1000
        frames = 1 + samples // root.optional("audio_hop_length", 160, least=1)
        shorter = root.optional("audio_subsampling_factor", 8, least=1)
        tokens = frames
        for _ in range(int(math.log2(shorter))):  # convolutions of kernel 3 and stride 2
            tokens = (tokens - 1) // 2 + 1
        return ItemTokens(
            tokens + 2, (f"{frames:,} spectrogram frames, {shorter} in one: {tokens:,}, 2 markers",)
        )


def _merge(part: SettingsPart) -> int:
    return round(1 / part.ratio("downsample_ratio"))


def _grid(image: ImageItem, patch: int, merge: int, least: int, most: int) -> tuple[int, int]:
    """Rows and columns of patches (``get_patch_grid_size``)."""
    rows = round(image.height / patch + 0.5)
    columns = round(image.width / patch + 0.5)
    factor = min(math.sqrt(most / (rows * columns)), 1.0)
    rows = math.floor(factor * rows)
    columns = math.floor(factor * columns)
    if most > least and rows * columns < least:
        factor = math.sqrt(least / (rows * columns))
        rows = math.ceil(factor * rows)
        columns = math.ceil(factor * columns)
    rows = _multiple(rows, columns, merge, most)
    return rows, _multiple(columns, rows, merge, most)


def _multiple(side: int, other: int, merge: int, most: int) -> int:
    """To a multiple of ``merge``: up where the patches allow it."""
    rest = side % merge
    if not rest:
        return side
    up = side + merge - rest
    return up if up * other <= most else max(merge, side - rest)


def _frame_grid(video: VideoItem, part: SettingsPart) -> tuple[int, int]:
    """Rows and columns of a frame's patches (``_compute_target_patches``)."""
    target = part.count("video_target_num_patches")
    merge = _merge(part)
    if not part.flag("video_maintain_aspect_ratio"):
        side = max(merge, int(math.sqrt(target)) // merge * merge)
        return side, side
    shape = video.width / video.height
    rows = max(round(math.sqrt(target / shape)), 1)
    columns = max(round(math.sqrt(target * shape)), 1)
    up = [side + -side % merge for side in (rows, columns)]
    if merge == 1 or up[0] * up[1] <= target:
        return (rows, columns) if merge == 1 else (up[0], up[1])
    return max(merge, rows - rows % merge), max(merge, columns - columns % merge)
