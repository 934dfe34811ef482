"""Layouts that only their own library takes, by the rule of the note about them."""

from typing import Final

from ..core.original_names import META_NAMES, MISTRAL_NAMES
from .mlx_layout import MLX_LAYOUT

#: Rule of a note -> the layout that it is about.
LAYOUTS: Final = {
    MLX_LAYOUT: "MLX's layout",
    MISTRAL_NAMES: "the names of Mistral's own code",
    META_NAMES: "the names of Meta's own code",
}
