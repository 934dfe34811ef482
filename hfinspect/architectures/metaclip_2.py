"""MetaCLIP 2 (Chuang et al. 2025): CLIP (clip.py) under other class names, its words multilingual.
Source: transformers/models/metaclip_2."""

from ..layers.composing import renamed_classes
from ..trees.catalog import find_type, register

for _type in ("clip", "clip_text_model", "clip_vision_model"):
    _clip = find_type(_type)
    assert _clip is not None
    _same = {name: build for name, build in _clip.classes.items() if name.startswith("CLIP")}
    _own = renamed_classes(_same, "CLIP", "MetaClip2")
    _kind = _type.replace("clip", "metaclip_2")
    register(_kind, _own, base_prefix=_clip.base_prefix, category=_clip.category)
