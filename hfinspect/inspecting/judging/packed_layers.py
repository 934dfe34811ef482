"""What loaders require of packed layers: scales of the right shape, tables, and what the config
says of which modules are packed.

Tensors are looked at by kind: one of each group of layers that are alike. Where as many scales are
missing as weights have none, single names are looked at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...analysis.quantization.declared import Declared, declared_in
from ...core.components import Component
from ...core.lazy_sequence import counted
from ...core.tensor import TensorInfo
from ...core.wholeness import Problem, of_names
from .evidence import Evidence

#: Keys under which configs list modules that stay as they are.
_LEFT_OUT: Final = (
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "ignored_layers",
    "llm_int8_skip_modules",
)
#: The packed weight of a module, by the ends of names that its method writes.
_WEIGHTS: Final = (".qweight", ".weight_packed")
#: Settings of MLX that are no module's override.
_OF_MLX: Final = frozenset({"group_size", "bits", "mode", "linear_class", "quantize_input"})
#: Parts that tools leave in 16 bits without saying so.
_USUALLY_PLAIN: Final = frozenset(
    {Component.EMBEDDING, Component.NORM, Component.HEAD, Component.ROUTER, Component.OTHER}
)
_WIDE: Final = ("BF16", "F16", "F32")
#: Problems that HI346 shows; those of shapes are HI313's.
SOURCE: Final = "packing"


def packed_layers(evidence: Evidence) -> Iterator[Problem]:
    """Every contradiction between a packing that is declared and the tensors."""
    declared = declared_in(evidence.config, evidence.companions)
    if not declared.method or evidence.checkpoint.missing:
        return
    problems = [*_problems(_PackedLayers(evidence, each=False), declared)]
    if problems:  # all names are to be said
        problems = [*_problems(_PackedLayers(evidence, each=True), declared)]
    yield from problems


def _problems(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    yield from _of_shapes(layers, declared)
    for problem in _of_modules(layers, declared):
        yield replace(problem, source=SOURCE)


def _of_shapes(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    """Scales that are missing or of other shapes: an audit shows them tensor by tensor."""
    method = declared.method
    if method == "fp8":
        yield from _fp8(layers, declared)
    if method in ("gptq", "awq"):
        yield from _groups(layers, declared, is_awq=method == "awq")
    if declared.method == "mlx":
        yield from _mlx_bits(layers)
    if _is_nvfp4(declared):
        why = "NVFP4 needs a second scale"
        yield from _without(layers, ".weight_scale", ".weight_scale_2", why, "error")
    decoding = layers.evidence.decoding
    for finding in () if decoding is None else decoding.findings:
        if finding.rule == "quantization-mismatch":
            yield Problem("broken_contract", finding.text, example=finding.tensor)
            return


def _of_modules(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    """Which modules are packed, and what is needed next to their weights."""
    if layers.packed:
        yield from _left_out_but_packed(layers, declared)
        yield from _unpacked(layers, declared)
    if declared.method == "gptq" and declared.values.get("desc_act") is True:
        yield from _without(layers, ".qweight", ".g_idx", "desc_act is set", "error")
    if declared.method == "bitsandbytes":
        yield from _bitsandbytes(layers)
    if _is_nvfp4(declared):
        why = "vLLM computes with what lies in memory"
        yield from _without(layers, ".weight_scale", ".input_scale", why, "warning")
    yield from _static_cache(layers, declared)
    yield from _overrides(layers)


def _is_nvfp4(declared: Declared) -> bool:
    return declared.method == "modelopt" and "NVFP4" in declared.text("quant_algo").upper()


class _PackedLayers:
    """The tensors by kind, or ``each`` for itself, and their modules."""

    def __init__(self, evidence: Evidence, *, each: bool) -> None:
        self.evidence = evidence
        tensors = evidence.tensors
        pairs = ((info, 1) for info in tensors) if each else counted(tensors)
        self.kinds: dict[str, tuple[TensorInfo, int]] = {
            info.name: (info, count) for info, count in pairs
        }
        self.ends: Counter[str] = Counter()
        for name, (_, count) in self.kinds.items():
            self.ends[_end(name)] += count

    @property
    def packed(self) -> list[str]:
        """Modules that are packed, one of each kind."""
        modules = []
        for name, (info, _) in self.kinds.items():
            end = _end(name)
            if end in _WEIGHTS or (end == ".weight" and _is_small(info)):
                modules.append(name[: -len(end)])
        return modules

    def get(self, name: str) -> TensorInfo | None:
        kind = self.kinds.get(name)
        return None if kind is None else kind[0]

    def names_without(self, first: str, second: str) -> list[str]:
        """Modules with a tensor of the one end and none of the other, looked at one by one."""
        names = [info.name for info in self.evidence.tensors]
        have = {name[: -len(second)] for name in names if name.endswith(second)}
        return [
            name
            for name in names
            if name.endswith(first) and _end(name) == first and name[: -len(first)] not in have
        ]


def _end(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else name


def _is_small(info: TensorInfo) -> bool:
    dtype = info.dtype or ""
    return len(info.shape) > 1 and (dtype.startswith("F8_") or dtype in ("U8", "I8", "F4", "U32"))


def _without(
    layers: _PackedLayers, first: str, second: str, why: str, severity: Any
) -> Iterator[Problem]:
    """Modules that have a tensor of the one end and lack that of the other."""
    if layers.ends[first] <= layers.ends[second]:
        return
    names, count = of_names(layers.names_without(first, second))
    if count:
        text = f"{count:,} packed modules have no {second[1:]}"
        yield Problem("broken_contract", text, count, names[0], why, severity=severity, names=names)


# ---- which modules are packed


def _left_out(declared: Declared) -> list[str]:
    listed = [declared.values.get(key) for key in _LEFT_OUT]
    return [one for value in listed if isinstance(value, list) for one in value
            if isinstance(one, str) and not one.startswith("re:") and "*" not in one]  # fmt: skip


def _is_left_out(module: str, left_out: Sequence[str]) -> bool:
    return any(f".{one}." in f".{module}." for one in left_out)


def _left_out_but_packed(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    left_out = _left_out(declared)
    names, count = of_names([one for one in layers.packed if _is_left_out(one, left_out)])
    if count:
        text = f"modules are packed that the config leaves as they are ({names[0]}, ...)"
        cause = "loaders make plain layers of them and find no weights"
        fix = "take them out of the list of modules that are not converted"
        yield Problem("broken_contract", text, count, names[0], cause, fix, names=names)


def _unpacked(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    """Matrices of attention and MLPs in 16 bits, of which the config does not say so."""
    left_out = _left_out(declared)
    patterns = any(
        isinstance(value, list) and any(isinstance(one, str) and ("*" in one or one[:3] == "re:")
                                        for one in value)
        for value in (declared.values.get(key) for key in _LEFT_OUT)
    )  # fmt: skip
    if patterns or declared.values.get("config_groups") or declared.method == "bitsandbytes":
        return  # which modules a pattern means is the loader's affair
    plain = [
        (info, count)
        for name, (info, count) in layers.kinds.items()
        if _end(name) == ".weight"
        and info.dtype in _WIDE
        and len(info.shape) == 2
        and info.component not in _USUALLY_PLAIN
        and not _is_left_out(name[: -len(".weight")], left_out)
    ]
    total = sum(count for _, count in plain)
    if not total:
        return
    nbytes = sum((info.nbytes or 0) * count for info, count in plain)
    every = sum((info.nbytes or 0) * count for info, count in layers.kinds.values())
    share = f"{100 * nbytes / every:.0f}% of the bytes" if every else "some bytes"
    names, _ = of_names([info.name for info, _ in plain])
    text = f"{total:,} matrices are not packed ({names[0]}, ...), {share}"
    cause = "the config excludes none of them"
    yield Problem("unpacked_modules", text, total, names[0], cause, severity="warning", names=names)


# ---- methods


def _fp8(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    """Weights of eight bits, whose blocks have a scale each."""
    blocks = declared.values.get("weight_block_size")
    scale = ".weight_scale_inv" if isinstance(blocks, list) else ".weight_scale"
    lacking = []
    wrong = []
    for name, (info, _) in layers.kinds.items():
        if _end(name) != ".weight" or not (info.dtype or "").startswith("F8_"):
            continue
        module = name[: -len(".weight")]
        stored = layers.get(module + scale)
        if stored is None:
            other = layers.get(module + ".weight_scale_inv") or layers.get(module + ".weight_scale")
            if isinstance(blocks, list) or other is None:
                lacking.append(name)
        elif isinstance(blocks, list) and not _fits_blocks(info.shape, stored.shape, blocks):
            wrong.append(stored.name)
    if lacking:
        names, count = of_names(lacking)
        text = f"weights of eight bits have no {scale[1:]} ({names[0]}, ...)"
        yield Problem("broken_contract", text, count, names[0], names=names)
    if wrong:
        names, count = of_names(wrong)
        text = f"scales are not those of blocks of {blocks} ({names[0]}, ...)"
        yield Problem("broken_contract", text, count, names[0], names=names)


def _fits_blocks(weight: Sequence[int], scale: Sequence[int], blocks: Sequence[object]) -> bool:
    sizes = [size for size in blocks if type(size) is int and size > 0]
    if len(weight) < 2 or len(sizes) != 2 or len(scale) < 2:
        return True
    expected = [-(-size // block) for size, block in zip(weight[-2:], sizes, strict=True)]
    return list(scale[-2:]) == expected


def _bitsandbytes(layers: _PackedLayers) -> Iterator[Problem]:
    """Weights of four bits have a table and a state, by which they are unpacked."""
    tables = sum(count for end, count in layers.ends.items() if end == ".quant_map")
    states = sum(count for name, (_, count) in layers.kinds.items() if ".quant_state." in name)
    if tables and states < tables:
        names, _ = of_names(
            [info.name for info in layers.evidence.tensors if info.name.endswith(".quant_map")]
        )
        text = f"{tables - states:,} weights of four bits have no quant_state"
        cause = "bitsandbytes does not know their shapes and types"
        yield Problem("broken_contract", text, tables - states, names[0], cause, names=names)


def _groups(layers: _PackedLayers, declared: Declared, *, is_awq: bool) -> Iterator[Problem]:
    """Scales made for groups of another size than the config says, or bits of another number."""
    bits = declared.integer("bits", "w_bit")
    group = declared.integer("group_size", "q_group_size")
    if bits is None or group is None or not 0 < bits <= 32 or declared.values.get("dynamic"):
        return
    if declared.text("version") not in ("", "gemm"):
        return
    wrong = []
    for name, (info, _) in layers.kinds.items():
        if _end(name) != ".qweight" or len(info.shape) != 2:
            continue
        scales = layers.get(name.removesuffix("qweight") + "scales")
        if scales is None or len(scales.shape) != 2:
            continue
        rows, columns = info.shape
        inputs = rows if is_awq else rows * 32 // bits
        outputs = columns * 32 // bits if is_awq else columns
        groups = 1 if group <= 0 else math.ceil(inputs / group)
        if tuple(scales.shape) != (groups, outputs):
            wrong.append(scales.name)
    if wrong:
        names, count = of_names(wrong)
        text = f"scales are not those of {bits} bits in groups of {group} ({names[0]}, ...)"
        yield Problem("broken_contract", text, count, names[0], names=names)


def _mlx_bits(layers: _PackedLayers) -> Iterator[Problem]:
    """Words of MLX that hold another number of bits than its settings say: (out, in·bits/32), with
    scales of (out, in/group)."""
    settings = (layers.evidence.config or {}).get("quantization")
    if not isinstance(settings, Mapping) or settings.get("mode", "affine") != "affine":
        return
    wrong = []
    for name, (info, _) in layers.kinds.items():
        module = name.removesuffix(".weight")
        scales = layers.get(f"{module}.scales")
        if module == name or info.dtype != "U32" or scales is None or not scales.shape:
            continue
        single = settings.get(module)
        says = {**settings, **single} if isinstance(single, Mapping) else settings
        bits = says.get("bits")
        group = says.get("group_size")
        if type(bits) is not int or type(group) is not int:
            continue
        if 32 * info.shape[-1] != bits * group * scales.shape[-1]:
            wrong.append(name)
    if wrong:
        names, count = of_names(wrong)
        text = (
            f"words do not hold the {settings.get('bits')} bits of the settings ({names[0]}, ...)"
        )
        cause = "MLX-LM unpacks every module by them"
        yield Problem("broken_contract", text, count, names[0], cause, names=names)


def _static_cache(layers: _PackedLayers, declared: Declared) -> Iterator[Problem]:
    """A cache whose scales are to be fixed, and no file has them."""
    scheme = declared.values.get("kv_cache_scheme")
    is_static = isinstance(scheme, Mapping) and scheme.get("dynamic") is False
    if is_static and not (layers.ends[".k_scale"] or layers.ends[".v_scale"]):
        text = "kv_cache_scheme is static, and no layer has k_scale and v_scale"
        cause = "vLLM takes 1.0 for each"
        yield Problem("broken_contract", text, 1, "kv_cache_scheme", cause, severity="warning")


def _overrides(layers: _PackedLayers) -> Iterator[Problem]:
    """Settings of MLX for single modules that no file has."""
    config = layers.evidence.config or {}
    settings = config.get("quantization")
    if not isinstance(settings, Mapping):
        return
    modules = [key for key in settings if isinstance(key, str) and "." in key]
    stored = {info.name.rpartition(".")[0] for info in layers.evidence.tensors} if modules else ()
    names, count = of_names([one for one in modules if one not in stored and one not in _OF_MLX])
    if count:
        text = f"{count:,} settings for single modules name none of the file's ({names[0]}, ...)"
        yield Problem("broken_contract", text, count, names[0], severity="warning", names=names)
