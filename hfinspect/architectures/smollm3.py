"""SmolLM3 (Hugging Face 2025; transformers/models/smollm3). A Llama-like decoder with tied
embeddings. Every fourth layer has no rotary positions, which changes no tensor."""

from ..layers.windows import nowhere, windows
from ..trees import ModelConfig, WindowsOf
from .llama import LLAMA


def _windows(c: ModelConfig) -> WindowsOf:
    """Only with ``use_sliding_window``: the layers without rotary positions."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    rotary = c.raw("no_rope_layers")
    step = int(c.dim("no_rope_layer_interval", default=4))
    listed = rotary if isinstance(rotary, list) else ()
    return windows(c, None, lambda i, _: bool(listed[i] if i < len(listed) else (i + 1) % step))


LLAMA.like("SmolLM3", windows=_windows).register("smollm3")
