"""Families as data: the reader of ``architectures/traced/*.json``.

A trace is recorded from the library's own constructor (``python -m tests.oracle trace``). It has a
table of nodes, and for each class the node at its root and the guards under which it is exact::

    {"model_type": "pvt", "classes": {"PvtModel": {"root": 17, "guards": 0}}, "nodes": [...],
     "guards": [{"hidden_act": {"is": ["gelu", "relu"]}}], "defaults": {"hidden_sizes": [...]}}

A node is one of

- a tensor: the list of its sizes, or ``{"shape": [...], "buffer": true, "dtype": "I64",
  "tied": "other.name"}``; with ``"saved": false`` a buffer that only older files hold
- a module: ``{"class": "PvtLayer", "in": {"name": node, ...}}``
  which may say what it keeps between tokens, ``"keeps": [{"key": ..., "value": ...}, ...]``
  (``cache_layout.py``), and as a layer how far back it looks, ``"window": expression``
- a list: ``{"class": "ModuleList", "count": expression, "pick": [[condition, node], ...]}``, of
  whose members each is the first node whose condition holds (null: always); with
  ``"place": "stage"`` all that is inside may read ``stage``, the number of the member: a list of
  stages, each with its own entry of the config's lists; with ``"names": true`` the members are
  called stem, stage1, ... and those of which no condition holds are left out
- a part: ``{"section": "vision_config", "class": "SiglipVisionModel"}``, a class of the catalog,
  written or traced, built from that section (``""``: from the config itself)
- a choice: ``{"if": condition, "then": node, "else": node or null}``
- a number: the node of that place in the table, which must stand earlier.

A class with ``"cache"`` has shown what its layers keep (``python -m tests.oracle record caches
--traced``): what the kinds of their projections say, or with ``"like"`` what the layers of another
family keep that is built from a section. Of any other class it is not known::

    "cache": {"like": {"section": "text_config", "class": "LlamaModel",
                       "layers": "language_model.layers"}, "static": false, "generates": true}

Expressions and conditions are those of ``arithmetic.py``. A guard that fails is a refusal that
names the key: a trace is exact or says nothing. What is malformed is refused in the same way.
A default is a value, ``{"of": expression}``, or ``{"of": {"count": ..., "pick": ...}}`` of a list
whose entries are texts, numbers or expressions, or without count of the one value that is chosen.
``absent`` has the sections that a class takes where config.json has none, where those are not the
default of the section's own class.
A class may have further roots, each with guards of its own, under ``"or"``: configs that differ in
more than numbers (four levels in place of one). The first whose guards hold is taken.
``also`` are further model types of the same classes, ``aliases`` prefixes of other spellings that
files have (``Family`` in ``catalog.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ..core.config import ModelConfig
from ..errors import ConfigError, UnknownArchitectureError
from .arithmetic import NoValueError
from .guarded import GuardedRead
from .modules import Layers, Module, each_module
from .trace_nodes import Build, Building

#: Roots of one class: twice as many as any has.
MAX_ROOTS: Final = 32


def _no_other(name: str) -> Build:
    raise ValueError(f"{name} is not a class of the trace")


def builders(
    trace: Mapping[str, Any], other: Callable[[str], Build] = _no_other
) -> dict[str, Build]:
    """Class -> what builds its tree from a config; ``other`` gives that of a class of the catalog.

    A builder raises UnknownArchitectureError where a guard does not hold, and ConfigError.
    """
    return {str(name): partial(_built, trace, other, name) for name in trace["classes"]}


def _malformed(where: str, problem: str) -> UnknownArchitectureError:
    return UnknownArchitectureError(f"the trace {where}", problem, hint="record it again")


def _built(
    trace: Mapping[str, Any], other: Callable[[str], Build], name: str, config: ModelConfig
) -> Module:
    """The module tree of one class at a config."""
    try:
        entry = trace["classes"][name]
        reads = [
            GuardedRead(config, name, trace, root)
            for root in (entry, *entry.get("or", ())[: MAX_ROOTS - 1])
        ]
        if trace.get("library") == "transformers":
            reads[0].check_layers()
        # Where no root's guards hold, the refusal is that of the root which lacks least.
        failing = ((read.failing(), read) for read in reads)
        errors, read = min(failing, key=lambda both: len(both[0]))
        if errors:
            raise errors[0]
        cache = entry.get("cache")
        root = Building(read, trace, builders(trace, other), other, cache).node(read.entry["root"])
        if cache and "like" in cache and isinstance(root, Module):
            _keep_like(root, config, cache["like"], other)
    except NoValueError as error:
        raise ConfigError(
            "config.json", f"gives {name} a size that {error}", where=error.key, key=error.key
        ) from None
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise _malformed(name, f"is malformed ({type(error).__name__}: {error})") from None
    if not isinstance(root, Module):
        raise _malformed(name, "has no module at its root")
    return root


def _keep_like(
    root: Module, config: ModelConfig, like: Mapping[str, Any], other: Callable[[str], Build]
) -> None:
    """The layers at a path keep what those of the section's own model keep."""
    model = other(str(like["class"]))(config.section(str(like["section"])))
    place = root
    for name in str(like["layers"]).split("."):
        inner = place.children[name]
        if not isinstance(inner, Module):
            raise ValueError("a cache of what is not a module")
        place = inner
    layers = next(part for part in each_module(model) if isinstance(part, Layers))
    if not isinstance(place, Layers) or len(place.children) != len(layers.children):
        raise ValueError("layers that are not those of the section")
    place.like = layers
