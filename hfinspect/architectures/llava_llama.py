"""LLaVA 1 to 1.6, NeXT and OneVision (Liu et al. 2023-2024; Li et al. 2024) as their own code saves
them; transformers' ``llava`` types are the converted forms. The tower is built from the name in
``mm_vision_tower``; files hold it where it was trained too."""

import re
from functools import partial
from typing import Any

from ..layers.multimodal import as_projector, linear_projector, linear_row
from ..trees import Component, Dim, ModelConfig, auto_class, auto_model, register_part
from ..trees.modules import Module, Weight
from .llava import CLIP_L
from .llava_onevision import SO400M

#: Towers by the last part of their name, and what their own config.json says. SigLIP is kept
#: without its last layer (26 of 27) and its pooling.
_CLIP = {**CLIP_L, "model_type": "clip_vision_model"}
_TOWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "clip-vit-large-patch14": ("CLIP", {**_CLIP, "image_size": 224}),
    "clip-vit-large-patch14-336": ("CLIP", _CLIP),
    "siglip-so400m-patch14-384": ("SigLip", {**SO400M, "model_type": "siglip_vision_model"}),
}


def _tower(c: ModelConfig) -> Module | None:
    """The vision tower that files hold, or None where they leave it to its own repo."""
    name = c.text("mm_vision_tower", "vision_tower", default="") or ""
    trained = "mm_vision_tower" in (c.text("mm_tunable_parts", default="") or "")
    saved = trained or c.flag("unfreeze_mm_vision_tower", default=False)
    last = name.rstrip("/").rsplit("/", 1)[-1]
    if last in _TOWERS:
        kind, values = _TOWERS[last]
        inner = auto_model(ModelConfig(values, "mm_vision_tower."))
        inner = Module(f"{kind}VisionModel", vision_model=inner)
        return Module(f"{kind}VisionTower", vision_tower=inner, part="vision", saved=saved)
    if saved:
        what = f"a LLaVA whose files hold the vision tower {name[:80]!r}"
        raise c.uncatalogued(what, sorted(_TOWERS))
    return None


def projector(c: ModelConfig, hidden: Dim) -> Module | None:
    """``linear``, ``identity``, or ``mlpNx_gelu``: N linear layers."""
    form = c.text("mm_projector_type", default="linear") or ""
    width = c.dim("mm_hidden_size", default=1024)
    if form in ("identity", "linear"):
        return linear_projector(width, hidden) if form == "linear" else None
    depth = re.fullmatch(r"mlp(\d{1,3})x_gelu", form)
    if depth is None or not 1 <= int(depth[1]) <= 64:  # a name may say any number
        raise c.error("mm_projector_type", form, "linear, identity or mlpNx_gelu")
    return as_projector(linear_row([width, *[hidden] * int(depth[1])]))


def causal_lm(name: str, text: str, c: ModelConfig) -> Module:
    """What stands in the base model next to the layers of text is seen."""
    causal = auto_class(c.with_values(model_type=text, architectures=None), "ForCausalLM")
    base = causal.inside("model").called(f"{name}Model")
    if c.has("mm_vision_tower", "vision_tower"):
        h = c.dim("hidden_size", default=4096)
        separated = "unpad" in (c.text("mm_patch_merge_type", default="flat") or "")
        mark = Weight(h, component=Component.EMBEDDING) if separated else None
        base.adding(vision_tower=_tower(c), mm_projector=projector(c, h), image_newline=mark)
    return causal.called(f"{name}ForCausalLM")


#: The text model inside, by what the class is called after.
_KINDS = {name: name.lower() for name in ("Llama", "Mistral", "Gemma", "Mixtral")}
_SOURCE = "github.com/haotian-liu/LLaVA and github.com/LLaVA-VL/LLaVA-NeXT"
for _of, _text in {**_KINDS, "Qwen": "qwen2"}.items():
    _type = f"llava_{_of.lower()}"
    _name = f"Llava{_of}"
    register_part(_type, f"{_name}ForCausalLM", partial(causal_lm, _name, _text), source=_SOURCE)
