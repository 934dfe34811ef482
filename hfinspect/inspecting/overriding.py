"""``--set``: the keys that a model type reads, by all their names, and what comes of a change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.checkpoint import Finding
from ..core.config import keys_read
from ..core.config_keys import has_field
from ..core.overrides import WITHOUT_EFFECT, Override, applied, value_at
from ..core.refs import Origin
from ..errors import ConfigError, HfinspectError, UsageError
from ..trees.prediction import Prediction
from ..trees.prediction import predict as predict_from_catalog
from .build import Inspected, from_prediction
from .config_alone import predict

#: Keys that say something else than which tensors there are: the dtype, the packing, the context.
_OTHERWISE_READ = frozenset(
    """architectures dtype max_position_embeddings model_type quantization_config rope_parameters
    rope_scaling rope_theta sliding_window torch_dtype use_cache""".split()
)

#: How alike a key is to the one that was meant: hidden_sizes and hidden_size are at 0.96.
_NEARLY = 0.92

#: Names that one getter takes, the first of them the family's own; all of them dotted.
_Names = Collection[tuple[str, ...]]


class Changed(NamedTuple):
    """A config with keys changed, what it predicts, and the changes as a result shows them."""

    config: Mapping[str, Any]
    prediction: Prediction
    overrides: tuple[Override, ...] = ()
    findings: tuple[Finding, ...] = ()


def changed(config: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> Changed:
    """What a config predicts after ``overrides``.

    A key is set under all of its spellings that count: ``num_hidden_layers`` is ``n_layer`` to
    GPT-2. One that changes no tensor is a note. Raises UsageError for a key that neither the config
    nor the model type has, and what ``predict`` raises.
    """
    if not overrides:
        return Changed(config, predict(config))
    names = {*_names_read(config), *_names_read(applied(config, overrides))}
    result = _set(config, overrides, names)
    prediction = predict(result)
    if prediction.family is not None:  # else nobody knows what the class reads
        for key in overrides:
            _check_known(key, config, names)
    return Changed(
        result,
        prediction,
        tuple(
            Override(key, value, _before(config, key, names)) for key, value in overrides.items()
        ),
        tuple(_without_effect(config, overrides, prediction, names)),
    )


def inspect_config(
    name: str,
    origin: Origin,
    config: Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    findings: Sequence[Finding] = (),
    companions: Mapping[str, Mapping[str, object]] | None = None,
    layout: str = "model",
) -> Inspected:
    """What a config predicts, some of its keys changed. ``companions`` are the small files that
    say more of its quantisation."""
    overridden = changed(config, overrides)
    inspection = from_prediction(
        name,
        origin,
        overridden.prediction,
        config=overridden.config,
        overrides=overridden.overrides,
        companions=companions,
        findings=(*overridden.findings, *findings),
        layout=layout,
    )
    return Inspected(inspection, overridden.prediction)


def _names_read(config: Mapping[str, Any]) -> set[tuple[str, ...]]:
    with keys_read() as keys, suppress(HfinspectError):  # what was read before it, is known
        predict_from_catalog(config)  # of another class nobody knows what it reads
    return keys


def _set(
    config: Mapping[str, Any], overrides: Mapping[str, Any], names: _Names
) -> Mapping[str, Any]:
    for key, value in overrides.items():
        config = applied(config, {key: value})
        others = [other for other in _spellings(key, names) if other != key]
        config = applied(config, dict.fromkeys(others, value))
    return config


def _spellings(key: str, names: _Names) -> list[str]:
    """The other names of a key.

    A getter's later name is another spelling of its first, unless it has a meaning of its own: then
    some getter reads it first, and not with the same other name after it
    (``moe_intermediate_size``, failing that ``intermediate_size``).
    """
    first = {spelling[0] for spelling in names}
    pairs = {(spelling[0], other) for spelling in names for other in spelling[1:]}
    spellings = []
    for canonical, other in sorted(pairs):
        if key in (canonical, other) and (other not in first or (other, canonical) in pairs):
            spellings.append(canonical if key == other else other)
    return spellings


def _before(config: Mapping[str, Any], key: str, names: _Names) -> Any:
    values = (value_at(config, name) for name in (key, *_spellings(key, names)))
    return next((value for value in values if value is not None), None)


def _check_known(key: str, config: Mapping[str, Any], names: _Names) -> None:
    """Raises UsageError, with the nearest known keys, for a key of neither the config nor what
    reads it: the family here or the config class in transformers."""
    known = {*_flat(config), *(name for spelling in names for name in spelling), *_OTHERWISE_READ}
    if key in known or any(name.startswith(f"{key}.") for name in known):
        return
    # Of the class in transformers, though no tensor depends on it; or in a key of any content.
    if has_field(config, key) or key.partition(".")[0] in _OTHERWISE_READ:
        return
    import difflib

    nearest = difflib.get_close_matches(key, sorted(known), n=3, cutoff=0.5)
    raise UsageError(
        f"config key {key}",
        "is unknown: neither the config nor its model type has it",
        hint=f"did you mean {' or '.join(nearest)}?" if nearest else "check the spelling",
    )


def check_spelling(config: Mapping[str, Any]) -> None:
    """Raises ConfigError for a key of a mapping that nothing reads and that is nearly the name of
    one that is absent: ``hidden_sizes`` would leave the class's default in place.

    Real files have keys of any name, so what is like none of the class's keys is left alone.
    """
    import difflib

    names = _names_read(config)
    read = {name for spelling in names for name in spelling if "." not in name}
    absent = sorted(read - config.keys())
    for key in config:
        if key in read or key in _OTHERWISE_READ or has_field(config, key):
            continue
        near = difflib.get_close_matches(key, absent, n=1, cutoff=_NEARLY)
        if near:
            raise ConfigError(f"config key {key}", "is unknown", hint=f"did you mean {near[0]}?")


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    for key, value in config.items():
        yield prefix + key
        if isinstance(value, Mapping) and len(prefix) < 200:
            yield from _flat(value, f"{prefix}{key}.")


def _without_effect(
    config: Mapping[str, Any], overrides: Mapping[str, Any], prediction: Prediction, names: _Names
) -> Sequence[Finding]:
    """The overrides that change no tensor: left out, the prediction is the same."""
    from ..analysis.quantization.packing import packing

    findings = []
    for key in overrides:
        others = {other: value for other, value in overrides.items() if other != key}
        try:
            before = _set(config, others, names)
            without = predict(before)
            same = (without.specs, without.dtype) == (prediction.specs, prediction.dtype)
            after = _set(config, overrides, names)
            same = same and packing(without, before) == packing(prediction, after)
        except HfinspectError:  # without it the config is malformed: it does change something
            same = False
        if same:
            text = f"{key} changes no tensor"
            findings.append(Finding(WITHOUT_EFFECT, text, severity="note"))
    return findings
