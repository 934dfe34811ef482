"""A model of timm as transformers loads and saves it: timm's tensors under ``timm_model``.

Source of shapes: transformers/models/timm_wrapper. ``architecture`` names the model (see
trees/timm.py); the classifier has ``num_classes`` outputs, the base model has none.
"""

from ..core.config import ModelConfig
from ..layers import fastvit
from ..layers.composing import Part, composed
from ..trees import timm
from ..trees.catalog import find_class, register
from ..trees.modules import Module


def timm_model(c: ModelConfig, classes: int) -> Module:
    """The tree of the architecture that a config names."""
    name = c.text("architecture", default="resnet50") or ""
    args = c.section("model_args")
    merged = set(args.values) == {"inference_mode"} and args.flag("inference_mode", default=False)
    if merged and name.partition(".")[0] == fastvit.NAME and int(classes) == 0:
        return fastvit.merged_model()
    family = find_class(name)
    if family is None or family.source != "timm":
        raise timm.unknown(name)
    found: dict[str, object] = {"model_type": timm.WRAPPER, "num_classes": int(classes)}
    if c.has("model_args"):
        found["model_args"] = c.raw("model_args")
    return family.classes[name](ModelConfig(found))


_CLASSES: dict[str, dict[str, Part]] = {
    # A file has num_classes; the class itself is given num_labels.
    "TimmWrapperForImageClassification": {
        "timm_model": lambda c: timm_model(c, c.dim("num_classes", "num_labels"))
    },
    "TimmWrapperModel": {"timm_model": lambda c: timm_model(c, 0)},
}
register(timm.WRAPPER, composed(_CLASSES), category="vision")
