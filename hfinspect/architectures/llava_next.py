"""LLaVA-NeXT, 1.6 (Liu et al. 2024). Source: transformers/models/llava_next/modeling_llava_next.py.

LLaVA with images cut into tiles; a learned vector marks the end of each row of patches.
"""

from __future__ import annotations

from .llava import register_llava

register_llava("LlavaNext", "llava_next", newline=True, text_ties=False)
