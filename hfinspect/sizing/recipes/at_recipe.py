"""A model as it is under a recipe: the same tensors, with other bytes.

The bytes of a GGUF tensor go to the tensors of the checkpoint that it is made of, so that layers,
experts and shares of devices are found as for any checkpoint.
"""

from collections.abc import Iterable, Sequence

from ...analysis.labels.place import place_expected
from ...core.components import Role
from ...core.results import Inspection
from ...core.tensor import TensorInfo, nbytes_of
from ...core.tensor_copies import mapped
from ...errors import UsageError
from ...trees.prediction import Prediction
from ..flat_widths import with_tensors
from .ggml_mixes import GgufModel, stored_bytes
from .packed_recipes import packed_as
from .recipe_names import Recipe, find_recipe
from .size_recipes import SizedRecipes


def at_recipe(inspection: Inspection, prediction: Prediction | None, name: str) -> Inspection:
    """The same model under a recipe. Raises UsageError where the recipe is not known for it."""
    recipe = find_recipe(name)
    if recipe.kind == "stored":
        return inspection
    if recipe.kind == "plain":
        in_one = mapped(inspection.tensors, lambda tensor: _in_one_dtype(tensor, recipe))
        return with_tensors(inspection, in_one)
    sized = SizedRecipes(inspection, prediction)
    size = sized.at(recipe)
    if size.nbytes is None:
        raise UsageError(f"width {recipe.name}", "is not known for it", hint=size.why_unknown)
    if recipe.kind == "packed" and prediction is not None:
        packing = packed_as(prediction, inspection.config, recipe)
        return with_tensors(inspection, place_expected(prediction, packing).tensors)
    model = sized.gguf()
    if isinstance(model, str):  # size.nbytes is known
        return inspection
    tensors: Iterable[TensorInfo] = inspection.tensors
    if inspection.format != "gguf" and prediction is not None:
        tensors = place_expected(prediction).tensors
    return with_tensors(inspection, tuple(_converted(tensors, model, sized.kinds(recipe))))


def _converted(
    tensors: Iterable[TensorInfo], model: GgufModel, kinds: Sequence[str]
) -> Iterable[TensorInfo]:
    """The tensors that the file is made of, with the bytes that they have in it. What is in no
    checkpoint (factors of positions) is with the first."""
    nbytes: dict[str, int] = {}
    dtypes: dict[str, str] = {}
    more = 0
    for info, kind in zip(model.tensors, kinds, strict=True):
        size = stored_bytes(info, kind)
        parts = info.made_of
        if not parts:
            more += size
        for at, name in enumerate(parts):
            share = size // len(parts) + (at < size % len(parts))
            nbytes[name] = nbytes.get(name, 0) + share
            dtypes[name] = kind
    for tensor in tensors:
        if tensor.name in nbytes:
            size = nbytes[tensor.name] + more
            more = 0
            yield tensor._replace(nbytes=size, dtype=dtypes[tensor.name], extra_kind=None)


def _in_one_dtype(tensor: TensorInfo, recipe: Recipe) -> TensorInfo:
    if tensor.extra_kind is not None or tensor.tied_to is not None:
        return tensor._replace(nbytes=0, extra_kind=None)
    if tensor.role is not Role.PARAMETER:
        # Scales and zero points of a packing are no part of another one.
        buffer = tensor.nbytes if tensor.role is Role.BUFFER else 0
        return tensor._replace(nbytes=buffer)
    if tensor.parameters is None:
        raise UsageError(f"width {recipe.name}", f"needs the parameters of {tensor.name}")
    return tensor._replace(nbytes=nbytes_of(recipe.dtype, tensor.parameters), dtype=recipe.dtype)
