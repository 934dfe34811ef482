"""Record how many tokens the library's own processors write for images, videos and sounds.

    python -m tests.oracle record media-tokens

Needs torch, torchaudio, pillow, torchvision, mistral-common and transformers. Each processor is
built by its own class from the files of the case, with a tokenizer made here whose every special
token is one token. Writes
``fixtures/oracle/media_tokens.json`` (what the suite compares) and
``hfinspect/media/library_defaults.json`` (what a processor's class sets where a repo says nothing).

What is counted: the text that the processor puts in place of one item (``replace_image_token`` and
the like), as tokens that are not words; where a processor has no such text,
``_get_num_multimodal_tokens``, which engines use.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from .without_kernels import import_torchvision

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "fixtures/oracle/media_tokens.json"
DEFAULTS = ROOT / "hfinspect/media/library_defaults.json"


warnings.filterwarnings("ignore")
import_torchvision()
import numpy as np  # noqa: E402
import transformers  # noqa: E402
from PIL import Image  # noqa: E402
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers.models.auto import (  # noqa: E402
    feature_extraction_auto,
    image_processing_auto,
    modeling_auto,
    processing_auto,
    video_processing_auto,
)

transformers.logging.set_verbosity_error()

#: Width and height: tiny, square, usual, wide, tall, odd, huge; a strip, a line, a limit of tiles.
SIZES = [
    (32, 32),
    (224, 224),
    (640, 480),
    (1000, 701),
    (1024, 1024),
    (300, 2000),
    (3000, 500),
    (1920, 1080),
    (4000, 3000),
    (24, 4000),
    (6000, 30),
    (448, 448),
    (112, 90),
    (9000, 2200),
]
VIDEOS = [
    (320, 240, 8),
    (640, 480, 33),
    (1280, 720, 64),
    (64, 48, 1),
    (200, 1500, 130),
    (1008, 560, 20),
]
MILLISECONDS = [100, 1_000, 5_300, 29_900, 30_000, 31_000, 95_250, 700_010]

#: Of which class of the library another type's processor is.
SAME = {
    "granite_speech_plus": "granite_speech",
    "glm4v_moe": "glm4v",
    "glm_ocr": "glm46v",
    "qwen3_vl_moe": "qwen3_vl",
    "pixtral": "mistral3",
    "diffusion_gemma": "gemma4",
    "qwen2_5_omni_thinker": "qwen2_5_omni",
    "qwen3_omni_moe_thinker": "qwen3_omni_moe",
    "glmga": "glm46v",
    "cosmos3_omni": "qwen3_vl",
    "fast_vlm": "llava",
}

#: Whose decoder sees an image through cross-attention.
SEEN = ("blip", "idefics", "pix2struct", "pp_formulanet", "vision-encoder-decoder")

#: Those that the library's table of processors leaves out.
NAMED = {"kosmos-2": "Kosmos2Processor", "kosmos-2.5": "Kosmos2_5Processor"}

LLAVA = {
    "patch_size": 14,
    "num_additional_image_tokens": 1,
    "vision_feature_select_strategy": "default",
}
VOXTRAL = {"audio_config": {"hidden_size": 1280, "intermediate_size": 5120}}
MLLAMA = {"vision_config": {"image_size": 560, "patch_size": 14}}

#: Model type -> further cases next to the class's defaults: (files, config.json).
CASES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "qwen2_vl": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 3136,
                    "max_pixels": 12845056,
                    "patch_size": 14,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                }
            },
            {},
        ),
    ],
    "qwen2_5_vl": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 200704,
                    "max_pixels": 1003520,
                    "patch_size": 14,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                }
            },
            {},
        ),
    ],
    "qwen3_vl": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"longest_edge": 16777216, "shortest_edge": 65536},
                    "patch_size": 16,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                },
                "video_preprocessor_config.json": {
                    "size": {"longest_edge": 25165824, "shortest_edge": 4096},
                    "patch_size": 16,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                    "fps": 2,
                },
            },
            {},
        ),
    ],
    "video_llama_3": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "size": {"longest_edge": 802816, "shortest_edge": 3136},
                        "patch_size": 14,
                        "merge_size": 1,
                    },
                    "video_processor": {
                        "size": {"longest_edge": 9633792, "shortest_edge": 3136},
                        "patch_size": 14,
                        "merge_size": 2,
                        "temporal_patch_size": 1,
                    },
                }
            },
            {},
        ),
    ],
    "paddleocr_vl": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"longest_edge": 2822400, "shortest_edge": 147384},
                    "patch_size": 14,
                    "merge_size": 2,
                }
            },
            {},
        )
    ],
    "glm4v": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"shortest_edge": 12544, "longest_edge": 4816896},
                    "patch_size": 14,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                }
            },
            {},
        )
    ],
    "minimax_m3_vl": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "patch_size": 14,
                        "merge_size": 2,
                        "size": {"longest_edge": 1003520, "shortest_edge": 3136},
                    },
                    "video_processor": {
                        "patch_size": 14,
                        "merge_size": 2,
                        "temporal_patch_size": 2,
                        "min_pixels": 3136,
                        "max_pixels": 602112,
                    },
                }
            },
            {},
        )
    ],
    "llava": [
        (
            {
                "preprocessor_config.json": {
                    "crop_size": {"height": 336, "width": 336},
                    "do_center_crop": True,
                    "do_resize": True,
                    "size": {"shortest_edge": 336},
                },
                "processor_config.json": LLAVA,
            },
            {},
        ),
    ],
    "vipllava": [
        (
            {
                "preprocessor_config.json": {
                    "crop_size": {"height": 336, "width": 336},
                    "do_center_crop": True,
                    "size": {"shortest_edge": 336},
                },
                "processor_config.json": LLAVA,
            },
            {},
        ),
    ],
    "video_llava": [
        (
            {
                "processor_config.json": {
                    **LLAVA,
                    "image_processor": {
                        "crop_size": {"height": 224, "width": 224},
                        "do_center_crop": True,
                        "size": {"shortest_edge": 224},
                    },
                    "video_processor": {
                        "crop_size": {"height": 224, "width": 224},
                        "do_center_crop": True,
                        "size": {"shortest_edge": 224},
                    },
                }
            },
            {},
        )
    ],
    "llava_next": [
        (
            {
                "preprocessor_config.json": {
                    "crop_size": {"height": 336, "width": 336},
                    "size": {"shortest_edge": 336},
                    "do_center_crop": True,
                    "image_grid_pinpoints": [
                        [336, 672],
                        [672, 336],
                        [672, 672],
                        [1008, 336],
                        [336, 1008],
                    ],
                },
                "processor_config.json": LLAVA,
            },
            {},
        ),
    ],
    "llava_next_video": [
        (
            {
                "preprocessor_config.json": {
                    "crop_size": {"height": 336, "width": 336},
                    "size": {"shortest_edge": 336},
                    "do_center_crop": True,
                    "image_grid_pinpoints": [[336, 672], [672, 336], [672, 672]],
                },
                "processor_config.json": LLAVA,
            },
            {},
        )
    ],
    "granite4_vision": [
        (
            {
                "processor_config.json": {
                    "patch_size": 16,
                    "num_additional_image_tokens": 0,
                    "vision_feature_select_strategy": "full",
                    "downsample_rate": "1/2",
                    "image_processor": {
                        "size": {"height": 384, "width": 384},
                        "do_center_crop": False,
                        "image_grid_pinpoints": [
                            [384, 768],
                            [768, 384],
                            [768, 768],
                            [384, 1536],
                            [1536, 384],
                        ],
                    },
                }
            },
            {},
        )
    ],
    "llava_onevision": [
        (
            {
                "processor_config.json": {
                    "num_image_tokens": 729,
                    "vision_feature_select_strategy": "full",
                }
            },
            {},
        ),
        (
            {
                "processor_config.json": {
                    "num_image_tokens": 196,
                    "vision_aspect_ratio": "anyres_max_4",
                    "vision_feature_select_strategy": "full",
                }
            },
            {},
        ),
    ],
    "gemma3": [({"processor_config.json": {"image_seq_length": 64}}, {})],
    "gemma3n": [({"processor_config.json": {"image_seq_length": 128, "audio_seq_length": 94}}, {})],
    "paligemma": [
        (
            {
                "preprocessor_config.json": {
                    "image_seq_length": 1024,
                    "size": {"height": 448, "width": 448},
                }
            },
            {},
        )
    ],
    "colpali": [({"preprocessor_config.json": {"image_seq_length": 1024}}, {})],
    "florence2": [({"preprocessor_config.json": {"image_seq_length": 577}}, {})],
    "chameleon": [({"processor_config.json": {"image_seq_length": 256}}, {})],
    "deepseek_vl": [({"processor_config.json": {"num_image_tokens": 144}}, {})],
    "instructblip": [({"processor_config.json": {"num_query_tokens": 32}}, {})],
    "blip-2": [({"processor_config.json": {"num_query_tokens": 32}}, {})],
    "idefics2": [
        (
            {
                "preprocessor_config.json": {
                    "do_image_splitting": False,
                    "size": {"longest_edge": 980, "shortest_edge": 378},
                }
            },
            {},
        ),
        ({"preprocessor_config.json": {"do_image_splitting": True}}, {}),
    ],
    "idefics3": [
        (
            {
                "preprocessor_config.json": {
                    "do_image_splitting": True,
                    "size": {"longest_edge": 2048},
                    "max_image_size": {"longest_edge": 512},
                },
                "processor_config.json": {"image_seq_len": 64},
            },
            {},
        ),
        ({"preprocessor_config.json": {"do_image_splitting": False}}, {}),
    ],
    "gemma4": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "max_soft_tokens": 1120,
                        "patch_size": 16,
                        "pooling_kernel_size": 3,
                    },
                    "video_processor": {
                        "max_soft_tokens": 140,
                        "patch_size": 16,
                        "pooling_kernel_size": 3,
                    },
                    "audio_seq_length": 400,
                }
            },
            {},
        )
    ],
    "mistral3": [
        (
            {
                "preprocessor_config.json": {
                    "patch_size": {"height": 14, "width": 14},
                    "size": {"longest_edge": 1540},
                },
                "processor_config.json": {"patch_size": 14, "spatial_merge_size": 2},
            },
            {},
        )
    ],
    "fuyu": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"height": 540, "width": 960},
                    "patch_size": {"height": 30, "width": 30},
                }
            },
            {},
        )
    ],
    "hunyuan_vl": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 262144,
                    "max_pixels": 4194304,
                    "patch_size": 16,
                    "merge_size": 2,
                },
                "processor_config.json": {"cat_extra_token": False},
            },
            {},
        )
    ],
    "kimi_k25": [({"preprocessor_config.json": {"max_patches": 4096}}, {})],
    "aria": [({"preprocessor_config.json": {"split_image": True, "max_image_size": 490}}, {})],
    "phi4_multimodal": [({"preprocessor_config.json": {"dynamic_hd": 12}}, {})],
    "internvl": [
        (
            {
                "preprocessor_config.json": {
                    "crop_to_patches": False,
                    "min_patches": 1,
                    "max_patches": 6,
                    "size": {"height": 448, "width": 448},
                },
                "processor_config.json": {"image_seq_length": 64},
            },
            {},
        ),
    ],
    "qianfan_ocr": [
        ({"preprocessor_config.json": {"max_patches": 4, "crop_to_patches": True}}, {})
    ],
    "got_ocr2": [({"preprocessor_config.json": {"crop_to_patches": True, "max_patches": 6}}, {})],
    "aya_vision": [
        (
            {
                "preprocessor_config.json": {
                    "crop_to_patches": True,
                    "max_patches": 6,
                    "size": {"height": 364, "width": 364},
                },
                "processor_config.json": {
                    "patch_size": 14,
                    "downsample_factor": 2,
                    "img_size": 448,
                },
            },
            {},
        )
    ],
    "cohere2_vision": [
        (
            {
                "preprocessor_config.json": {
                    "crop_to_patches": True,
                    "max_patches": 12,
                    "min_patches": 1,
                    "size": {"height": 512, "width": 512},
                }
            },
            {},
        )
    ],
    "deepseek_ocr2": [({"preprocessor_config.json": {"max_patches": 4, "tile_size": 512}}, {})],
    "llama4": [
        (
            {
                "preprocessor_config.json": {
                    "max_patches": 16,
                    "size": {"height": 336, "width": 336},
                },
                "processor_config.json": {"patch_size": 14, "pixel_shuffle_ratio": 0.5},
            },
            {},
        ),
        (
            {
                "preprocessor_config.json": {
                    "max_patches": 9,
                    "resize_to_max_canvas": True,
                    "size": {"height": 336, "width": 336},
                }
            },
            {},
        ),
    ],
    "mllama": [
        (
            {
                "preprocessor_config.json": {
                    "max_image_tiles": 4,
                    "size": {"height": 560, "width": 560},
                }
            },
            MLLAMA,
        )
    ],
    "ernie4_5_vl_moe": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"longest_edge": 4816896, "shortest_edge": 3136},
                    "patch_size": 14,
                    "merge_size": 2,
                    "temporal_patch_size": 2,
                    "draw_on_frames": False,
                }
            },
            {},
        )
    ],
    "whisper": [({"preprocessor_config.json": {"chunk_length": 15, "nb_max_frames": 1500}}, {})],
    "qwen2_audio": [({"preprocessor_config.json": {"chunk_length": 20}}, {})],
    "qwen2_5_omni": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 3136,
                    "max_pixels": 12845056,
                    "patch_size": 14,
                    "temporal_patch_size": 2,
                    "merge_size": 2,
                    "chunk_length": 300,
                    "n_samples": 4800000,
                    "nb_max_frames": 30000,
                    "hop_length": 160,
                    "sampling_rate": 16000,
                    "feature_size": 128,
                }
            },
            {},
        )
    ],
    "qwen3_asr": [({"preprocessor_config.json": {"min_length": 32000, "hop_length": 200}}, {})],
    "dots3_note": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "patch_size": 16,
                        "merge_size": 2,
                        "size": {"longest_edge": 2097152, "shortest_edge": 65536},
                    },
                    "feature_extractor": {"chunk_seconds": 40, "hop_length": 200},
                }
            },
            {},
        )
    ],
    "qwen3_omni_moe": [({"preprocessor_config.json": {"hop_length": 200}}, {})],
    "audioflamingo3": [({"processor_config.json": {"max_audio_len": 60}}, {})],
    "glmasr": [({"processor_config.json": {"max_audio_len": 60}}, {})],
    "musicflamingo": [
        ({"processor_config.json": {"max_audio_len": 60}}, {}),
        ({"preprocessor_config.json": {"chunk_length": 20, "hop_length": 200}}, {}),
    ],
    "moss_transcribe_diarize": [
        (
            {
                "processor_config.json": {
                    "audio_merge_size": 3,
                    "time_marker_every_seconds": 0,
                    "feature_extractor": {"chunk_length": 20, "hop_length": 200},
                }
            },
            {},
        )
    ],
    "fun_asr_nano": [
        ({"preprocessor_config.json": {"frame_shift": 12, "frame_length": 32, "stride_lfr": 4}}, {})
    ],
    "nemo_speechlm": [
        (
            {
                "processor_config.json": {
                    "subsampling_factor": 4,
                    "feature_extractor": {"hop_length": 200},
                }
            },
            {},
        )
    ],
    "apertus1p5": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "size": {"min_pixels": 65536, "max_pixels": 589824},
                        "spatial_factor": 8,
                    },
                    "feature_extractor": {"hop_length": 320},
                }
            },
            {},
        )
    ],
    "inkling_mm_model": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "size": {"height": 32, "width": 32},
                        "rescale_image_frac": 1.7,
                        "rescale_image_max_upscaled_long_edge": 1600,
                    },
                    "feature_extractor": {"audio_token_duration_s": 0.08},
                }
            },
            {},
        )
    ],
    "nemotron_h_omni": [
        (
            {
                "processor_config.json": {
                    "audio_subsampling_factor": 4,
                    "video_temporal_patch_dim": 3,
                    "image_processor": {"min_num_patches": 256, "max_num_patches": 3328},
                    "video_processor": {
                        "norm_mean": [0.5, 0.5, 0.5],
                        "norm_std": [0.5, 0.5, 0.5],
                        "video_target_num_patches": 700,
                    },
                }
            },
            {},
        )
    ],
    "vibevoice": [({"preprocessor_config.json": {"pad_to_multiple_of": 1600}}, {})],
    "vibevoice_asr": [({"preprocessor_config.json": {"pad_to_multiple_of": 1600}}, {})],
    "omniasr": [
        (
            {
                "processor_config.json": {
                    "conv_kernel": [10, 3, 3, 2],
                    "conv_stride": [5, 4, 2, 2],
                    "feature_extractor": {"sampling_rate": 8000},
                }
            },
            {},
        )
    ],
    "voxtral": [
        ({"preprocessor_config.json": {"chunk_length": 30, "hop_length": 160}}, VOXTRAL),
        ({"preprocessor_config.json": {"chunk_length": 20, "hop_length": 200}}, VOXTRAL),
    ],
    "fast_vlm": [
        (
            {
                "preprocessor_config.json": {
                    "crop_size": {"height": 1024, "width": 1024},
                    "size": {"shortest_edge": 1024},
                    "do_center_crop": True,
                },
                "processor_config.json": {"patch_size": 64},
            },
            {},
        )
    ],
    "git": [
        (
            {"preprocessor_config.json": {"crop_size": {"height": 336, "width": 336}}},
            {"vision_config": {"image_size": 336, "patch_size": 14}},
        )
    ],
    "pi0": [({"preprocessor_config.json": {"image_seq_length": 256}}, {})],
    "kosmos-2.5": [({"processor_config.json": {"num_image_tokens": 1024}}, {})],
    "instructblipvideo": [({"processor_config.json": {"num_query_tokens": 32}}, {})],
    "lfm2_vl": [
        (
            {
                "preprocessor_config.json": {
                    "max_tiles": 6,
                    "min_tiles": 2,
                    "use_thumbnail": False,
                    "max_image_tokens": 128,
                    "max_pixels_tolerance": 1.5,
                    "tile_size": 384,
                }
            },
            {},
        ),
        ({"preprocessor_config.json": {"do_image_splitting": False}}, {}),
    ],
    "ovis2": [
        ({"preprocessor_config.json": {"crop_to_patches": True, "max_patches": 9}}, {}),
        (
            {
                "preprocessor_config.json": {
                    "crop_to_patches": True,
                    "use_covering_area_grid": False,
                    "min_patches": 2,
                    "size": {"height": 448, "width": 448},
                },
                "processor_config.json": {"image_seq_length": 196},
            },
            {},
        ),
    ],
    "granite_docling": [
        (
            {
                "preprocessor_config.json": {
                    "max_patches": 12,
                    "dense_max_patches": 40,
                    "dense_max_scale": 0.9,
                    "dense_min_aspect": 1.2,
                    "dense_max_aspect": 4.2,
                }
            },
            {},
        ),
        (
            {
                "preprocessor_config.json": {"fine_route": True, "max_patches": 1},
                "processor_config.json": {"image_seq_len": 100},
            },
            {},
        ),
    ],
    "unlimited_ocr": [
        (
            {
                "preprocessor_config.json": {
                    "max_patches": 6,
                    "tile_size": 512,
                    "size": {"height": 768, "width": 640},
                },
                "processor_config.json": {"downsample_ratio": 2},
            },
            {},
        ),
        ({"preprocessor_config.json": {"crop_to_patches": False}}, {}),
    ],
    "molmo2": [
        (
            {
                "processor_config.json": {
                    "image_use_col_tokens": False,
                    "use_single_crop_col_tokens": True,
                    "video_use_col_tokens": True,
                    "image_processor": {"max_crops": 24, "overlap_margins": [4, 2]},
                    "video_processor": {"pooling_size": [2, 4]},
                }
            },
            {},
        )
    ],
    "minicpmv4_6": [
        (
            {
                "preprocessor_config.json": {
                    "max_slice_nums": 4,
                    "downsample_mode": "4x",
                    "use_image_id": False,
                }
            },
            {},
        ),
        ({"preprocessor_config.json": {"slice_mode": False, "scale_resolution": 560}}, {}),
    ],
    "minicpmv4_7": [({"preprocessor_config.json": {"max_slice_nums": 16}}, {})],
    "minicpm_ocr": [({"preprocessor_config.json": {"small_image_upsize": "never"}}, {})],
    "step3p7": [({"preprocessor_config.json": {"patch_size": 448, "max_image_size": 2000}}, {})],
    "muse_glimmer": [
        (
            {
                "processor_config.json": {
                    "image_processor": {"max_image_tokens": 300},
                    "video_processor": {"max_video_frame_tokens": 50, "patch_size": 16},
                }
            },
            {},
        )
    ],
    "muse_spark": [
        (
            {
                "processor_config.json": {
                    "image_processor": {"max_image_tokens": 1000, "merge_size": 1},
                    "video_processor": {"temporal_patch_size": 4},
                    "feature_extractor": {"samples_per_token": 960, "sampling_rate": 16000},
                }
            },
            {},
        )
    ],
    "glm5_next": [
        (
            {
                "processor_config.json": {
                    "image_processor": {"min_image_tokens": 64, "max_image_tokens": 1000},
                    "video_processor": {"max_image_tokens": 9000, "patch_expand_factor": 2},
                }
            },
            {},
        )
    ],
    "glmga": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "size": {"shortest_edge": 12544, "longest_edge": 4816896},
                        "patch_expand_factor": 2,
                    },
                    "video_processor": {"size": {"shortest_edge": 12544, "longest_edge": 10000000}},
                }
            },
            {},
        )
    ],
    "lighton_ocr": [
        (
            {
                "preprocessor_config.json": {
                    "size": {"longest_edge": 1540},
                    "patch_size": {"height": 28, "width": 28},
                },
                "processor_config.json": {"patch_size": 14, "spatial_merge_size": 2},
            },
            {},
        )
    ],
    "emu3": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 65536,
                    "max_pixels": 518400,
                    "spatial_factor": 16,
                }
            },
            {},
        )
    ],
    "hy_v4_vl": [
        (
            {
                "processor_config.json": {
                    "image_processor": {
                        "size": {"shortest_edge": 65536, "longest_edge": 1048576},
                        "patch_size": 14,
                    },
                    "video_processor": {
                        "size": {"shortest_edge": 4096, "longest_edge": 4194304},
                        "max_image_size": {"longest_edge": 262144},
                        "patch_size": 14,
                        "temporal_patch_size": 2,
                    },
                }
            },
            {},
        ),
        ({"preprocessor_config.json": {"max_pixels": 1048576}}, {}),
    ],
    "glm_image": [
        (
            {
                "preprocessor_config.json": {
                    "min_pixels": 262144,
                    "max_pixels": 4194304,
                    "patch_size": 16,
                    "merge_size": 1,
                }
            },
            {},
        )
    ],
    "perception_lm": [
        (
            {
                "processor_config.json": {"patch_size": 14, "pooling_ratio": 2},
                "preprocessor_config.json": {"vision_input_type": "thumb+tile"},
            },
            {},
        ),
        (
            {
                "processor_config.json": {
                    "patch_size": 14,
                    "pooling_ratio": 1,
                    "image_processor": {"tile_size": 224, "max_num_tiles": 9},
                    "video_processor": {"size": {"height": 224, "width": 336}},
                }
            },
            {},
        ),
        (
            {
                "processor_config.json": {"patch_size": 14},
                "preprocessor_config.json": {"vision_input_type": "vanilla"},
            },
            {},
        ),
    ],
    "blip": [
        (
            {"preprocessor_config.json": {"size": {"height": 224, "width": 224}}},
            {"vision_config": {"image_size": 224, "patch_size": 14}},
        ),
    ],
    "pix2struct": [({"preprocessor_config.json": {"max_patches": 512, "is_vqa": False}}, {})],
    "pp_formulanet": [
        ({}, {"vision_config": {"image_size": 768}}),
        (
            {"preprocessor_config.json": {"size": {"height": 400, "width": 400}}},
            {"vision_config": {"image_size": 400, "patch_size": 16}},
        ),
    ],
    "idefics": [
        ({"preprocessor_config.json": {"image_size": 112}}, {"vision_config": {"image_size": 112}}),
        (
            {"preprocessor_config.json": {"image_size": 224}},
            {"use_resampler": True, "perceiver_config": {"resampler_n_latents": 40}},
        ),
    ],
    "vision-encoder-decoder": [
        (
            {
                "preprocessor_config.json": {
                    "image_processor_type": f"{kind}ImageProcessor",
                    **({"size": size} if size else {}),
                    **more,
                }
            },
            {"encoder": encoder},
        )
        for kind, size, more, encoder in (
            ("ViT", {"height": 384, "width": 384}, {}, {"model_type": "vit", "image_size": 384}),
            ("ViT", 224, {}, {"model_type": "vit", "patch_size": 32}),
            ("ViT", 384, {}, {"model_type": "deit", "image_size": 384}),
            ("DeiT", None, {"do_center_crop": True, "crop_size": 224}, {"model_type": "deit"}),
            ("Beit", 224, {}, {"model_type": "beit"}),
            ("ViT", 224, {}, {"model_type": "vit", "image_size": 384}),
            ("ViT", 200, {}, {"model_type": "swin", "window_size": 3}),
            ("Donut", [960, 1280], {}, {"model_type": "donut-swin", "window_size": 5}),
            (
                "Donut",
                {"height": 1280, "width": 900},
                {"do_align_long_axis": True},
                {"model_type": "donut-swin", "window_size": 5, "depths": [1, 1, 1]},
            ),
            (
                "Nougat",
                {"height": 896, "width": 672},
                {},
                {"model_type": "donut-swin", "window_size": 7},
            ),
        )
    ],
    "inkling2": [({"preprocessor_config.json": {"size": {"height": 32, "width": 48}}}, {})],
    "granite_speech": [
        (
            {
                "preprocessor_config.json": {
                    "melspec_kwargs": {"sample_rate": 16000, "hop_length": 160},
                    "projector_window_size": 15,
                    "projector_downsample_rate": 5,
                    "sampling_rate": 16000,
                }
            },
            {},
        ),
        (
            {
                "preprocessor_config.json": {
                    "melspec_kwargs": {"sample_rate": 16000, "hop_length": 200},
                    "projector_window_size": 12,
                    "projector_downsample_rate": 3,
                    "sampling_rate": 16000,
                }
            },
            {},
        ),
    ],
}

_MARKS = (
    "image video audio boi eoi boa eoa image_start image_end audio_bos audio_eos vision_bos "
    "vision_eos vision_start vision_end start_image end_image context_image fake_image "
    "image_boundary global_image img_line_break image_break image_wrapper video_start video_end "
    "image_row_sep eol start_of_img end_of_img img_patch tile tile_global eof slice_start "
    "slice_end image_id_start image_id_end grid_bos grid_eos"
).split()
#: One token each: a mark, an empty line, an end of line, a row's own end.
_TOKEN = re.compile(
    r"\]<\][a-z ]+\[>\[|<[^<>\s]+>|\[[A-Z_]+\]|\|[A-Z]+\||\n\n|\n|TILE_\d+|TILE_GLOBAL|TILE"
)
#: What stands in a settings file and says nothing of sizes.
_IDLE = set(
    "image_mean image_std do_rescale do_normalize rescale_factor resample do_convert_rgb "
    "data_format return_metadata dtype return_attention_mask padding_side padding_value dither "
    "feature_size n_fft preemphasis mel_floor fft_length per_bin_mean per_bin_stddev "
    "min_frequency max_frequency background_color policy_definitions processor_class "
    "post_processor_config visual_prompt_prefix query_prefix default_transcription_prompt "
    "preemphasis_htk_flavor fft_overdrive input_scale_factor image_processor_type "
    "video_processor_type feature_extractor_type high_res_resample high_res_image_mean "
    "high_res_image_std high_res_background_color add_timestamps overflow_strategy".split()
)


def tokenizer() -> Any:
    made = Tokenizer(
        models.WordLevel({"<unk>": 0, "\n\n": 1, "|SPEAKER|": 2, "|NEWLINE|": 3}, "<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.Split("\n\n", "isolated")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={f"{mark}_token": f"<{mark}>" for mark in _MARKS},
    )


def classes(model_type: str) -> tuple[Any, dict[str, Any]]:
    """The class of a type's processor, and those of its parts."""
    kind = SAME.get(model_type, model_type)

    def named(table: dict[str, Any], *backends: str) -> Any:
        entry = table.get(model_type, table.get(kind))
        if isinstance(entry, dict):
            entry = next((entry[one] for one in backends if one in entry), None)
        return getattr(transformers, entry) if entry else None

    names = processing_auto.PROCESSOR_MAPPING_NAMES
    parts = {
        "image_processor": named(
            image_processing_auto.IMAGE_PROCESSOR_MAPPING_NAMES, "torchvision", "pil"
        ),
        "video_processor": named(
            video_processing_auto.VIDEO_PROCESSOR_MAPPING_NAMES, "torchvision"
        ),
        "feature_extractor": named(feature_extraction_auto.FEATURE_EXTRACTOR_MAPPING_NAMES),
    }
    unlisted = {"musicflamingo": "Whisper", "nemotron_h_omni": "Parakeet"}
    if kind in unlisted:  # repos name the class; the table does not
        parts["feature_extractor"] = getattr(transformers, f"{unlisted[kind]}FeatureExtractor")
    return getattr(transformers, NAMED.get(kind) or names[kind]), parts


def build(model_type: str, files: dict[str, Any]) -> Any:
    """The processor of a repo with these files."""
    if model_type == "vision-encoder-decoder":
        return alone(files)
    made, parts = classes(model_type)
    wanted = inspect.signature(made.__init__).parameters
    arguments: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, value in files.items():
            Path(folder, name).write_text(json.dumps(value))
        for part, kind in parts.items():
            slot = "audio_processor" if part == "feature_extractor" else part
            slot = part if part in wanted else slot
            if kind is None or slot not in wanted:
                continue
            has = part in files.get("processor_config.json", {}) or any(
                "preprocessor" in name for name in files
            )
            arguments[slot] = kind.from_pretrained(folder) if has else kind()
    own = {
        key: value
        for key, value in files.get("processor_config.json", {}).items()
        if key in wanted and key not in parts
    }
    if "tokenizer" in wanted:
        arguments["tokenizer"] = tokenizer()
    for name in ("qformer_tokenizer", "alignment_tokenizer"):
        if name in wanted:
            arguments[name] = tokenizer()
    return made(**arguments, **own)


def alone(files: dict[str, Any]) -> Any:
    """The image processor that the file names: the library has no processor of this type."""
    said = files["preprocessor_config.json"]
    part = getattr(transformers, said["image_processor_type"])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "preprocessor_config.json").write_text(json.dumps(said))
        return SimpleNamespace(image_processor=part.from_pretrained(folder))


def marks(text: str) -> int:
    """Tokens of what a processor writes that are not words."""
    return len(_TOKEN.findall(text))


#: What a class needs to be built at all, and does not set by itself.
_NEEDED: dict[str, dict[str, Any]] = {
    "blip-2": {"num_query_tokens": 1},
    "paligemma": {"image_processor": {"image_seq_length": 1}},
    "ernie4_5_vl_moe": {"video_processor": {"draw_on_frames": False}},
}


def defaults_of(model_type: str) -> dict[str, Any]:
    """What the class sets by itself, without what says nothing of sizes."""
    needs = _NEEDED.get(model_type, {})
    try:
        made = build(model_type, {"processor_config.json": needs} if needs else {}).to_dict()
    except (AttributeError, KeyError, TypeError, ValueError, ImportError):
        return {}
    made.pop("num_query_tokens", None)
    if model_type == "paligemma":
        made["image_processor"].pop("image_seq_length", None)
    return slim(made)


def calls_of(model_type: str) -> dict[str, Any]:
    """What the processor's class passes to its parts at every call, over their own settings."""
    if model_type == "vision-encoder-decoder":
        return {}
    made, _ = classes(model_type)
    names = {"image": "images_kwargs", "video": "videos_kwargs", "audio": "audio_kwargs"}
    passed = {part: slim(getattr(made, name, None) or {}) for part, name in names.items()}
    idle = {"padding", "return_tensors", "truncation", "do_pad", "device", "return_row_col_info"}
    passed = {p: {k: v for k, v in held.items() if k not in idle} for p, held in passed.items()}
    return {part: held for part, held in passed.items() if held}


def slim(made: dict[str, Any]) -> dict[str, Any]:
    return {
        str(key): slim(value) if isinstance(value, dict) else value
        for key, value in sorted(made.items(), key=str)
        if str(key) not in _IDLE
        and value is not None
        and not (isinstance(value, str) and str(key).endswith("_token"))
    }


def image_tokens(made: Any, width: int, height: int) -> list[int]:
    """Tokens in the text, and positions of cross-attention."""
    name = type(made).__name__
    picture = Image.new("RGB", (width, height))
    merged = made._merge_kwargs(return_tensors="pt")["images_kwargs"]
    if name == "MllamaProcessor":
        values = made.image_processor([picture], **merged)["pixel_values"]
        return [marks(made.replace_image_token({}, 0)), values.shape[2]]
    if name == "Idefics2Processor":
        return [len(made(images=[picture], text="<image>")["input_ids"][0])]
    if name == "GotOcr2Processor":
        features = made.image_processor([picture], **merged)
        extra = {"num_pages_per_batch": [1], "num_image_tokens": 256, "patch_indices": [0]}
        return [marks(made.replace_image_token(features, 0, **extra))]
    if name in ("FuyuProcessor", "Florence2Processor", "ColPaliProcessor", "ColQwen2Processor"):
        numbers = made._get_num_multimodal_tokens(image_sizes=[(height, width)])
        return [int(numbers["num_image_tokens"][0])]
    if name in ("Blip2Processor", "InstructBlipProcessor"):
        return [made.num_query_tokens]
    if name == "PI0Processor":
        text = {"padding": False, "max_length": None}
        ids = made(images=[picture], text="", text_kwargs=text)["input_ids"][0]
        return [int((ids == made.image_token_id).sum())]
    if name == "Kosmos2Processor":
        return [marks(made.preprocess_examples("", [picture]))]
    if name == "Kosmos2_5Processor":
        mask = made(images=[picture], text="a")["image_embeds_position_mask"][0]
        return [int((mask != 0).sum())]
    if name == "LlavaOnevisionProcessor":
        _, texts = made._process_images([[picture, picture]], **merged)
        _, alone = made._process_images([picture], **merged)
        return [marks(alone[0]), marks(texts[0])]
    if name == "Lfm2VlProcessor":
        merged["use_image_special_tokens"] = made.use_image_special_tokens
    _, texts = made._process_images([picture], **merged)
    if getattr(made, "default_use_image_id", False):
        texts = made._prepend_local_ids([made.image_token], texts, made.image_token)
    return [marks(texts[0])]


def video_tokens(made: Any, width: int, height: int, frames: int) -> int:
    """What stands in the text. Only shapes count, so that the film has no pixels in memory; a
    processor that looks at them gets noise, in which all moves."""
    name = type(made).__name__
    if name == "InstructBlipVideoProcessor":
        film = torch.zeros(4, 3, 32, 32, dtype=torch.uint8)
        made.video_token = AddedToken("<video>", special=True)
        ids = made(images=[list(film)], text="")["input_ids"][0]
        return len(ids)
    merged = made._merge_kwargs(return_tensors="pt")["videos_kwargs"]
    merged |= {"do_sample_frames": False, "return_metadata": True}
    if "Ernie" in name:
        merged["draw_on_frames"] = False
    if "Embedding" in name or ("Omni" in name and "Nemotron" not in name):
        merged = {"videos_kwargs": merged, "load_audio_from_video": False, **merged}
    if name.startswith("NemotronH"):
        merged["temporal_patch_size"] = made.video_temporal_patch_dim
    try:
        texts = _film(made, merged, torch.zeros(frames, 3, height, width, device="meta"))
    except (NotImplementedError, RuntimeError, TypeError):
        torch.manual_seed(0)
        noise = torch.randint(0, 256, (frames, 3, height, width), dtype=torch.uint8)
        texts = _film(made, merged, noise)
    return marks(texts[0])


def _film(made: Any, merged: dict[str, Any], film: Any) -> list[str]:
    if type(made).__name__.startswith("NemotronH"):
        processed = made.video_processor(videos=[film.to(torch.uint8)], **merged)
        return [made.replace_video_token(processed, 0)]
    _, texts = made._process_videos([film.to(torch.uint8)], **dict(merged))
    if getattr(made, "default_use_image_id", False):
        texts = made._prepend_local_ids([made.video_token], texts, made.video_token)
    return list(texts)


def audio_tokens(made: Any, milliseconds: int) -> list[int]:
    name = type(made).__name__
    part = getattr(made, "feature_extractor", None) or made.audio_processor
    sound = np.zeros(milliseconds * part.sampling_rate // 1000, dtype=np.float32)
    if name == "WhisperProcessor":
        features = part(sound, sampling_rate=part.sampling_rate, return_tensors="pt")
        return [0, features["input_features"].shape[-1] // 2]
    if name.startswith("NemotronH"):
        count = max(1, made._estimate_audio_num_embeddings(len(sound)))
        return [marks(made.replace_audio_token({"num_tokens": [count]}, 0))]
    if hasattr(made, "_get_num_multimodal_tokens") and not name.startswith("Apertus"):
        numbers = made._get_num_multimodal_tokens(audio_lengths=[len(sound)])
        if getattr(numbers, "num_audio_tokens", None):
            more = {"Gemma3nProcessor": 4}.get(name, 2 if "Gemma" in name else 0)
            return [int(numbers["num_audio_tokens"][0]) + more]
    merged = made._merge_kwargs(return_tensors="pt", sampling_rate=part.sampling_rate)
    _, texts = made._process_audio([sound], **merged["audio_kwargs"])
    return [marks(texts[0])]


def speech_lengths(files: dict[str, Any], milliseconds: int) -> list[int]:
    """Granite Speech: the library's own arithmetic; to hear anything it needs torchaudio."""
    from transformers.models.granite_speech import feature_extraction_granite_speech as module

    said = files["preprocessor_config.json"]
    part = SimpleNamespace(**said)
    samples = milliseconds * said["sampling_rate"] // 1000
    counted = module.GraniteSpeechFeatureExtractor._get_num_audio_features(part, [samples])
    return [int(count) for count in counted]


def in_windows(files: dict[str, Any], milliseconds: int) -> list[int]:
    """Voxtral: mistral-common writes the tokens, its processor only makes the spectrogram."""
    from mistral_common.tokens.tokenizers import audio as module

    said = files.get("preprocessor_config.json", {})
    hop = said.get("hop_length", 160)
    settings = module.AudioConfig(
        sampling_rate=16000,
        frame_rate=100 * 160 / hop / 8,
        encoding_config=module.AudioSpectrogramConfig(128, hop, 400),
        chunk_length_s=said.get("chunk_length", 30),
    )
    encoder = module.AudioEncoder(settings, module.SpecialAudioIDs(24, 25, None, None, None))
    sound = module.Audio(np.zeros(milliseconds * 16, dtype=np.float32), 16000, "wav")
    return [len(encoder.encode_audio(sound).tokens)]


def git_positions(made: Any, config: dict[str, Any], width: int, height: int) -> int:
    """GIT's processor writes nothing for an image: what a small model of the class keeps of it."""
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    small["num_hidden_layers"] = 1
    vision = {**small, **config.get("vision_config", {})}
    model = transformers.GitModel(transformers.GitConfig(**small, vision_config=vision))
    seen = made.image_processor([Image.new("RGB", (width, height))], return_tensors="pt")
    kept = model(input_ids=torch.tensor([[1]]), **seen).past_key_values
    return int(kept.get_seq_length()) - 1


#: Sizes of a small encoder and decoder; places, patches and merging are those of the case.
_SMALL = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
_SMALL |= {"num_attention_heads": 1, "num_heads": 1, "d_model": 8, "decoder_layers": 1}
_SMALL |= {"decoder_attention_heads": 1, "decoder_ffn_dim": 8, "encoder_layers": 1, "d_kv": 8}
_SMALL |= {"d_ff": 8, "num_layers": 1, "vocab_size": 99, "max_position_embeddings": 40}
_SIGHT: dict[str, Any] = {key: _SMALL[key] for key in list(_SMALL)[:4]}
_SIGHT |= {"embed_dim": 8, "mlp_dim": 8, "d_kv": 8, "d_ff": 8}
_SIGHT |= {"post_conv_mid_channels": 8, "post_conv_out_channels": 8, "decoder_hidden_size": 8}
_SIGHT |= {"output_channels": 8, "post_conv_in_channels": 8, "global_attn_indexes": []}


def seeing(model_type: str, config: dict[str, Any]) -> Any:
    """A small model of the class, whose encoder has the config's places."""
    said = {key: value for key, value in config.items() if key not in ("encoder", "vision_config")}
    sight = {**_SIGHT, **config.get("encoder", config.get("vision_config", {}))}
    if model_type != "vision-encoder-decoder":
        small: dict[str, Any] = {"vision_config": sight}
        small |= (
            {**_SMALL, "cross_layer_interval": 1, "additional_vocab_size": 2}
            if (model_type == "idefics")
            else {"text_config": {**_SMALL, "bos_token_id": 1, "sep_token_id": 2}}
        )
        made = transformers.AutoConfig.for_model(model_type, **small, **said)
        names = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
        return getattr(transformers, names[model_type])(made).eval()
    if "swin" in sight["model_type"]:
        depths = sight.get("depths", [1, 1, 1, 1])
        heads = {"num_heads": [1] * len(depths), "embed_dim": 8}
        sight = {**config["encoder"], "depths": depths, **heads}
    decoder = {"model_type": "mbart", **_SMALL, "is_decoder": True, "add_cross_attention": True}
    made = transformers.VisionEncoderDecoderConfig(encoder=sight, decoder=decoder)
    made.decoder_start_token_id = made.pad_token_id = 1
    return transformers.VisionEncoderDecoderModel(made).eval()


def seen(made: Any, config: dict[str, Any], model: Any, width: int, height: int) -> list[int]:
    """Tokens in the text, and positions that the small model's cross-attention keeps; of Idefics,
    whose cache has none, those that it looks at."""
    picture = Image.new("RGB", (width, height))
    if type(made).__name__ == "IdeficsProcessor":
        made.tokenizer.add_tokens(["<fake_token_around_image>"], special_tokens=True)
        inputs = made(images=[picture], text="", return_tensors="pt")
        ids = made.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        inputs["input_ids"] = inputs["input_ids"].clamp(max=90)  # of the small model's words
        looked: list[int] = []
        layer = model.model.gated_cross_attn_layers[0].cross_attn
        layer.register_forward_pre_hook(
            lambda _, __, given: looked.append(given["key_value_states"].shape[-2]),
            with_kwargs=True,
        )
        with torch.no_grad():
            out = model(**inputs, use_cache=True)
        assert kept(out).get_seq_length() == len(ids)
        return [marks("".join(one for one in ids if "image" in one)), looked[-1]]
    merged = (
        made._merge_kwargs(return_tensors="pt")["images_kwargs"]
        if hasattr(made, "_merge_kwargs")
        else {"return_tensors": "pt"}
    )
    inputs = made.image_processor([picture], **merged)
    shape = tuple(next(iter(inputs.values())).shape)
    known = model.__dict__.setdefault("known", {})
    if shape not in known:
        more = {"max_new_tokens": 2, "return_dict_in_generate": True, "use_cache": True}
        with torch.no_grad():
            out = model.generate(**inputs, **more)
        known[shape] = kept(out).cross_attention_cache.get_seq_length()
    return [0, int(known[shape])]


def kept(out: Any) -> Any:
    return out.past_key_values if "past_key_values" in out else out.cache


def asked(made: Any, part: str) -> bool:
    return getattr(made, part, None) is not None


def record(model_type: str, files: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    case: dict[str, Any] = {"type": model_type, "files": files, "config": config}
    if model_type.startswith("granite_speech"):
        case["audio"] = [[ms, *speech_lengths(files, ms)] for ms in MILLISECONDS]
        return case
    if model_type == "voxtral":
        case["audio"] = [[ms, *in_windows(files, ms)] for ms in MILLISECONDS]
        return case
    made = build(model_type, files)
    if model_type in SEEN:
        model = seeing(model_type, config)
        case["images"] = [[*size, *tried(seen, made, config, model, *size)] for size in SIZES]
    elif model_type == "git":
        case["images"] = [[*size, git_positions(made, config, *size)] for size in SIZES]
    elif asked(made, "image_processor"):
        case["images"] = [[*size, *tried(image_tokens, made, *size)] for size in SIZES]
    if asked(made, "video_processor") and model_type not in (
        *(() if files else ("nemotron_h_omni",)),  # its class has no mean to normalize frames by
    ):
        case["videos"] = [[*size, *tried(video_tokens, made, *size)] for size in VIDEOS]
    if asked(made, "feature_extractor") or asked(made, "audio_processor"):
        case["audio"] = [[ms, *tried(audio_tokens, made, ms)] for ms in MILLISECONDS]
    return case


def tried(count: Any, *arguments: Any) -> list[Any]:
    """The numbers, or the error with which the library refuses the item."""
    try:
        tokens = count(*arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        return [f"{type(error).__name__}: {str(error)[:80]}"]
    return tokens if isinstance(tokens, list) else [tokens]


def main(chosen: list[str]) -> None:
    sys.path.insert(0, str(ROOT))
    from hfinspect.media.registry import RULES

    torch.set_num_threads(1)
    defaults = {kind: defaults_of(kind) for kind in sorted(RULES) if kind != "granite_speech"}
    recorded = []
    for kind in chosen or sorted(RULES):
        cases = list(CASES.get(kind, ()))
        if defaults.get(kind):
            cases.insert(0, ({}, {"mllama": MLLAMA, "voxtral": VOXTRAL}.get(kind, {})))
        if kind == "granite_speech_plus":
            cases = list(CASES["granite_speech"])
        for files, config in cases:
            try:
                recorded.append(record(kind, files, config))
            except Exception as error:  # noqa: PERF203 - one type must not stop the others
                print(kind, "left out:", type(error).__name__, str(error)[:200], file=sys.stderr)
                if chosen:
                    raise
    if chosen:
        print(json.dumps(recorded, indent=1))
        return
    version = transformers.__version__
    held = {
        "version": version,
        "defaults": {k: v for k, v in defaults.items() if v},
        "calls": {k: v for k in sorted(RULES) if (v := calls_of(k))},
    }
    DEFAULTS.write_text(json.dumps(held, separators=(",", ":")) + "\n")
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in recorded)
    types = json.dumps(sorted(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES))
    FIXTURE.write_text(
        f'{{"version":"{version}","image_text_to_text":{types},"cases":[\n{lines}\n]}}\n'
    )
    print(len(recorded), "cases")


if __name__ == "__main__":
    main(sys.argv[1:])
