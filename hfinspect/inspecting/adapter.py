"""PEFT adapters: what adapter_config.json says, and the share of the base model they train."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ..core.checkpoint import Finding
from ..core.refs import Origin
from ..core.results import Adapter, Inspection
from ..core.text import clean
from ..errors import HfinspectError

#: Target modules that are kept; a config may name every module of a model.
_MAX_TARGETS = 1_000

#: Inspects the base model at a target. Raises HfinspectError.
Inspect = Callable[[str], Inspection]


def adapter_of(
    config: Mapping[str, object] | None, origin: Origin, reach: Inspect
) -> tuple[Adapter, list[Finding], Inspection | None]:
    """The settings of an adapter, its base model's size, what there is to say of the base, and the
    base as far as it was reached.

    A base that cannot be reached is a note; one that is itself an adapter is not followed.
    """
    values = config or {}
    base = values.get("base_model_name_or_path")
    parameters = None
    base_model = None
    findings: list[Finding] = []
    if isinstance(base, str) and base.strip():
        try:
            base_model = reach(base_target(base, is_local=origin.kind in ("directory", "file")))
            parameters = base_model.parameters if base_model.adapter is None else None
        except HfinspectError as error:
            text = f"the base model {base!r:.200} was not reached: {clean(str(error))}"
            findings.append(Finding("base-model", text, severity="note"))
    else:
        findings.append(Finding("base-model", "no config names the base model", severity="note"))
    adapter = Adapter(
        type=_text(values.get("peft_type")),
        rank=_integer(values.get("r")),
        alpha=_number(values.get("lora_alpha")),
        targets=_names(values.get("target_modules")),
        saved=_names(values.get("modules_to_save")),
        task=_text(values.get("task_type")),
        base=_text(base),
        base_parameters=parameters,
    )
    return adapter, findings, base_model


def base_target(base: str, *, is_local: bool) -> str:
    """A directory next to a local adapter, else always a repo: a repo names no paths of ours."""
    if is_local and _is_directory(base):
        return base
    return base if base.startswith("hf://") else f"hf://{base}"


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def _number(value: object) -> int | float | None:
    return value if type(value) in (int, float) else None  # type: ignore[return-value]


def _names(value: object) -> tuple[str, ...]:
    """A list of names; a single one is PEFT's pattern, which is shown and never compiled."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        return ()
    return tuple(str(item) for item in value[:_MAX_TARGETS] if isinstance(item, str))
