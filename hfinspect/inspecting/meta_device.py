"""Model types outside the catalog, built by transformers on the meta device.

Needs the extra ``hfinspect[transformers]``.  Only classes that transformers itself ships are
built, by exact name; ``auto_map`` is dropped and no code of a repo is ever imported.  The tensors
are those that ``save_pretrained`` would write; labels come from their names.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from ..analysis.labels.by_name import labels_of, layer_of
from ..analysis.labels.context import labeller
from ..core.components import Role
from ..core.config import ModelConfig
from ..errors import ConfigError, UnknownArchitectureError
from ..trees.modules import Layers, Module, ModuleList, Parameter
from ..trees.prediction import Prediction, config_dtype


def available() -> bool:
    """Whether transformers and torch are installed; neither is imported to know."""
    return find_spec("transformers") is not None and find_spec("torch") is not None


def build(config: Mapping[str, Any], unknown: UnknownArchitectureError) -> Prediction:
    """The prediction for a config that the catalog refused with ``unknown``.

    Raises ``unknown`` itself if transformers has no such class either, ConfigError if it refuses
    the config.
    """
    import torch
    import transformers

    cls = _model_class(transformers, config)
    if cls is None:
        raise unknown
    plain = {k: v for k, v in config.items() if k not in ("auto_map", "quantization_config")}
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            built = cls.config_class.from_dict(plain)
            model = cls._from_config(built)
            root = _tree(cls.__name__, model, _saved(model))
    except Exception as error:  # transformers raises whatever its classes raise
        message = f"{type(error).__name__}: {error}"[:300]
        version = transformers.__version__
        refusal = f"is refused by transformers {version}: {message}"
        raise ConfigError("config.json", refusal) from None
    finally:
        transformers.logging.set_verbosity(verbosity)
    return Prediction(
        model_type=str(getattr(built, "model_type", "")) or None,
        architecture=cls.__name__,
        root=root,
        dtype=config_dtype(ModelConfig(config)),
        because=f"built by transformers {transformers.__version__}: the catalog does not know it",
    )


def _model_class(transformers: Any, config: Mapping[str, Any]) -> Any:
    """A model class of transformers' own namespace, or None: the one that config.json names, and
    only where it names none the one that AutoModel would build."""
    from transformers import AutoConfig, AutoModel

    classes = config.get("architectures")
    name = classes[0] if isinstance(classes, list) and classes else None
    if name is not None:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            return None
        cls = getattr(transformers, name, None)
        known = isinstance(cls, type) and issubclass(cls, transformers.PreTrainedModel)
        return cls if known else None
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        return None
    try:
        config_class = type(AutoConfig.for_model(model_type))
        return AutoModel._model_mapping[config_class]
    except (KeyError, ValueError):
        return None


def _saved(model: Any) -> dict[str, tuple[tuple[int, ...], bool]]:
    """Name -> (shape, is a parameter) of what save_pretrained writes."""
    from transformers.core_model_loading import revert_weight_conversion

    state = model.state_dict()
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name in (*(model._keys_to_ignore_on_save or ()), *model.all_tied_weights_keys):
        state.pop(name, None)
    buffers = {name for name in state if name not in parameters}
    written = revert_weight_conversion(model, state)
    return {  # an index keeps no name of its own where names are converted, but its dtype
        name: (tuple(t.shape), name not in buffers and t.is_floating_point())
        for name, t in written.items()
    }


def _tree(
    class_name: str, model: Any, tensors: Mapping[str, tuple[tuple[int, ...], bool]]
) -> Module:
    classes = {name: type(module).__name__ for name, module in model.named_modules()}
    root: dict[str, Any] = {}
    labels_in = labeller((name, shape) for name, (shape, _) in tensors.items())
    stacks = {layer_of(name, labels_in(name))[0] for name in tensors}
    for name, (shape, is_parameter) in tensors.items():
        role = Role.PARAMETER if is_parameter else Role.BUFFER
        _put(root, name, Parameter(shape, role=role, component=labels_in(name).component))
    tied = dict(model.all_tied_weights_keys)
    # A name may stand for a buffer too: that of Fourier features in PE's audio model.
    state = model.state_dict() if tied else {}
    for name, keeper in tied.items():
        shape = tuple(state[keeper].shape)
        _put(root, name, Parameter(shape, tied_to=keeper, component=labels_in(name).component))
    return _module(class_name, "", root, classes, stacks)


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
