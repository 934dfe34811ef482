"""Images of any shape in rows of patches, with a token at the end of each row."""

import math
from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .pixel_budget import budget, grid_steps
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .resizing import best_resolution, check_ratio, within_budget
from .rule import ImagesOnly, ItemTokens, NoSounds, TokenRule, counts, marked, not_judged, takes_no


@counts("mistral3 mistral_large4 pixtral", "models/pixtral/processing_pixtral.py")
class Pixtral(ImagesOnly):
    """Pixtral and Mistral 3: shrunk to a longest side, rounded up to whole patches."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        root = settings.root
        patch = root.optional("patch_size", 16, least=1)
        merge = root.optional("spatial_merge_size", 1, least=1)
        longest = settings.part("image").inner("size", "longest_edge")
        rows, columns = _rounded_up(image, longest, patch * merge)
        return ItemTokens(
            rows * (columns + 1),
            (
                (
                    f"at most {longest:,} pixels long: {columns} x {rows} tokens of "
                    f"{patch * merge} pixels"
                ),
                f"{rows} ends of rows",
            ),
        )


def _rounded_up(image: ImageItem, longest: int, step: int) -> tuple[int, int]:
    """Rows and columns of the shrunk image."""
    high = image.height
    wide = image.width
    ratio = max(high / longest, wide / longest)
    if ratio > 1:
        high = math.floor(high / ratio)
        wide = math.floor(wide / ratio)
    return (high - 1) // step + 1, (wide - 1) // step + 1


@counts("lighton_ocr", "models/lighton_ocr/processing_lighton_ocr.py")
class LightOnOcr(ImagesOnly):
    """LightOnOCR: the same without ends of rows."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        root = settings.root
        step = root.count("patch_size") * root.count("spatial_merge_size")
        longest = part.inner("size", "longest_edge")
        patch = part.inner("patch_size", "height")
        rows, columns = (side * patch // step for side in _rounded_up(image, longest, patch))
        tokens = f"at most {longest:,} pixels long: {columns} x {rows} tokens of {step} pixels"
        return ItemTokens(rows * columns, (tokens,))


@counts("inkling2 inkling2_loop", "models/inkling2/image_processing_inkling2.py")
class Inkling2(ImagesOnly):
    """Inkling 2: a token for each square, at the size that the image has."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        high = part.inner("size", "height")
        wide = part.inner("size", "width")
        rows = -(-image.height // high)
        columns = -(-image.width // wide)
        return ItemTokens(rows * columns, (f"{columns:,} x {rows:,} squares of {wide} pixels",))


@counts("emu3", "models/emu3/image_processing_emu3.py")
class Emu3(ImagesOnly):
    """Emu3: the codes of its image tokenizer, a token at the end of each row and four markers."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        least = part.count("min_pixels")
        most = part.count("max_pixels")
        high, wide = within_budget(
            image.height, image.width, part.count("spatial_factor"), least, most
        )
        rows = high // 8
        columns = wide // 8
        step = f"resized to {wide:,} x {high:,}: {columns} x {rows} codes"
        ends = f"{rows} ends of rows, 4 markers, without its size, which is text"
        return ItemTokens(rows * (columns + 1) + 4, (step, ends))


@counts("fuyu", "models/fuyu/processing_fuyu.py")
class Fuyu(ImagesOnly):
    """Fuyu: shrunk into a page of patches, which go to the decoder as they are."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        high = part.inner("size", "height")
        wide = part.inner("size", "width")
        scale = min(high / image.height, wide / image.width)
        shown = (
            min(int(image.height * scale), image.height),
            min(int(image.width * scale), image.width),
        )
        patch_high, patch_wide = (part.inner("patch_size", key) for key in ("height", "width"))
        rows = min(high // patch_high, math.ceil(shown[0] / patch_high))
        columns = min(wide // patch_wide, math.ceil(shown[1] / patch_wide))
        return ItemTokens(
            rows * (columns + 1),
            (f"{columns} x {rows} patches of {patch_wide} pixels", f"{rows} ends of rows"),
        )


@counts("hunyuan_vl", "models/hunyuan_vl/processing_hunyuan_vl.py")
class HunyuanVL(ImagesOnly):
    """HunYuan-VL: Qwen2-VL's budget of pixels, a token at the end of each row, two markers."""

    markers: ClassVar = 2

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch = part.count("patch_size")
        merge = part.count("merge_size")
        high, wide = within_budget(image.height, image.width, patch * merge, *budget(part))
        rows = high // patch // merge
        columns = wide // patch // merge
        markers = self.markers if settings.root.flag("cat_extra_token", default=True) else 0
        return ItemTokens(
            rows * (columns + 1) + markers,
            (
                f"resized to {wide:,} x {high:,}: {columns} x {rows} tokens",
                f"{rows} ends of rows{marked(markers)}",
            ),
        )


@counts("hy_v4_vl", "models/hy_v4_vl/video_processing_hy_v4_vl.py")
class HYV4VL(HunyuanVL):
    """HY-V4-VL: the same without markers; a video is only shrunk, its frames within a budget of
    tokens together."""

    markers: ClassVar = 0

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        check_ratio(video.height, video.width)
        factor = part.count("patch_size") * part.count("merge_size")
        if not part.flag("do_resize", default=True):
            not_judged("videos that are not resized", settings)
        most = part.inner("size", "longest_edge") // factor**2
        each = part.inner("max_image_size", "longest_edge") // factor**2
        rows, columns = _shrunk(video, factor, most // video.frames, each)
        times = -(-video.frames // part.count("temporal_patch_size"))
        shown = f"{columns:,} x {rows:,} tokens a frame, {rows:,} ends of rows, {times:,} times"
        return ItemTokens(times * rows * (columns + 1), (shown,))


def _shrunk(video: VideoItem, factor: int, most: int, each: int) -> tuple[int, int]:
    """The most rows and columns of a frame's shape: ``each`` without ends of rows, and ``most``
    with them."""
    for rows in range(max(1, video.height // factor), 0, -1):
        fewest = 1 if rows == 1 else max(1, video.width * rows // video.height)
        widest = max(1, -(-video.width * (rows + 1) // video.height) - 1)
        widest = min(widest, max(1, video.width // factor), most // rows - 1, each // rows)
        if widest >= fewest:
            return rows, widest
    return 1, 1


@counts("glm_image", "models/glm_image/image_processing_glm_image.py")
class Halved(ImagesOnly):
    """GLM-Image: an image that it changes; each side is halved, within a shortest and a longest."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch = part.count("patch_size")
        merge = part.count("merge_size")
        factor = patch * merge
        sides = (image.height, image.width)
        if min(sides) < factor:
            raise UnknownTokensError(f"the processor refuses a side under {factor:,} pixels")
        check_ratio(*sides, 4)
        shortest, longest = (round(math.sqrt(pixels)) for pixels in budget(part))
        scale = max(1.0, shortest / min(sides))
        if max(sides) * scale > longest:
            scale = longest / max(sides)
        high, wide = (max(factor, round(s // 2 * scale / factor) * factor) for s in sides)
        if max(high, wide) > longest:
            beta = max(high, wide) / longest
            high, wide = (max(factor, int(s / beta / factor) * factor) for s in (high, wide))
        return ItemTokens(*grid_steps(high, wide, patch, merge))


@counts("kimi_k25", "models/kimi_k25/image_processing_kimi_k25.py")
class KimiK25(NoSounds):
    """Kimi K2.5: shrunk to a number of patches and padded, never enlarged; of a video as many
    frames as a patch has are one image."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        return ItemTokens(*self._grid(image.height, image.width, settings.part("image")))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        each, step = self._grid(video.height, video.width, part)
        at_once = part.count("temporal_patch_size")
        times = -(-video.frames // at_once)
        frames = f"{video.frames:,} frames, {at_once} at a time: {times:,} x {each:,}"
        words = "3 markers each, without its time and kind, which are text"
        return ItemTokens(times * (each + 3), (*step, frames, words))

    @staticmethod
    def _grid(height: int, width: int, part: SettingsPart) -> tuple[int, tuple[str, ...]]:
        patch = part.count("patch_size")
        merge = part.count("merge_size")
        limit = part.inner("size", "max_height") * patch
        patches = max(1, height // patch) * max(1, width // patch)
        scale = min(
            1.0, math.sqrt(part.count("max_patches") / patches), limit / height, limit / width
        )
        step = patch * merge
        rows = -(-min(max(1, int(height * scale)), limit) // step)
        columns = -(-min(max(1, int(width * scale)), limit) // step)
        return rows * columns, (f"{columns} x {rows} tokens of {merge} x {merge} patches",)


@counts("aria", "models/aria/processing_aria.py")
class Aria(ImagesOnly):
    """Aria: 128 or 256 tokens a square, one square or as many as the best resolution has; the
    processor passes 980 pixels and no cutting at every call."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        square = part.count("max_image_size")
        each = settings.root.inner("size_conversion", str(square))
        squares = 1
        if part.flag("split_image"):
            best = best_resolution(image.height, image.width, part.pairs("split_resolutions"))
            squares = math.ceil(best[0] / square) * math.ceil(best[1] / square)
        return ItemTokens(squares * each, (f"{squares} squares of {each:,} tokens",))


@counts("phi4_multimodal", "models/phi4_multimodal/image_processing_phi4_multimodal.py")
class Phi4Multimodal(TokenRule):
    """Phi-4 multimodal: tiles of 448 pixels, each row of what the image covers with an end, and the
    whole; sounds by their frames."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        from .resizing import closest_ratio, grids

        part = settings.part("image")
        tile = part.inner("size", "height")
        patch = part.count("patch_size")
        most = part.count("dynamic_hd")
        mask = tile // patch
        columns = math.ceil(image.width / tile)
        rows = math.ceil(image.height / tile)
        if columns * rows > most:
            columns, rows = closest_ratio(image.height, image.width, tile, grids(1, most))
        wide = tile * columns
        high = tile * rows
        across = wide / image.width
        down = high / image.height
        free_wide = free_high = 0
        if across < down:
            free_high = high - int(image.height * across)
        else:
            free_wide = wide - int(image.width * down)
        kept_rows = _every_second(mask, rows, free_high // patch)
        kept_columns = _every_second(mask, columns, free_wide // patch)
        return ItemTokens(
            256 + 1 + kept_rows * kept_columns + kept_rows + 16,
            (
                f"{columns} x {rows} tiles of {tile} pixels: {kept_columns} x {kept_rows} tokens",
                f"{kept_rows} ends of rows",
                "the whole: 256 tokens and 16 ends of rows, 1 separator",
            ),
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("audio")
        samples = audio.milliseconds * part.count("sampling_rate") // 1000
        frames = max((samples - part.count("win_length")) // part.count("hop_length") + 1, 0)
        tokens = -(-frames // part.count("audio_compression_rate"))
        tokens = -(-tokens // part.count("audio_downsample_rate"))
        return ItemTokens(tokens, (f"{frames:,} spectrogram frames: {tokens:,} tokens",))


def _every_second(mask: int, tiles: int, padded: int) -> int:
    """Every second of the patches of each tile, without those at the end that are padding."""
    covered = mask * tiles - padded
    total, rest = divmod(max(covered, 0), mask)
    return total * -(-mask // 2) + -(-rest // 2)
