"""Aria (Rhymes AI 2024): a tower, a resampler of learned queries, a text model with experts.
Source: transformers/models/aria. Files keep the language model as a causal LM of its own."""

from ..layers.blocks import activation
from ..layers.multimodal import projecting, projector, register_headed, tower_width
from ..layers.vision import multihead_attention, narrowed_attention
from ..trees import Dim, LayerNorm, Linear, ModelConfig, Module, Weight, auto_model, named
from .aria_text import ARIA
from .idefics3 import vision_model


def _queries(c: ModelConfig) -> Dim:
    """The most queries that any number of patches gets."""
    table = c.section(key := "projector_patch_to_query_dict", default={"1225": 128, "4900": 256})
    if not table.values:
        raise c.error(key, table.values, "at least one entry")
    # Numbers as keys: text in JSON, and numbers in what a config object says of itself.
    counts = ModelConfig({str(n): count for n, count in table.values.items()}, table.path)
    most = max(int(counts.dim(n)) for n in counts.values)
    # A saved config names it as well.
    return c.dim(f"max_value_{key}", default=named(most, "queries", f"largest value of {key}"))


def _cross_attention(h: Dim) -> Module:
    """Projections of its own, and then those of torch's MultiheadAttention: 8·H²."""
    inner = projecting(multihead_attention(h))
    norm = LayerNorm(h)
    block = narrowed_attention("AriaCrossAttention", h, bias=False).without("o_proj")
    last = Linear(h, h, kind="output")
    parts = {"multihead_attn": inner, "linear": last, "layer_norm": norm, "layer_norm_kv": norm}
    return projecting(block).adding(**parts)


def _parts(c: ModelConfig, headed: bool) -> dict[str, Module]:
    text = c.section("text_config")
    vision = c.section("vision_config")
    native = vision.kind == "idefics3_vision"
    tower = vision_model("Idefics3", vision) if native else auto_model(vision, part="vision")
    h = vision.dim("hidden_size", default=1152 if native else tower_width(tower))
    tied = "language_model.model.embed_tokens.weight" if c.tied(default=False) else None
    head = ARIA.words(text, tied) if headed else None
    width = ARIA.width(text)
    return {
        "vision_tower": tower,
        "multi_modal_projector": projector(
            "AriaProjector",
            query=Weight(_queries(c), h),
            cross_attn=_cross_attention(h),
            layer_norm=LayerNorm(h),
            feed_forward=Module(
                "AriaProjectorMLP",
                linear_in=Linear(h, width, bias=False),
                linear_out=Linear(width, width, bias=False),
                act=activation("gelu_new"),
            ),
        ),
        "language_model": Module("AriaTextForCausalLM", model=ARIA.model(text), lm_head=head),
    }


register_headed("aria", "Aria", _parts)
