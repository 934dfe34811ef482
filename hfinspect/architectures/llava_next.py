"""LLaVA-NeXT, 1.6 (Liu et al. 2024; transformers/models/llava_next): images in tiles."""

from .llava import LLAVA, newline

LLAVA.like("LlavaNext", beside=newline, text_ties=False).register("llava_next")
