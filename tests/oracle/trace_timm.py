"""Record timm's architectures as data: ``architectures/traced/timm_*.json``.

    pip install 'hfinspect[oracle]' timm
    python -m tests.oracle trace-timm                # all that FAMILIES lists
    python -m tests.oracle trace-timm convnext       # one file of them
    python -m tests.regenerate                       # then: the index of types and classes

A file holds the names of one module of timm.  Names of one structure share a root (see
``tracing/of_timm.py``).  Each name is compared with what timm's loader builds of a config.json: the
published one, other classes and channels, and no classes where timm builds that.  A name with one
difference is not written.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping
from fnmatch import fnmatch
from random import Random
from typing import Any

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.catalog import traced_family
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_saved

from .record import digest
from .trace import FIXTURES, TRACED, _leave_out, _parameters
from .tracing.observing import Node, flat
from .tracing.of_timm import Built, Options, Timm, Union, built, families, timm
from .tracing.writing import Table, text

#: A module of timm, which is a file, and the names of it that are taken.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "beit": ("*",),
    "convnext": ("*",),
    "deit": ("*",),
    "densenet": ("densenet121", "densenet161", "densenet169", "densenet201"),
    "efficientnet": (
        "efficientnet_b[0-5]",
        "efficientnet_lite0",
        "efficientnetv2_rw_*",
        "mnasnet_100",
        "tf_efficientnet_b[0-7]",
        "tf_efficientnet_lite*",
        "tf_efficientnetv2_*",
        "mobilenetv2_*",
    ),
    "eva": ("eva_*", "eva02_*", "vit_*_dinov3*"),
    "mlp_mixer": ("*",),
    "mobilenetv3": (
        "mobilenetv3_small_*",
        "mobilenetv3_large_075",
        "mobilenetv3_large_100",
        "tf_mobilenetv3_small_100",
        "tf_mobilenetv3_large_100",
        "mobilenetv4_conv_small",
        "mobilenetv4_conv_small_050",
        "mobilenetv4_conv_medium",
        "mobilenetv4_conv_large",
    ),
    "mobilenetv5": ("mobilenetv5_300m_enc",),
    "regnet": (
        "regnetx_002",
        "regnetx_008",
        "regnetx_032",
        "regnety_002",
        "regnety_004",
        "regnety_008",
        "regnety_016",
        "regnety_032",
        "regnety_080",
        "regnety_120",
        "regnety_160",
        "regnety_320",
    ),
    "repvit": ("*",),
    "resnet": ("*",),
    "resnetv2": ("*",),
    "swin_transformer": ("*",),
    "swin_transformer_v2": ("*",),
    "vgg": ("*",),
    "vision_transformer": (
        "vit_tiny_*",
        "vit_small_*",
        "vit_base_*",
        "vit_large_*",
        "vit_huge_*",
        "vit_giant*",
        "vit_gigantic_*",
        "vit_so400m_*",
    ),
}


def names_of(family: str) -> list[str]:
    """The registered names of a file, in the order of the registry."""
    from timm.models import list_models

    return [
        n
        for n in list_models(module=family)
        if any(fnmatch(n, pattern) for pattern in FAMILIES[family]) and not n.startswith("test_")
    ]


def recorded(library: Timm, some: list[Built], unions: list[Union], family: str) -> dict[str, Any]:
    """The trace of a file."""
    table = Table()
    rules: list[dict[str, Any]] = []
    classes: dict[str, Any] = {}
    by_name = {one.name: one for one in some}
    for union in unions:
        root = table.root(union.tree, "vision")
        for place, name in enumerate(union.names):
            one = by_name[name]
            guards = guards_of(one)
            if guards not in rules:
                rules.append(guards)
            row = {key: column[place] for key, column in union.columns.items()}
            own: dict[str, Any] = {k: 1 if v is None else v for k, v in row.items()}
            if one.options[0].height is not None:
                own |= {"img_size": one.options[0].height, "fixed_input_size": True}
            entry: dict[str, Any] = {"root": root, "guards": rules.index(guards)}
            classes[name] = {**entry, "defaults": own} if own else entry
    return {
        "format": 1,
        "library": "timm",
        "version": library.version,
        "model_type": None,
        "category": "timm",
        "base": None,
        "base_prefix": "",
        "classes": dict(sorted(classes.items())),
        "guards": rules,
        "defaults": {"num_classes": 1000, "in_chans": 3, "fixed_input_size": False},
        "nodes": table.nodes,
    }


def guards_of(one: Built) -> dict[str, Any]:
    """What a config of this name has to keep to."""
    side = one.options[0].height
    guards: dict[str, Any] = {
        "in_chans": {"least": 1},
        "global_pool": {"absent": True},
        "fixed_input_size": {"is": [side is not None]},
        "img_size": {"absent": True} if side is None else {"is": [side]},
    }
    return guards if one.bare is not None else {"num_classes": {"least": 1}, **guards}


def compared(library: Timm, trace: Mapping[str, Any], one: Built) -> tuple[int, str]:
    """How many configs give what timm builds, and the first that does not."""
    rng = Random(one.name)
    side = one.options[0].height
    published = library.about(one.name)
    configs: list[dict[str, Any]] = [
        {"architecture": one.name, "pretrained_cfg": _plain(published)},
        Options(rng.randint(2, 3000), rng.choice((1, 2, 4, 6)), side).config(one.name),
        Options(0, 3, side).config(one.name),
        Options(7, 3, None if side else 224).config(one.name),
        Options(7, 3, (side or 224) * 2).config(one.name),
        {**Options(5, 3, side).config(one.name), "model_args": {"global_pool": "max"}},
        {**Options(5, 3, side).config(one.name), "model_args": {"in_chans": 2}},
    ]
    answered = 0
    for config in configs:
        try:
            mine = _predicted(trace, one.name, config)
        except HfinspectError:
            continue
        try:
            real = flat(library.build(config))
        except Exception as error:
            return answered, f"timm refuses {config}: {error}"
        if mine != real:
            return answered, f"{config} {sorted(set(mine.items()) ^ set(real.items()))[:3]}"
        answered += 1
    return answered, "" if answered > 2 else "hardly anything is answered"


def _plain(published: Mapping[str, Any]) -> dict[str, Any]:
    """What of a published config is data."""
    wanted = (
        "num_classes",
        "input_size",
        "fixed_input_size",
        "pool_size",
        "first_conv",
        "classifier",
        "interpolation",
        "crop_pct",
        "mean",
        "std",
    )
    return {k: published[k] for k in wanted if published.get(k) is not None}


def _predicted(
    trace: Mapping[str, Any], name: str, config: Mapping[str, Any]
) -> dict[str, tuple[int, ...]]:
    root = traced_family(trace).classes[name](ModelConfig(config))
    return {s.name: tuple(map(int, s.shape)) for s in expected_tensors(root) if is_saved(s)}


def _built(library: Timm, name: str, failed: dict[str, str]) -> Built | None:
    try:
        return built(library, name)
    except Exception as error:
        failed[name] = f"{type(error).__name__}: {error}"[:200]
    return None


def record(library: Timm, family: str) -> None:
    """Write the trace of a file and recordings of its names."""
    failed: dict[str, str] = {}
    some = [one for name in names_of(family) if (one := _built(library, name, failed))]
    unions = list(families(some))
    trace = recorded(library, some, unions, family)
    total = 0
    for one in some:
        answered, wrong = compared(library, trace, one)
        total += answered
        if wrong:
            failed[one.name] = wrong[:200]
    kept = [one for one in some if one.name not in failed]
    if len(kept) < len(some):
        unions = list(families(kept))
        trace = recorded(library, kept, unions, family)
    file = f"timm_{family}.json"
    (TRACED / file).write_text(text(trace))
    records = {
        one.name: _recording(library, one.name, one.trees[0], one.options[0]) for one in kept
    }
    (FIXTURES / file).write_text(text({"recordings": records}))
    _leave_out("timm", family, [*(one.name for one in some), *failed], failed)
    print(
        f"{family}: {len(kept)} names, {len(unions)} roots, {total} comparisons, "
        f"{len((TRACED / file).read_bytes())} bytes, left out: {failed}",
        flush=True,
    )


def _recording(library: Timm, name: str, root: Node, options: Options) -> dict[str, Any]:
    real = flat(root)
    lines = [f"{n} {'x'.join(map(str, s)) or 'scalar'}" for n, s in real.items()]
    return {
        "library": "timm",
        "version": library.version,
        "architecture": name,
        "given": options.config(name),
        "parameters": _parameters(root),
        "count": len(lines),
        "digest": digest(lines),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="files, all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for family in options.families or FAMILIES:
        record(timm(), family)
    return 0


if __name__ == "__main__":
    sys.exit(main())
