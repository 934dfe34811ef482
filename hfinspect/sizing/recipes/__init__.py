"""Recipes: what a model's weights take in each of the forms that people run.

Imports the catalog, quantisation and GGUF's types. A new recipe is a name in recipe_names.py and
its rule in one of the files below.

recipe_names.py    the names, and what else people call them
packed_recipes.py  GPTQ, AWQ, FP8, bitsandbytes, MLX ...: a quantization_config for each
as_gguf.py         the tensors of the GGUF file that llama.cpp's converter makes of a model
ggml_mixes.py      which type llama-quantize gives to which of them
size_recipes.py    the bytes
"""

from ...core.recipe_bytes import RecipeSize
from .recipe_names import DEFAULT_RECIPES, RECIPES, Recipe, find_recipe
from .size_recipes import recipe_sizes

__all__ = [
    "DEFAULT_RECIPES",
    "RECIPES",
    "Recipe",
    "RecipeSize",
    "find_recipe",
    "recipe_sizes",
]
