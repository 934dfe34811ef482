"""Where the catalog differs from what transformers saves, on purpose: one table, with reasons.

The catalog says what released files hold.  These are the differences that stay; anything else that
the fuzz finds is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Deliberate(NamedTuple):
    """``model_types`` (none: all), what the catalog does, and why.  ``how`` is what the fuzz makes
    of it: compare the modules' own names, leave out tensors, or pass the config over."""

    model_types: tuple[str, ...]
    what: str
    reason: str
    how: str


TABLE = (
    Deliberate(
        ("esm",),
        "norms have weight and bias",
        "a save turns an old rule for reading around and writes gamma and beta; released files "
        "have weight and bias",
        "module names",
    ),
    Deliberate(
        ("marian",),
        "the sinusoidal position tables are parameters of the file",
        "a save leaves them out; all released files hold them, and the class counts them",
        "module names",
    ),
    Deliberate(
        (),
        "tensors without elements are left out",
        "n_shared_experts = 0 makes transformers save matrices of no rows; they hold nothing",
        "tensors left out",
    ),
    Deliberate(
        ("kimi_k25",),
        "a text model other than DeepSeek-V3 keeps its own names",
        "transformers renames the tower's q, k, v and layers wherever they occur, also in the text "
        "model; no released file is so, and the text model's class could not read it",
        "passed over",
    ),
    Deliberate(
        (),
        "a section that names no model_type is read by the class that the composite has for it",
        "given a part's class and its composite's config, from_pretrained finds the section by its "
        "model_type alone, and without one takes the class's defaults, silently",
        "passed over",
    ),
    Deliberate(
        (),
        "a part whose section is null is refused",
        "from_pretrained takes the class's defaults, silently",
        "passed over",
    ),
    Deliberate(
        ("deimv2",),
        "of a head that all layers share, the first name is kept",
        "so does a save; the names of a model without weights, which the fuzz compares, end with "
        "the last one",
        "passed over",
    ),
)

#: Types of which the modules' own names are compared.
MODULE_NAMES = frozenset(
    name for row in TABLE if row.how == "module names" for name in row.model_types
)


def passed_over(model_type: str, part: bool, values: Mapping[str, Any]) -> bool:
    """Whether a config falls under a row that is passed over. ``part``: for a section's class."""
    if model_type == "kimi_k25":
        text = values.get("text_config")
        if isinstance(text, Mapping) and text.get("model_type", "deepseek_v3") != "deepseek_v3":
            return True
    if model_type == "deimv2" and values.get("share_bbox_head"):
        return True
    return part and any(key.endswith("_config") and values[key] is None for key in values)


def something(shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors that have elements."""
    return {name: shape for name, shape in shapes.items() if 0 not in shape}
