"""Networks that hand feature maps of several stages on to a head, and the widths of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..trees import Dim, ModelConfig, Module, Parameter, auto_class, exact, timm
from ..trees.backbone_stages import chosen_stages, stage_names
from ..trees.catalog import find_class

#: model_type -> the widths that its config hands on; the families' files fill it.
_HANDED: dict[str, Callable[[ModelConfig], tuple[Dim, ...]]] = {}


def hands_on(model_type: str, widths: Callable[[ModelConfig], tuple[Dim, ...]]) -> None:
    """Say which widths a backbone hands on, where its tensors do not."""
    _HANDED[model_type] = widths


#: timm's classes whose maps are known: the list of their stages, and whether each stands alone.
_STAGES = {
    "ResNet": ("layer", False),
    "SwinTransformer": ("layers", True),
    "RepVit": ("stages", True),
}


def older_backbone(
    c: ModelConfig, known: Callable[[str], bool], name: str, **usual: Any
) -> ModelConfig:
    """``backbone_config``, or the model of timm that stands for none: ``backbone``, else ``name``,
    with ``backbone_kwargs``, else the ``usual``. A name that is not ``known`` may be a repo's."""
    more = c.section("backbone_kwargs")
    model_name = c.text("backbone")
    plain = c.flag("use_timm_backbone", default=True) and not more.file_values
    if c.has("backbone_config") or not (plain or known(model_name or "")):
        return c.section("backbone_config")
    # Older libraries make the first convolution of it, newer ones pass over it.
    more.dim("in_chans", default=3, minimum=3, maximum=3)
    kind = {"model_type": "timm_backbone", "backbone": model_name or name}
    return ModelConfig({**(usual if plain else more.file_values), **kind}, c.path)


def maps_of_timm(c: ModelConfig, name: str, channels: int) -> Module:
    """A model of timm for its maps (``features_only``): nothing behind the last that the config's
    ``out_indices`` name, stages by themselves (timm/models/_features.py, FeatureListNet).

    Raises UnknownArchitectureError for names that no trace has or whose maps are not known.
    """
    family = find_class(name)
    if family is None or family.source != "timm":
        raise timm.unknown(name)
    args = {"in_chans": channels}
    network = family.classes[name](
        ModelConfig({"model_type": timm.WRAPPER, "num_classes": 0, "model_args": args})
    )
    if network.class_name not in _STAGES:
        raise c.unknown("features_only", True, f"false for {name}")
    stages, alone = _STAGES[network.class_name]
    parts: dict[str, Module | Parameter] = {}
    for key, part in network.children.items():
        if alone and key == stages and isinstance(part, Module):
            parts |= {f"{key}_{at}": each for at, each in part.children.items()}
        else:
            parts[key] = part
    stage_names = [key for key in parts if key.startswith(stages)]
    stage_names = stage_names if alone else ["bn1", *stage_names]  # the stem's map is the first
    count = len(stage_names)
    usual = range(len(stage_names))
    handed = c.dims("out_indices", default=usual, least=1, minimum=-count, maximum=count - 1)
    last = list(parts).index(stage_names[max(int(at) % count for at in handed)])
    return Module("FeatureListNet", dict(list(parts.items())[: last + 1]), part="vision")


def backbone(
    c: ModelConfig, *, default_type: str, least: int = 0
) -> tuple[Module, tuple[Dim, ...]]:
    """The backbone class of a nested config, and the widths of the maps that it hands on.

    Raises ConfigError for a type whose widths are not known here, and for fewer than ``least``.
    """
    network = auto_class(c, "Backbone", default_type=default_type, part="vision")
    widths = _widths(c.with_defaults(model_type=default_type), network)
    if len(widths) < least:
        raise c.miscounted("out_features", len(widths), f"at least {least}")
    return network, widths


def staged(c: ModelConfig, sizes: Sequence[Dim], stages: int | None = None) -> tuple[Dim, ...]:
    """Of the widths of the stem and of each stage those that the config chooses; ``stages`` is
    how many it names, where that is another number."""
    count = len(sizes) - 1 if stages is None else stages
    chosen = chosen_stages(c, stage_names(count))
    if any(i >= len(sizes) for i in chosen):
        raise c.error("out_features", f"stage {max(chosen)}", f"one of {len(sizes) - 1} stages")
    return tuple(sizes[i] for i in chosen)


def _widths(c: ModelConfig, network: Module) -> tuple[Dim, ...]:
    norms = network.children.get("hidden_states_norms")
    if isinstance(norms, Module):  # Swin and ConvNeXt have one for each map
        weights = [norm["weight"] for norm in norms.children.values() if isinstance(norm, Module)]
        sizes = tuple(exact(w.shape[0]) for w in weights if isinstance(w, Parameter))
        # MaskFormer's Swin has one for each stage, whichever it hands on.
        return staged(c, (*sizes[:1], *sizes)) if c.model_type == "maskformer-swin" else sizes
    if c.model_type in ("beit", "lw_detr_vit", "rf_detr_dinov2"):
        hidden = c.dim("hidden_size", default=768)
        stages = c.count("num_hidden_layers", default=12)
        return tuple(hidden for _ in chosen_stages(c, stage_names(int(stages))))
    if c.model_type in _HANDED:
        return _HANDED[c.model_type](c)
    if c.model_type not in ("resnet", "rt_detr_resnet"):
        known = ", ".join(sorted({"swin", "convnext", "beit", "resnet", *_HANDED}))
        raise c.unknown("model_type", c.model_type, f"a backbone of known widths: {known} ...")
    sizes = (
        c.dim("embedding_size", default=64),
        *c.dims("hidden_sizes", default=(256, 512, 1024, 2048)),
    )
    return staged(c, sizes)
