"""Lines and tables of an inspection that only some models have: quantisation, parts of a pipeline,
variants of a repo, adapters, what a file says of itself."""

from collections.abc import Iterator

from ..core.results import Adapter, Inspection, Quantization
from ..core.text import byte_size, first_of, method_word, with_rounded
from .document import Cell, Column, Facts, Table
from .headline import build

#: Names that fit on a line.
_MAX_NAMES = 8

#: Facts of a file's own description that are shown, with their label; all are in the JSON form.
_CONTENTS = (
    ("archive", "archive"),
    ("kind", "kind"),
    ("model_in", "the model is in"),
    ("also_holds", "also holds"),
    ("name", "name"),
    ("file_type", "type"),
    ("layers", "layers"),
    ("hidden_size", "width"),
    ("heads", "heads"),
    ("kv_heads", "KV heads"),
    ("experts", "experts"),
    ("experts_used", "experts used"),
    ("context_length", "context"),
    ("vocab_size", "vocabulary"),
    ("tokenizer", "tokenizer"),
)


#: Facts that the first lines have already, by their name here.
_FACT = {
    "width": "hidden_size",
    "context": "context_length",
    "vocabulary": "vocab_size",
    "experts_per_token": "experts_used",
}


def ratio(pair: tuple[int, int] | None) -> str:
    """Bits per weight to two places, rounded to nearest; the pair itself is exact."""
    if pair is None:
        return "unknown"
    hundredths = (200 * pair[0] + pair[1]) // (2 * pair[1])
    return f"{hundredths // 100}.{hundredths % 100:02}"


def quantized(quantization: Quantization) -> str:
    """Method, bits and what they come to with all bookkeeping."""
    text = method_word(quantization.method)
    if quantization.scheme and quantization.scheme.lower() != quantization.method.lower():
        text += f" ({quantization.scheme})"
    if quantization.effective_bits is None:
        return text if quantization.packed_parameters is not None else f"{text}, bits unknown"
    weight = ratio(quantization.weight_bits)
    effective = ratio(quantization.effective_bits)
    text += f", {weight} bits per weight"
    if effective != weight:
        text += f", {effective} with scales and tables"
    return text


def roles(quantization: Quantization) -> str:
    """Bytes of packed modules by what they hold."""
    return ", ".join(f"{role} {byte_size(nbytes)}" for role, nbytes in quantization.roles.items())


def adapter(adapter: Adapter, parameters: int | None) -> Iterator[tuple[str, str]]:
    """What the adapter is, and the share of the base that it trains."""
    alpha = "" if adapter.alpha is None else f", alpha {adapter.alpha}"
    rank = "" if adapter.rank is None else f", rank {adapter.rank}"
    targets = f", on {listed(adapter.targets)}" if adapter.targets else ""
    yield "adapter", f"{adapter.type or 'of unknown type'}{rank}{alpha}{targets}"
    if adapter.base is None:
        return
    base = adapter.base
    if adapter.base_parameters:
        base += f", {with_rounded(adapter.base_parameters)} parameters"
        if parameters is not None:
            base += f"; the adapter adds {100 * parameters / adapter.base_parameters:.3g}% to them"
    yield "base", base


def contents(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """What the weight file says of itself, on one line."""
    contents = inspection.contents
    shown = {_FACT.get(key, key) for key in inspection.facts.known}
    texts = [
        f"{label} {_plain(contents[key])}"
        for key, label in _CONTENTS
        if contents.get(key) and key not in shown
    ]
    if texts:
        yield "metadata", ", ".join(texts)


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, int) for item in value):
            least = min(value)
            most = max(value)
            return str(least) if least == most else f"{least} to {most}"
        return listed([str(item) for item in value])
    return f"{value:,}" if type(value) is int else str(value)


def listed(names: tuple[str, ...] | list[str]) -> str:
    """The first names, and how many more there are."""
    return first_of(names, _MAX_NAMES)


def members(inspection: Inspection, *, exact: bool = False) -> Table:
    """Every part with its parameters; ``exact`` is the form for csv."""
    bytes_or_size = "bytes" if exact else "size"
    columns = (
        Column("part", "part"),
        Column("class", "class"),
        Column("parameters", "parameters", "int"),
        Column("dtype", "dtypes"),
        Column("nbytes", bytes_or_size, "int"),
    )
    rows: list[tuple[Cell, ...]] = []
    for member in inspection.members:
        name = (member.declared or member.architecture or "").rpartition(".")[2]
        dtypes = "/".join(member.dtypes)
        size = member.nbytes if exact else _size(member.nbytes)
        rows.append((member.name, name, member.parameters, dtypes, size))
    size = inspection.nbytes if exact else _size(inspection.nbytes)
    rows.append(("total", "", inspection.parameters, "", size))
    optional = ("dtype", "nbytes")
    return Table(columns, tuple(rows), title="parts", total=True, optional=optional)


def builds(inspection: Inspection) -> Facts:
    """How each part is built, as far as its config says."""
    items = ((member.name, build(member.facts)) for member in inspection.members)
    return Facts(tuple((name, text) for name, text in items if text))


def _size(nbytes: int | None) -> str:
    return "" if nbytes is None else byte_size(nbytes)


def variants(inspection: Inspection) -> Table:
    """The quantisations to choose from; an asterisk marks the one that was read."""
    columns = (
        Column("file", "file"),
        Column("type", "type"),
        Column("bits", "bits per weight"),
        Column("size", "size"),
    )
    rows: list[tuple[Cell, ...]] = []
    for variant in inspection.variants:
        more = f" and {len(variant.files) - 1} more" if len(variant.files) > 1 else ""
        mark = " *" if variant.read else ""
        size = "unknown" if variant.size is None else byte_size(variant.size)
        row = (f"{variant.files[0]}{more}{mark}", variant.label, ratio(variant.bits_per_weight))
        rows.append((*row, size))
    return Table(columns, tuple(rows), title="variants (* was read)", optional=("size",))
