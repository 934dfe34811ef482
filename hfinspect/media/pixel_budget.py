"""Images between a least and a largest number of pixels, cut into patches that are merged: the
Qwen-VL models and those that took over their processor."""

from typing import ClassVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .resizing import closest_grid, frames_within_budget, whole_within_budget, within_budget
from .rule import ItemTokens, NoSounds, TokenRule, counts, takes_no


def budget(part: SettingsPart) -> tuple[int, int]:
    """Least and most pixels: ``size``, over which ``min_pixels`` and ``max_pixels`` of older files
    win (``Qwen2VLImageProcessor.__init__``)."""
    least = part.count("min_pixels") if part.says("min_pixels") else 0
    most = part.count("max_pixels") if part.says("max_pixels") else 0
    return (
        least or part.inner("size", "shortest_edge"),
        most or part.inner("size", "longest_edge"),
    )


def grid_steps(high: int, wide: int, patch: int, merge: int) -> tuple[int, tuple[str, ...]]:
    """Tokens of a picture of so many pixels, and the steps."""
    rows = high // patch
    columns = wide // patch
    tokens = rows * columns // merge**2
    merged = f", {merge} x {merge} merged into one: {tokens:,} tokens" if merge > 1 else ""
    return tokens, (
        f"resized to {wide:,} x {high:,}",
        f"{columns:,} x {rows:,} patches of {patch} pixels{merged}",
    )


@counts(
    "qwen2_vl qwen2_5_vl exaone4_5 hyperclovax_vision_v2 ernie4_5_vl_moe colqwen2",
    "models/qwen2_vl/image_processing_qwen2_vl.py",
)
class PixelBudget(NoSounds):
    """Qwen2-VL: each frame has the budget of an image of its own; two frames are a patch."""

    enlarged: ClassVar = False
    #: Around each step of a video.
    markers: ClassVar = 0

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        patch = part.count("patch_size")
        merge = part.count("merge_size")
        high, wide = within_budget(
            image.height, image.width, patch * merge, *budget(part), enlarged=self.enlarged
        )
        return ItemTokens(*grid_steps(high, wide, patch, merge))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.model_type == "colqwen2":
            takes_no("video", settings)
        part = settings.part("video")
        patch = part.count("patch_size")
        merge = part.count("merge_size")
        high, wide = self.frame_size(video, part, patch * merge)
        return of_frames(video, part, high, wide, self.markers)

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        return within_budget(video.height, video.width, factor, *budget(part))


def of_frames(
    video: VideoItem, part: SettingsPart, high: int, wide: int, markers: int
) -> ItemTokens:
    """Tokens of all frames, ``temporal_patch_size`` of them in one step, with markers around it."""
    patch = part.count("patch_size")
    merge = part.count("merge_size")
    step = part.count("temporal_patch_size")
    times = -(-video.frames // step)
    each, steps = grid_steps(high, wide, patch, merge)
    tokens = times * (high // patch) * (wide // patch) // merge**2
    pairs = f"{video.frames:,} frames, {step} at a time: {times:,} x {each:,} = {tokens:,} tokens"
    if not markers:
        return ItemTokens(tokens, (*steps, pairs))
    around = f"{markers} markers around each, without its time, which is text"
    return ItemTokens(tokens + times * markers, (*steps, pairs, around))


@counts(
    "qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe qwen4_exp cohere_compass lfm3_vl cosmos3_omni",
    "models/qwen3_vl/video_processing_qwen3_vl.py",
)
class FramesShareBudget(PixelBudget):
    """Qwen3-VL: the budget of a video counts the pixels of all frames together; each step of it
    stands between two markers."""

    markers: ClassVar = 2

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        least = part.inner("size", "shortest_edge")
        most = part.inner("size", "longest_edge")
        if part.flag("cap_pixels_per_frame"):
            most_a_frame = part.count("max_video_tokens") * factor * factor
            most = video.frames * max(min(most_a_frame, most // video.frames), int(least * 1.05))
        step = part.count("temporal_patch_size")
        return frames_within_budget(
            video.frames, video.height, video.width, step, factor, least, most
        )


@counts("paddleocr_vl", "models/paddleocr_vl/image_processing_paddleocr_vl.py")
class Enlarged(PixelBudget):
    """PaddleOCR-VL: an image smaller than a merged patch is enlarged first; no videos."""

    enlarged: ClassVar = True

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)


@counts("video_llama_3", "models/video_llama_3/video_processing_video_llama_3.py")
class FramesDivideBudget(PixelBudget):
    """VideoLLaMA 3: the pixels of a video are divided among its frames; a patch that does not
    change is left out, so that the number is that of a video in which all moves."""

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        tokens, steps, _ = super().video(video, settings)
        most = "at most: what does not change from frame to frame is left out"
        return ItemTokens(tokens, (*steps, most, "without the time of each frame, which is text"))

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        least, most = budget(part)
        return within_budget(video.height, video.width, factor, least, most // video.frames or 1)


@counts("minimax_m3_vl", "models/minimax_m3_vl/video_processing_minimax_m3_vl.py")
class NamedBudget(PixelBudget):
    """MiniMax-M3-VL: videos have ``min_pixels`` and ``max_pixels`` of their own; the processor
    passes at every call that they are not resized, and refuses other sides than whole patches."""

    markers: ClassVar = 2

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        tokens, steps, _ = super().image(image, settings)
        return ItemTokens(tokens + 2, (*steps, "2 markers"))

    def frame_size(self, video: VideoItem, part: SettingsPart, factor: int) -> tuple[int, int]:
        if not part.flag("do_resize", default=True):
            if video.height % factor or video.width % factor:
                raise UnknownTokensError(
                    f"the processor resizes no videos: both sides must be multiples of {factor}"
                )
            return video.height, video.width
        least = part.count("min_pixels")
        most = part.count("max_pixels")
        return within_budget(video.height, video.width, factor, least, most)


@counts(
    "glm4v glm4v_moe glm46v glm_ocr glmga cosmos3_edge",
    "models/glm4v/image_processing_glm4v.py",
)
class ImageAsFrames(NoSounds):
    """GLM-4V: an image is a video of as many frames as a patch has; each step of a video stands
    between two markers."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        step = part.count("temporal_patch_size")
        high, wide = self.frame_size(step, image.height, image.width, part)
        return ItemTokens(
            *grid_steps(high, wide, part.count("patch_size"), part.count("merge_size"))
        )

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        high, wide = self.frame_size(video.frames, video.height, video.width, part)
        return of_frames(video, part, high, wide, 2)

    def frame_size(
        self, frames: int, height: int, width: int, part: SettingsPart
    ) -> tuple[int, int]:
        least = part.inner("size", "shortest_edge")
        most = part.inner("size", "longest_edge")
        return frames_within_budget(frames, height, width, *_steps_and_factor(part), least, most)


def _steps_and_factor(part: SettingsPart) -> tuple[int, int]:
    """Frames of a patch, and pixels of a merged patch (``patch_expand_factor`` of them)."""
    factor = part.count("patch_size") * part.count("merge_size")
    return part.count("temporal_patch_size"), factor * part.optional(
        "patch_expand_factor", 1, least=1
    )


@counts("glm5_next", "models/glm5_next/image_processing_glm5_next.py")
class PaddedFrames(ImageAsFrames):
    """GLM-5: the same, padded up to whole patches; its budget is a number of tokens."""

    def frame_size(
        self, frames: int, height: int, width: int, part: SettingsPart
    ) -> tuple[int, int]:
        step, factor = _steps_and_factor(part)
        each = step * factor**2
        least = part.count("min_image_tokens")
        most = part.count("max_image_tokens")
        return whole_within_budget(frames, height, width, step, factor, least * each, most * each)


@counts("muse_glimmer muse_spark", "models/muse_glimmer/image_processing_muse_glimmer.py")
class Muse(TokenRule):
    """Muse: the grid of patches nearest to the image's shape, between two markers; of a video a
    marker after each step and one before the first; sounds by their samples."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("image")
        each, step = self._grid(image.height, image.width, part, part.count("max_image_tokens"))
        return ItemTokens(each + 2, (step, "2 markers"))

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        part = settings.part("video")
        most = part.count("max_video_frame_tokens")
        at_once = part.count("temporal_patch_size")
        each, step = self._grid(video.height, video.width, part, most)
        times = -(-video.frames // at_once)
        frames = f"{video.frames:,} frames, {at_once} at a time: {times:,} x {each:,}"
        markers = f"{times + 1:,} markers, without the time of each step, which is text"
        return ItemTokens(times * (each + 1) + 1, (step, frames, markers))

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        if settings.model_type != "muse_spark":
            takes_no("audio", settings)
        part = settings.part("audio")
        samples = audio.milliseconds * part.count("sampling_rate") // 1000
        each = part.count("samples_per_token")
        return ItemTokens(-(-samples // each) + 2, (f"{each:,} samples a token, 2 markers",))

    @staticmethod
    def _grid(height: int, width: int, part: SettingsPart, most: int) -> tuple[int, str]:
        patch = part.count("patch_size") * part.count("merge_size")
        rows, columns = closest_grid(height, width, patch, most)
        return rows * columns, f"{columns} x {rows} tokens of {patch} pixels: {rows * columns:,}"
