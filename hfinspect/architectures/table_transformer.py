"""Table Transformer (Smock et al. 2021): DETR with norms before attention and MLP, and so one more
after the encoder. Source: transformers/models/table_transformer."""

from ..layers.composing import changed, renamed
from ..layers.deformable import width
from ..trees import LayerNorm, ModelConfig, Module, register
from . import detr

_NAME = "TableTransformer"


def _normed(c: ModelConfig, root: Module) -> None:
    model = root.inside("model") if "model" in root.children else root
    model.inside("encoder").adding(layernorm=LayerNorm(width(c)))
    place = model.children.pop("position_embedding")
    model.inside("backbone").called("DetrConvModel").adding(position_embedding=place)
    for kind in ("Self", "Cross"):
        renamed(root, f"Detr{kind}Attention", f"{_NAME}Attention")
    renamed(root, "Detr", _NAME)


_CLASSES = {f"{_NAME}ForObjectDetection": detr.object_detection, f"{_NAME}Model": detr.model}
_NORMED = changed(_CLASSES, _normed)
register("table-transformer", _NORMED, base_prefix="model", category="vision")
