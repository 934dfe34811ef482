"""Layouts that only their own library takes, by the rule of the note about them."""

from typing import Final

from .mlx_layout import MLX_LAYOUT

#: Rule of a note -> the layout that it is about.
LAYOUTS: Final = {MLX_LAYOUT: "MLX's layout"}
