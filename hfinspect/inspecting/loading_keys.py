"""Keys of a config from which transformers and timm would load something, made harmless.

A class is built from a stranger's config.json, and some keys of one make its constructor ask the
Hub or a disk.  Source: the calls of ``repo_exists`` and ``get_config_dict`` in
transformers/backbone_utils.py, of ``timm.create_model`` in its ``timm_backbone`` and
``timm_wrapper``, of ``get_kernel`` in integrations/hub_kernels.py and of ``from_config`` in
models/auto/auto_factory.py; ``create_model`` in timm/models/_factory.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..core.text import clean
from ..errors import ConfigError

#: They decide no tensor, and name code, kernels or a place: the class is built without them.
DROPPED: Final = frozenset(
    {
        "auto_map",
        "trust_remote_code",
        "code_revision",
        "custom_generate",
        "quantization_config",
        "name_or_path",
        "_name_or_path",
        "_commit_hash",
    }
)

#: How attention and experts are computed: plain names decide no tensor and are dropped as well,
#: the name of a repo is one of a kernel to be downloaded and run.
_IMPLEMENTATION: Final = re.compile(r"_?(attn|experts)_implementation(_internal|_autoset)?")

#: Flags by which a constructor loads weights; none is ever wanted.
_FLAGS: Final = frozenset({"use_pretrained_backbone", "pretrained"})

#: What a constructor looks up by name: a plain one among timm's or transformers' own models.
_NAMES: Final = re.compile(
    r"""(timm_)?backbone | backbone_(config|name|id) | architecture
    | ([a-z0-9_]+_)?(model|tokenizer|processor|backbone|vocoder)_(name|id|path|repo|repo_id)
    | ([a-z0-9_]+_)?(model|config|tokenizer|processor)_name_or_path
    | pretrained_[a-z_]*(name|path) | (audio_|text_)?tokenizer | processor | repo_id""",
    re.VERBOSE,
)

#: Arguments of ``timm.create_model`` that are files, whatever they are called.
_FILES: Final = frozenset({"checkpoint_path", "cache_dir"})

#: What no plain name has: separators of a repo id, a URL, a path of any system.
_PLACE: Final = re.compile(r"[/\\:]|^[.~]")

#: As deep as a config.json may be (``MAX_CONFIG_DEPTH``).
_DEEPEST: Final = 64


def harmless(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config as a class may be built from it: without what is dropped, and with
    flags that want weights off, at any depth.

    Raises ConfigError for a key that names a repo, an address or a path where the constructor
    would load from there.
    """
    return _mapping(config, "", 0)


def _mapping(config: Mapping[str, Any], prefix: str, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ConfigError("config.json", "is nested too deeply")
    cleaned: dict[str, Any] = {}
    for key, value in config.items():
        name = str(key)
        path = f"{prefix}{name}"
        implements = _IMPLEMENTATION.fullmatch(name) is not None
        if implements or _NAMES.fullmatch(name):
            _check_plain(path, value)
        if name in _FILES and value:
            raise _refused(path, str(value))
        if implements or name in DROPPED:
            continue
        cleaned[name] = False if name in _FLAGS else _value(value, path, depth)
    return cleaned


def _value(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _mapping(value, f"{path}.", depth + 1)
    if isinstance(value, (list, tuple)):
        if depth > _DEEPEST:
            raise ConfigError("config.json", "is nested too deeply")
        return [_value(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    return value


def _check_plain(path: str, value: Any) -> None:
    """Raises ConfigError where a text that is the value, or of a flat list or mapping of such, is
    a place and no name."""
    for text in _texts(value):
        if _PLACE.search(text):
            raise _refused(path, text)


def _texts(value: Any) -> Iterator[str]:
    items = value.values() if isinstance(value, Mapping) else value
    for item in items if isinstance(value, (Mapping, list, tuple)) else (value,):
        if isinstance(item, str):
            yield item


def _refused(path: str, text: str) -> ConfigError:
    return ConfigError(
        f"config key {clean(path)}",
        f"names {clean(text)!r}, from where transformers would load",
        key=clean(path),
        expected="the plain name of a model that the library itself has",
        where="config.json",
        hint="nothing is loaded for a config; a checkpoint's headers are read without it",
    )
