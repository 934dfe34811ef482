"""A model of timm as transformers loads and saves it: timm's tensors under ``timm_model``.
Source of shapes: transformers/models/timm_wrapper. ``architecture`` names the model (see
trees/timm.py); the classifier has ``num_classes`` outputs, the base model has none."""

from functools import partial

from ..layers import fastvit
from ..layers.backbones import maps_of_timm
from ..layers.composing import FormPart, composed
from ..trees import ModelConfig, Module, register, timm
from ..trees.catalog import find_class


def _model(c: ModelConfig, *, labelled: bool = False) -> Module:
    # A file has num_classes; the class itself is given num_labels.
    classes = int(c.dim("num_classes", "num_labels")) if labelled else 0
    name = c.text("architecture", default="resnet50") or ""
    args = c.section("model_args")
    if args.flag("features_only", default=False) and classes == 0:
        known = {"in_chans", "features_only", "out_indices"}
        if more := sorted(set(args.values) - known):
            raise args.unknown(more[0], args.raw(more[0]), "none next to features_only")
        return maps_of_timm(args, name, int(args.dim("in_chans", default=3)))
    merged = set(args.values) == {"inference_mode"} and args.flag("inference_mode", default=False)
    if merged and name.partition(".")[0] == fastvit.NAME and classes == 0:
        return fastvit.merged_model()
    family = find_class(name)
    if family is None or family.source != "timm":
        raise timm.unknown(name)
    values = {"num_classes": classes, "model_args": c.raw("model_args")}
    return family.classes[name](ModelConfig({"model_type": timm.WRAPPER, **values}))


_LABELLED: FormPart = partial(_model, labelled=True)
_PARTS = {"ForImageClassification": _LABELLED, "Model": _model}
_CLASSES = {f"TimmWrapper{ending}": {"timm_model": build} for ending, build in _PARTS.items()}
register(timm.WRAPPER, composed(_CLASSES), category="vision")
