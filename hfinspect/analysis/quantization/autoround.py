"""AutoRound: words as GPTQ or AWQ have them, or the layouts of compressed-tensors.

Source: auto_round/export (``packing_format``: auto_round:auto_gptq, auto_round:auto_awq,
auto_round:llm_compressor). Names show which, module by module.
"""

from collections.abc import Mapping

from ...trees.prediction import Prediction
from . import compressed
from . import gptq_awq as words
from .declared import Declared
from .decoding import Modules, Sheet
from .packed_layout import KEEP, PackedPlan, Scheme, UndeterminedError
from .selection import Selection

#: Characters of names that make them regular expressions.
_IN_EXPRESSIONS = frozenset("\\^$()[]+|")


def read(modules: Modules, declared: Declared, sheet: Sheet) -> None:
    """Every packed module."""
    words.read(modules, declared, sheet)
    compressed.read(modules, declared, sheet)


def plan(declared: Declared, _config: Mapping[str, object], _prediction: Prediction) -> PackedPlan:
    """Every Linear in the blocks that are named, or in the layers of the language model; sizes that
    do not divide by 32 stay as they are. ``extra_config`` has settings of single modules."""
    selection = Selection()
    for pattern, settings in declared.section("extra_config").items():
        layer = settings if isinstance(settings, Mapping) else {}
        bits = layer.get("bits")
        if type(bits) is int and bits >= 16:
            label: object = KEEP
        else:
            label = _scheme(Declared(declared.method, {**declared.values, **layer}, declared.where))
        if _IN_EXPRESSIONS.isdisjoint(pattern) and ".*" not in pattern:
            selection.add([pattern], label)
        else:
            selection.expression(pattern, label)
    scheme = _scheme(declared)
    blocks = declared.values.get("block_name_to_quantize")
    names = blocks.split(",") if isinstance(blocks, str) else blocks
    if isinstance(names, list) and names:
        selection.add(names, scheme, inside=False)
        return PackedPlan(None, selection, biases="F16")
    return PackedPlan(scheme, selection, layers_only=True, biases="F16")


def _scheme(declared: Declared) -> Scheme:
    bits = declared.integer("bits")
    group = declared.integer("group_size")
    kind = declared.text("packing_format").removeprefix("auto_round:")
    if bits not in (2, 3, 4, 8) or group is None or group == 0:
        raise UndeterminedError("it does not name bits and group_size")
    if kind in ("auto_gptq", "gptq"):
        # Only AutoRound's own format leaves the order out.
        own_format = declared.text("packing_format").startswith("auto_round:")
        pack = words.gptq(bits, group, order=not own_format)
    elif kind in ("auto_awq", "awq"):
        pack = words.awq("gemm", bits, group)
    else:
        raise UndeterminedError(f"the packing_format {kind!r:.40} is not predicted")
    return lambda linear: None if linear.out % 32 or linear.inputs % 32 else pack(linear)
