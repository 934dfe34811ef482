"""What the small JSON files say of the quantisation. Written by others, so any value may be
anything; what is not of the expected type counts as not said."""

from collections.abc import Iterator, Mapping
from dataclasses import field

from ...core.records import dataclass

#: Sections that a composite model's config may keep the quantisation in.
_SECTIONS = ("text_config", "llm_config", "language_config")

#: Groups of a compressed-tensors config that are looked at.
_MAX_GROUPS = 1_000


@dataclass(frozen=True)
class Declared:
    """``method`` is the exact key (``gptq``), empty if nothing names one; ``values`` the section
    that describes it and ``where`` the place of that section."""

    method: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    where: str = ""

    def integer(self, *keys: str) -> int | None:
        """A whole number, or None."""
        for key in keys:
            value = self.values.get(key)
            if type(value) is int:
                return value
        return None

    def text(self, *keys: str) -> str:
        """A string in lower case, or the empty one."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, str):
                return value.lower()
        return ""

    def section(self, key: str) -> Mapping[str, object]:
        """A nested object, empty if it is none."""
        value = self.values.get(key)
        return value if isinstance(value, Mapping) else {}

    def names(self, *keys: str) -> list[object] | None:
        """The first list there is under one of these keys, None if there is none."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, list):
                return value
        return None

    def weight_schemes(self) -> Iterator[Mapping[str, object]]:
        """The ``weights`` of every group of a compressed-tensors config."""
        for group in list(self.section("config_groups").values())[:_MAX_GROUPS]:
            weights = group.get("weights") if isinstance(group, Mapping) else None
            if isinstance(weights, Mapping):
                yield weights


def declared_in(
    config: Mapping[str, object] | None, companions: Mapping[str, Mapping[str, object]]
) -> Declared:
    """The quantisation that config.json names, or else one of the files next to it."""
    for place, values in _in_config(config or {}):
        declared = _from_section(place, values)
        if declared is not None:
            return declared
    other = companions.get("hf_quant_config.json")
    if other is not None:
        inner = other.get("quantization")
        values = inner if isinstance(inner, Mapping) else other
        return Declared("modelopt", values, "hf_quant_config.json")
    other = companions.get("quantize_config.json")
    if other is not None:
        return Declared(_method_of(other) or "gptq", other, "quantize_config.json")
    return Declared()


def _in_config(config: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    nested = [("", config), *((f"{key}.", config.get(key)) for key in _SECTIONS)]
    for key in ("quantization_config", "compression_config", "quantization"):
        for place, section in nested:
            values = section.get(key) if isinstance(section, Mapping) else None
            if isinstance(values, Mapping) and values:
                yield f"config.json: {place}{key}", values


def _from_section(place: str, values: Mapping[str, object]) -> Declared | None:
    method = _method_of(values)
    if not method:
        if values.get("load_in_4bit") is True or values.get("load_in_8bit") is True:
            method = "bitsandbytes"  # configs of transformers before 4.35 do not name it
        elif "quant_algo" in values:
            method = "modelopt"
        elif "config_groups" in values or "sparsity_config" in values:
            method = "compressed-tensors"
        elif not {"desc_act", "damp_percent"}.isdisjoint(values):
            method = "gptq"
        elif not {"w_bit", "zero_point"}.isdisjoint(values):
            method = "awq"
        elif "bits" in values and "group_size" in values:
            method = "mlx"  # mlx_lm's "quantization", repeated as "quantization_config"
        else:
            return None
    return Declared(method, values, place)


def _method_of(values: Mapping[str, object]) -> str:
    method = values.get("quant_method")
    return method.lower() if isinstance(method, str) else ""


def group_size_of(declared: Declared) -> int | None:
    """The number of weights that share a scale, if the config names one for all (or the method has
    but one)."""
    sizes = [scheme.get("group_size") for scheme in declared.weight_schemes()]
    sizes.append(declared.integer("group_size", "q_group_size"))
    known = {size for size in sizes if type(size) is int and size > 0}
    if not known and declared.method == "mxfp4":
        return 32
    if not known and declared.text("quant_algo").endswith("nvfp4"):
        return 16
    return known.pop() if len(known) == 1 else None
