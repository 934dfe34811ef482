"""The bytes of a model under each recipe."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...core.cache_size import SEVERAL
from ...core.components import Role
from ...core.lazy_sequence import counted
from ...core.recipe_bytes import RecipeSize
from ...core.results import Inspection
from ...core.tensor import nbytes_of
from ...trees.prediction import Prediction
from .as_gguf import gguf_model, unpredicted
from .ggml_mixes import GgufModel, mixed, padded, refusal, stored_bytes
from .packed_recipes import packed_as
from .recipe_names import DEFAULT_RECIPES, Recipe, find_recipe


def recipe_sizes(
    inspection: Inspection, prediction: Prediction | None, names: Sequence[str] | None = None
) -> tuple[RecipeSize, ...]:
    """The model under these recipes, DEFAULT_RECIPES without any; one that does not follow from
    what is known has ``nbytes`` None and says why. Raises UsageError for a name that is none."""
    sized = SizedRecipes(inspection, prediction)
    return tuple(sized.at(find_recipe(name)) for name in names or DEFAULT_RECIPES)


class SizedRecipes:
    """One model under several recipes; what they share is made once."""

    def __init__(self, inspection: Inspection, prediction: Prediction | None) -> None:
        self._inspection = inspection
        self._prediction = prediction
        self._gguf: GgufModel | str | None = None

    def at(self, recipe: Recipe) -> RecipeSize:
        if recipe.kind == "stored":
            return self._stored(recipe)
        if self._inspection.members:
            return _unknown(recipe, SEVERAL)
        if recipe.kind == "gguf":
            return self._as_gguf(recipe)
        if self._inspection.format == "gguf":
            return _unknown(recipe, "the file is for llama.cpp")
        why = unpredicted(self._inspection, self._prediction)
        if why or self._prediction is None:
            return _unknown(recipe, why)
        if recipe.kind == "plain":
            return self._plain(recipe, self._prediction)
        return self._packed(recipe, self._prediction)

    def _stored(self, recipe: Recipe) -> RecipeSize:
        inspection = self._inspection
        more = sum(group.nbytes or 0 for group in inspection.extra_tensors)
        nbytes = None if inspection.nbytes is None else inspection.nbytes - more
        sizes = {name: totals.nbytes or 0 for name, totals in inspection.dtypes.items()}
        dtype = max(sizes, key=lambda name: sizes[name]) if sizes else ""
        engine = "llama.cpp" if inspection.format == "gguf" else "transformers"
        recipe = recipe._replace(dtype=dtype, engine=engine)
        if nbytes is None:
            return _unknown(recipe, "the dtype of some tensors is not known")
        return _known(recipe, nbytes, inspection.parameters)

    def _plain(self, recipe: Recipe, prediction: Prediction) -> RecipeSize:
        """Every parameter in one dtype; buffers as they are."""
        nbytes = 0
        for spec, count in prediction.tensors.counted():
            dtype = recipe.dtype if spec.role is Role.PARAMETER else spec.dtype
            nbytes += (nbytes_of(dtype or recipe.dtype, spec.elements) or 0) * count
        return _known(recipe, nbytes, prediction.parameters)

    def _packed(self, recipe: Recipe, prediction: Prediction) -> RecipeSize:
        layout = packed_as(prediction, self._inspection.config, recipe)
        if layout is None or layout.specs is None:
            return _unknown(recipe, _reason(layout.findings[0].text if layout else ""))
        nbytes = 0
        for spec, count in layout.tensors.counted():
            size = nbytes_of(spec.dtype or layout.dtype, prod(spec.shape))
            if size is None or (spec.packed is not None and spec.packed.varies):
                return _unknown(recipe, _reason(layout.findings[0].text if layout.findings else ""))
            nbytes += size * count
        return _known(recipe, nbytes, prediction.parameters)

    def gguf(self) -> GgufModel | str:
        """The file that llama.cpp's converter makes of it, or why that is not known."""
        if self._gguf is None:
            self._gguf = gguf_model(self._inspection, self._prediction)
        return self._gguf

    def kinds(self, recipe: Recipe) -> tuple[str, ...]:
        """The types of the tensors of ``gguf`` under one of llama-quantize's recipes."""
        model = self.gguf()
        if isinstance(model, str):
            return ()
        return mixed(model, recipe.name.removesuffix(" imatrix"), recipe.dtype, recipe.imatrix)

    def _as_gguf(self, recipe: Recipe) -> RecipeSize:
        model = self.gguf()
        if isinstance(model, str):
            return _unknown(recipe, model)
        if why := refusal(model, recipe.name.removesuffix(" imatrix")):
            return _unknown(recipe, why)
        pairs = zip(model.tensors, self.kinds(recipe), strict=True)
        sizes = [stored_bytes(tensor, kind) for tensor, kind in pairs]
        elements = sum(prod(tensor.shape) for tensor in model.tensors)
        known = _known(recipe, sum(sizes), elements, padded(sizes))
        apart = sorted({t.part for t, _ in counted(self._inspection.tensors)} - {"text"})
        if self._inspection.format == "gguf" or not apart:
            return known
        return replace(known, note=f"without the parts {', '.join(apart)}: a file of their own")


_UNTIL = ": dtypes and bytes are unknown"


def _reason(finding: str) -> str:
    """Of a finding about a config the part that is about the model."""
    _, but, rest = finding.partition(", but ")
    return (rest if but else finding).partition(_UNTIL)[0] or "its layout is not known"


def _known(
    recipe: Recipe, nbytes: int, parameters: int | None, padded_nbytes: int | None = None
) -> RecipeSize:
    bits = 8 * nbytes / parameters if parameters else None
    return RecipeSize(recipe.name, recipe.dtype, nbytes, bits, "", recipe.engine, padded_nbytes)


def _unknown(recipe: Recipe, why: str) -> RecipeSize:
    return RecipeSize(recipe.name, recipe.dtype, None, None, why, recipe.engine)
