"""LLaVA-NeXT, 1.6 (Liu et al. 2024; transformers/models/llava_next). LLaVA with images cut into
tiles; a learned vector marks the end of each row of patches."""

from .llava import LLAVA, newline

LLAVA.like("LlavaNext", beside=newline, text_ties=False).register("llava_next")
