"""Model types outside the catalog, built by transformers on the meta device.

Needs the extra ``hfinspect[transformers]``.  Only classes that transformers itself ships are
built, by exact name, from a config in which nothing is left to load (``loading_keys``), in a
process of their own without network, token and home (``meta_process``).  The tensors are those that
``save_pretrained`` would write; labels come from their names.
"""

import json
import sys
import threading
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from ..analysis.labels.by_name import labels_of, layer_of
from ..analysis.labels.context import labeller
from ..core.components import Role
from ..core.config import ModelConfig
from ..core.progress import tell
from ..core.text import clean
from ..errors import ConfigError, UnknownArchitectureError
from ..trees.modules import Layers, Module, ModuleList, Parameter
from ..trees.prediction import Prediction, config_dtype
from .loading_keys import harmless
from .meta_answer import BuildAnswer, BuildRefused, Built, Exhausted, NoSuchClass, parsed

#: Answers that are kept: a config comes several times where keys of it are changed.
_KEPT: Final = 32
#: One process at a time, as each takes most of a gigabyte.
_ALONE: Final = threading.Lock()


def available() -> bool:
    """Whether transformers and torch are installed, neither of which is imported to know, and
    another process can be started."""
    if sys.platform == "emscripten" or not sys.executable:
        return False
    return find_spec("transformers") is not None and find_spec("torch") is not None


def build(config: Mapping[str, Any], unknown: UnknownArchitectureError) -> Prediction:
    """The prediction for a config that the catalog refused with ``unknown``.

    Raises ``unknown`` itself if transformers has no such class either, ConfigError if it refuses
    the config or that names something to be loaded, LimitError if it takes too long or too much.
    """
    try:
        text = json.dumps(harmless(config))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("config.json", "holds values that JSON does not have") from None
    with _ALONE:
        answer = _answer(text)
    if isinstance(answer, NoSuchClass):
        raise unknown
    if isinstance(answer, BuildRefused):
        refusal = f"is refused by transformers {answer.version}: {answer.why}"
        raise ConfigError("config.json", refusal)
    return Prediction(
        model_type=answer.model_type or None,
        architecture=answer.architecture,
        root=_tree(answer),
        dtype=config_dtype(ModelConfig(config)),
        because=f"built by transformers {answer.version}: the catalog does not know it",
    )


@lru_cache(_KEPT)
def _answer(text: str) -> Built | BuildRefused | NoSuchClass:
    """What transformers makes of a config. Raises LimitError and ConfigError, which are not
    kept."""
    from . import meta_process

    config = json.loads(text)
    tell(
        f"building {_subject(config)} with transformers, in a process without network: "
        "some ten seconds, up to 800 MB of memory"
    )
    try:
        answer: BuildAnswer = parsed(meta_process.answer_to(config))
    except OSError as error:
        why = clean(error.strerror or str(error))
        raise ConfigError(
            "config.json", f"could not be built: no process can be started: {why}"
        ) from None
    if isinstance(answer, Exhausted):
        raise meta_process.exhausted()
    return answer


def _subject(config: Mapping[str, Any]) -> str:
    classes = config.get("architectures")
    name = classes[0] if isinstance(classes, list) and classes else config.get("model_type")
    return clean(str(name), 100)


def _tree(built: Built) -> Module:
    root: dict[str, Any] = {}
    labels_in = labeller((name, shape) for name, (shape, _) in built.tensors.items())
    stacks = {layer_of(name, labels_in(name))[0] for name in built.tensors}
    for name, (shape, is_parameter) in built.tensors.items():
        role = Role.PARAMETER if is_parameter else Role.BUFFER
        _put(root, name, Parameter(shape, role=role, component=labels_in(name).component))
    for name, (keeper, shape) in built.tied.items():
        _put(root, name, Parameter(shape, tied_to=keeper, component=labels_in(name).component))
    return _module(built.architecture, "", root, built.modules, stacks)


def _put(root: dict[str, Any], name: str, leaf: Parameter) -> None:
    *path, last = name.split(".")
    place = root
    for segment in path:
        place = place.setdefault(segment, {})
    place[last] = leaf


def _module(
    class_name: str,
    path: str,
    children: Mapping[str, Any],
    classes: Mapping[str, str],
    stacks: Collection[str | None],
) -> Module:
    built = {
        name: child
        if isinstance(child, Parameter)
        else _module(
            classes.get(f"{path}{name}", "Module"), f"{path}{name}.", child, classes, stacks
        )
        for name, child in children.items()
    }
    part = labels_of(f"{path}x").part if path else "text"
    if children and all(name.isdigit() for name in children) and _is_modules(built.values()):
        # A list of layers if the names' own rule takes these numbers for layers.
        modules = Layers([]) if path[:-1] in stacks else ModuleList([])
        modules.children.update(built)
        return modules
    return Module(class_name, built, part=None if part == "text" else part)


def _is_modules(children: Iterable[Module | Parameter]) -> bool:
    return all(isinstance(child, Module) for child in children)
