"""Record how many tokens llama.cpp's own mtmd writes for images and sounds of mmproj files.

    python -m tests.oracle record mmproj-tokens PROGRAM

``PROGRAM`` is ``count_mmproj.cpp`` of this folder, compiled against llama.cpp's sources (its first
lines say how): it runs their tokenizer, preprocessors and ``clip_n_output_tokens``, and leaves out
only the weights. Needs gguf. Each case is a file of keys alone, written here, next to a vocabulary
in which every marker is one token. Writes ``fixtures/oracle/mmproj_tokens.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/oracle/mmproj_tokens.json"

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
    (1500, 31),
]
MILLISECONDS = [100, 1_000, 5_300, 29_900, 30_000, 31_000, 95_250]

#: What mtmd writes around images, slices and sounds.
MARKERS = (
    "<image> </image> <slice> </slice> <|vision_start|> <|vision_end|> ]<]start_of_image[>[ "
    "<|image_start|> <|image_end|> <start_of_image> <end_of_image> <fake_token_around_image> "
    "<global-img> [IMG_END] <im_start> <im_end> <patch_start> <patch_end> <patch_newline> <img> "
    "</img> <|media_start|> <|media_end|> <|media_begin|> <|im_start|> <|im_end|> <|img|> "
    "<|endofimg|> <|img_thumbnail|> <|begin_of_image|> <|end_of_image|> <|IMAGE_START|> "
    "<|IMAGE_END|> <|image> <image|> <vision> </vision> <|audio_bos|> <|audio_eos|> "
    "<|audio_start|> <|audio_end|> [BEGIN_AUDIO] <sound> <|audio> <audio|> "
    "<|audio_comp_start|> <|audio_comp_end|> <|mimo_audio_start|> <|mimo_audio_end|>"
).split()
MARKERS += ["]<]start of image[>[", "]<]end of image[>["]
MARKERS += [f"<\uff5chy_place\u2581holder\u2581no\u2581{number}\uff5c>" for number in (100, 101)]
ROWS = [f"<row_{row}_col_{column}>" for row in range(1, 13) for column in range(1, 13)]
TILES = [f"<|img_row_{row}_col_{column}|>" for row in range(1, 11) for column in range(1, 11)]

PINPOINTS = [336, 672, 672, 336, 672, 672, 1008, 336, 336, 1008]
PIXELS = {"image_min_pixels": 3136, "image_max_pixels": 1003520}

#: Projector, and keys of clip.vision next to the common ones; a key with a dot is a whole one.
VISION: list[tuple[str, dict[str, Any]]] = [
    ("mlp", {"image_size": 336}),
    ("mlp", {"image_size": 336, "image_grid_pinpoints": PINPOINTS}),
    ("ldp", {"image_size": 336}),
    ("ldpv2", {"image_size": 336, "image_grid_pinpoints": PINPOINTS}),
    ("adapter", {"image_size": 672}),
    ("adapter", {"image_size": 672, "tensor": "adapter.boi"}),
    ("cogvlm", {"image_size": 490}),
    ("janus_pro", {"image_size": 384, "patch_size": 16}),
    ("phi4", {"patch_size": 16, "image_min_pixels": 65536, "image_max_pixels": 921600}),
    ("yasa2", {"image_size": 512, "patch_size": 4}),
    *(
        ("resampler", {"image_size": 448, "clip.minicpmv_version": version})
        for version in (2, 3, 4, 5, 6, 100045)
    ),
    ("resampler", {"image_size": 448, "clip.minicpmv_version": 3, "clip.minicpmv_query_num": 32}),
    ("minicpmv4_6", {"image_size": 448}),
    ("minicpmv4_6", {"image_size": 448, "projector.scale_factor": 2}),
    ("qwen2vl_merger", {"image_size": 560}),
    ("qwen2vl_merger", {"image_size": 560, "spatial_merge_size": 2, "text": "qwen2vl"}),
    ("qwen2.5vl_merger", {"image_size": 560, "n_wa_pattern": 8, "text": "qwen2vl"}),
    ("qwen3vl_merger", {"image_size": 768, "patch_size": 16, "text": "qwen2vl"}),
    ("ling3vl", {"image_size": 560}),
    ("minimax_m3", {"image_size": 672, "spatial_merge_size": 2}),
    (
        "mimovl",
        {
            "image_size": 560,
            **PIXELS,
            "window_size": 64,
            "wa_pattern_mode": [0, 1],
            "attention.head_count_kv": 2,
        },
    ),
    ("glm4v", {"image_size": 336}),
    ("glm5v", {"image_size": 336, "swiglu_clamp": 7.0, **PIXELS}),
    ("exaone4_5", {"image_size": 560, **PIXELS, "attention.head_count_kv": 2}),
    ("youtuvl", {"image_size": 560, "patch_size": 16, "window_size": 128, "wa_layer_indexes": [1]}),
    ("muse-glimmer", {"image_size": 560}),
    ("step3vl", {"image_size": 728}),
    ("step3vl", {"image_size": 728, "projector.scale_factor": 2, "preproc_image_size": 1500}),
    ("gemma3", {"image_size": 896}),
    ("gemma3", {"image_size": 448, "projector.scale_factor": 2}),
    ("gemma3nv", {"image_size": 768, "patch_size": 3}),
    ("gemma4v", {"image_size": 224, "patch_size": 16}),
    ("gemma4v", {"image_size": 224, "patch_size": 16, "projector.scale_factor": 2}),
    ("gemma4uv", {"image_size": 224, "patch_size": 16}),
    (
        "idefics3",
        {
            "image_size": 512,
            "patch_size": 16,
            "projector.scale_factor": 4,
            "preproc_image_size": 2048,
        },
    ),
    ("idefics3", {"image_size": 364, "projector.scale_factor": 2, "preproc_image_size": 1456}),
    ("idefics3", {"image_size": 512, "patch_size": 16, "projector.scale_factor": 4}),
    ("internvl", {"image_size": 448, "projector.scale_factor": 2}),
    (
        "internvl",
        {
            "image_size": 448,
            "projector.scale_factor": 2,
            "preproc_min_tiles": 2,
            "preproc_max_tiles": 6,
        },
    ),
    ("nemotron_v2_vl", {"image_size": 512, "patch_size": 16, "projector.scale_factor": 2}),
    ("llama4", {"image_size": 336, "projector.scale_factor": 2}),
    ("pixtral", {"image_size": 1540, "patch_size": 14, "spatial_merge_size": 2}),
    ("pixtral", {"image_size": 1024, "patch_size": 16, "tensor": "v.token_embd.img_break"}),
    ("lightonocr", {"image_size": 1540, "spatial_merge_size": 2}),
    ("lightonocr", {"image_size": 1540, "spatial_merge_size": 2, "preproc_image_size": 1024}),
    ("lfm2", {"image_size": 256, "patch_size": 16, "projector.scale_factor": 2}),
    ("kimivl", {"image_size": 896, "projector.scale_factor": 2}),
    ("kimik25", {"image_size": 896, "projector.scale_factor": 2}),
    ("kimik25", {"image_size": 896, "projector.scale_factor": 2, **PIXELS}),
    ("paddleocr", {"image_size": 384, **PIXELS}),
    ("dots_ocr", {"image_size": 560, "projector.scale_factor": 2, **PIXELS}),
    ("dots3note_v", {"image_size": 560, "spatial_merge_size": 2, "expert_used_count": 2, **PIXELS}),
    ("hunyuanvl", {"image_size": 2048, "patch_size": 16, "text": "qwen2vl"}),
    (
        "hunyuanvl",
        {
            "image_size": 2048,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "text": "qwen2vl",
            "image_min_pixels": 262144,
            "image_max_pixels": 1048576,
        },
    ),
    *(
        (
            kind,
            {
                "image_size": 1024,
                "patch_size": 16,
                "sam.block_count": 1,
                "sam.head_count": 1,
                "sam.embedding_length": 8,
                "window_size": 14,
                "attention.head_count_kv": 2,
                **more,
            },
        )
        for kind in ("deepseekocr", "deepseekocr2")
        for more in ({}, {"preproc_min_tiles": 2, "preproc_max_tiles": 4})
    ),
    (
        "granite4_vision",
        {
            "image_size": 384,
            "patch_size": 16,
            "image_grid_pinpoints": [384, 768, 768, 384, 768, 768, 384, 1536],
            "feature_layer": [1],
            "projector.spatial_offsets": [0],
            "projector.query_side": 4,
            "projector.window_side": 8,
        },
    ),
    ("deepseek4v", {"image_size": 1024, "projector.scale_factor": 3, "image_min_pixels": 50176}),
]

#: Projector, and keys of clip.audio.
AUDIO: list[tuple[str, dict[str, Any]]] = [
    ("qwen2a", {}),
    ("qwen2.5o", {}),
    ("qwen3a", {}),
    ("voxtral", {"projector.stack_factor": 4}),
    ("ultravox", {"projector.stack_factor": 8}),
    ("glma", {"projector.stack_factor": 4}),
    ("meralion", {"projector.stack_factor": 15}),
    ("musicflamingo", {}),
    ("lfm2a", {}),
    ("gemma4a", {}),
    ("gemma4ua", {}),
    ("dots3note_a", {}),
    (
        "granite_speech",
        {
            "chunk_size": 200,
            "conv_kernel_size": 15,
            "max_pos_emb": 512,
            "projector.window_size": 15,
            "projector.downsample_rate": 5,
            "projector.head_count": 2,
        },
    ),
    (
        "mimo_audio",
        {
            "rvq.num_quantizers": 1,
            "rvq.codebook_size": [8],
            "wa_pattern_mode": [0, 0],
            "window_size": 8,
            "local_block_count": 1,
            "local_group_size": 4,
        },
    ),
]


def write_vocabulary(path: Path, architecture: str) -> None:
    made = gguf.GGUFWriter(path, architecture)
    made.add_block_count(1)
    made.add_context_length(64)
    made.add_embedding_length(8)
    made.add_feed_forward_length(8)
    made.add_head_count(1)
    made.add_layer_norm_rms_eps(1e-6)
    if architecture == "qwen2vl":
        made.add_rope_dimension_sections([2, 1, 1, 0])
    letters = [chr(code) for code in range(33, 127)] + ["\u010a", "\u0120"]
    special = [*MARKERS, *ROWS, *TILES]
    made.add_tokenizer_model("gpt2")
    made.add_tokenizer_pre("gpt-2")
    # a line's end, and an empty line that mtmd looks up as one token
    made.add_token_list([*letters, "\u010a\u010a", *special])
    made.add_token_types([1] * (len(letters) + 1) + [4] * len(special))
    made.add_token_merges(["\u010a \u010a"])
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


def write_mmproj(path: Path, sense: str, kind: str, keys: dict[str, Any]) -> dict[str, Any]:
    """The file's keys, as they were written, and the names of its tensors."""
    common: dict[str, Any] = {
        "embedding_length": 8,
        "feed_forward_length": 8,
        "block_count": 2,
        "projection_dim": 8,
        "attention.head_count": 2,
        "attention.layer_norm_epsilon": 1e-6,
    }
    if sense == "vision":
        common |= {
            "patch_size": 14,
            "image_size": 560,
            "image_mean": [0.5] * 3,
            "image_std": [0.5] * 3,
        }
    else:
        common |= {"num_mel_bins": 80}
    said = {
        "general.type": "mmproj",
        f"clip.has_{sense}_encoder": True,
        "clip.projector_type": kind,
        "clip.use_gelu": True,
    }
    for key, value in (common | keys).items():
        if key not in ("tensor", "text"):
            said[key if key.startswith("clip.") else f"clip.{sense}.{key}"] = value
    made = gguf.GGUFWriter(path, "clip")
    for key, value in said.items():
        if isinstance(value, bool):
            made.add_bool(key, value)
        elif key == "clip.minicpmv_version":
            made.add_int32(key, value)
        elif isinstance(value, int):
            made.add_uint32(key, value)
        elif isinstance(value, float):
            made.add_float32(key, value)
        elif isinstance(value, list):
            made.add_array(key, value)
        else:
            made.add_string(key, value)
    if "tensor" in keys:
        made.add_tensor(keys["tensor"], np.zeros(8, dtype=np.float32))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()
    idle = ("general.", "clip.use_", f"clip.{sense}.image_mean", f"clip.{sense}.image_std")
    return {key: value for key, value in said.items() if not key.startswith(idle)}


def run(program: str, vocabulary: Path, mmproj: Path, lines: list[str]) -> list[Any]:
    """Tokens of each line with the markers around, or the error."""
    done = subprocess.run(
        [program, str(vocabulary), str(mmproj)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    if len(rows) != len(lines):
        raise SystemExit(f"{mmproj.name}: {done.stdout[-300:]} {done.stderr[-300:]}")
    return [int(one[0]) if one[0].isdigit() else " ".join(one) for one in rows]


def main(program: str, *only: str) -> None:
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for architecture in ("llama", "qwen2vl"):
            write_vocabulary(Path(folder, f"{architecture}.gguf"), architecture)
        for number, (sense, kind, keys) in enumerate(
            [("vision", *one) for one in VISION] + [("audio", *one) for one in AUDIO]
        ):
            if only and kind not in only:
                continue
            path = Path(folder, f"mmproj-{number}.gguf")
            said = write_mmproj(path, sense, kind, keys)
            text = Path(folder, f"{keys.get('text', 'llama')}.gguf")
            case: dict[str, Any] = {"keys": said}
            if "tensor" in keys:
                case["tensor"] = keys["tensor"]
            try:
                if sense == "vision":
                    lines = [f"image {width} {height}" for width, height in SIZES]
                    rows = run(program, text, path, lines)
                    case["images"] = [[*size, n] for size, n in zip(SIZES, rows, strict=True)]
                else:
                    (rate,) = run(program, text, path, ["rate"])
                    lines = [f"audio {ms * rate // 1000}" for ms in MILLISECONDS]
                    rows = run(program, text, path, lines)
                    case["audio"] = [[ms, n] for ms, n in zip(MILLISECONDS, rows, strict=True)]
            except SystemExit as error:
                print(kind, str(error)[:400], file=sys.stderr)
                continue
            cases.append(case)
    lines = [json.dumps(one, separators=(",", ":")) for one in cases]
    if only:
        print("\n".join(lines))
        return
    FIXTURE.write_text('{"cases":[\n' + ",\n".join(lines) + "\n]}\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
