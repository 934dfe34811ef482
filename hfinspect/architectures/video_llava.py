"""Video-LLaVA (Lin et al. 2023; transformers/models/video_llava): a tower for each medium."""

from .llava import CLIP_L, LLAVA

LLAVA.like(
    "VideoLlava",
    vision_defaults={**CLIP_L, "image_size": 224},
    text_ties=False,
    towers=("video_tower", "image_tower"),
).register("video_llava")
