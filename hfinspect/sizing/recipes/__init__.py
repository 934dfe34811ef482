"""Recipes: what a model's weights take in each of the forms that people run.

    recipe_names.py    the names, and what else people call them
    packed_recipes.py  GPTQ, AWQ, FP8, bitsandbytes, MLX ...: a quantization_config for each
    gguf_classes.py    the classes whose conversion by llama.cpp is known
    as_gguf.py         the tensors of the GGUF file that llama.cpp's converter makes of a model
    ggml_mixes.py      which type llama-quantize gives to which of them
    size_recipes.py    the bytes
    at_recipe.py       a model with the bytes that it has under a recipe

Imports analysis, formats and trees; the plan and the table of ``memory`` ask here. A new recipe is
a row of ``recipe_names.py`` and a config in ``packed_recipes.py``, or a type in ``ggml_mixes.py``;
a new class of llama.cpp is a word of ``gguf_classes.py`` and a case that is recorded
(``tests/sizing/record_gguf_types.py``).
"""

from ...core.recipe_bytes import RecipeSize
from .recipe_names import DEFAULT_RECIPES, RECIPES, Recipe, find_recipe
from .size_recipes import recipe_sizes

__all__ = ["DEFAULT_RECIPES", "RECIPES", "Recipe", "RecipeSize", "find_recipe", "recipe_sizes"]
