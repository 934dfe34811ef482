"""ProcessorSettings of strangers: any value gives a number or a reason, and none takes long."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.media_tokens import AudioItem, ImageItem, VideoItem
from hfinspect.media.registry import RULES, count_tokens

from ..examples import examples

KEYS = (
    "size crop_size patch_size merge_size temporal_patch_size max_patches min_patches min_pixels "
    "max_pixels image_grid_pinpoints max_image_tiles max_image_size image_seq_length tile_size "
    "max_soft_tokens pooling_kernel_size num_image_tokens downsample_rate chunk_length hop_length "
    "sampling_rate crop_to_patches do_image_splitting vision_aspect_ratio dynamic_hd "
    "audio_seq_length melspec_kwargs projector_window_size projector_downsample_rate img_size "
    "pixel_shuffle_ratio spatial_merge_size downsample_factor frame_length win_length "
    "encoder_patch_size min_image_tokens max_image_tokens min_tiles max_tiles scale_resolution "
    "max_pixels_tolerance max_slice_nums overlap_margins pooling_size max_crops max_num_tiles "
    "pooling_ratio dense_max_patches dense_max_scale dense_min_aspect spatial_factor "
    "patch_expand_factor max_video_frame_tokens samples_per_token vision_patch_size "
    "use_covering_area_grid slice_mode fine_route vision_input_type num_query_tokens do_pad depths "
    "image_size"
).split()
NUMBERS = st.one_of(st.integers(-2, 40), st.integers(), st.floats(), st.none(), st.booleans())
VALUES = st.one_of(
    NUMBERS,
    st.text(max_size=6),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("shortest_edge", "longest_edge", "height", "width", "max_height", "980"), NUMBERS
        ),
    ),
    st.lists(st.lists(NUMBERS, min_size=1, max_size=3), max_size=3),
)
FILE: Any = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)
PARTS = ("image_processor", "video_processor", "feature_extractor")


@settings(max_examples=examples(400), deadline=None)
@given(
    kind=st.sampled_from(sorted(RULES)),
    own=FILE,
    parts=st.dictionaries(st.sampled_from(PARTS), st.one_of(FILE, st.integers()), max_size=3),
    older=FILE,
    width=st.integers(1, 65_536),
    height=st.integers(1, 65_536),
    frames=st.integers(1, 65_536),
    milliseconds=st.integers(1, 86_400_000),
)
def test_a_number_or_a_reason(
    kind: str,
    own: dict[str, Any],
    parts: dict[str, Any],
    older: dict[str, Any],
    width: int,
    height: int,
    frames: int,
    milliseconds: int,
) -> None:
    files = {"processor_config.json": {**own, **parts}, "preprocessor_config.json": older}
    encoder = {"model_type": ("vit", "swin", "other")[frames % 3], **older}
    config = {"vision_config": older, "encoder": encoder, "num_query_tokens": own.get("size")}
    for item in (
        ImageItem(width, height),
        VideoItem(width, height, frames),
        AudioItem(milliseconds),
    ):
        media_tokens = count_tokens(item, kind, config, files)
        if media_tokens.tokens is None:
            assert media_tokens.unknown
            assert media_tokens.unknown.isprintable()
        else:
            assert type(media_tokens.tokens) is int
            assert media_tokens.tokens >= 0
            assert media_tokens.derivation
