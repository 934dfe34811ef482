"""The layout of ``explain --cache``: symbols, then each kind of layer, then the sum."""

from ..core.cache_derivation import CacheDerivation, CacheLine
from .cache_lines import cost
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table


def lay_out(derivation: CacheDerivation) -> Document:
    """First the cost of a token, then where it comes from."""
    table = _lines(derivation, exact=False)
    blocks: list[Block] = [_facts(derivation), _symbols(derivation), table]
    blocks += [Paragraph(note, "note") for note in derivation.notes]
    title = f"Cache of {derivation.origin.name}"
    return Document(title, tuple(blocks), _lines(derivation, exact=True))


def _facts(derivation: CacheDerivation) -> Facts:
    cache = derivation.cache
    version = f" {cache.version}" if cache.version else ""
    kind = f" (model_type {derivation.model_type})" if derivation.model_type else ""
    items = [
        ("cache", cost(cache)),
        ("sum", f"{cache.nbytes:,} bytes"),
        ("model", f"{derivation.architecture}{kind}"),
        ("engine", f"{cache.engine}{version}"),
    ]
    return Facts(tuple(items))


def _symbols(derivation: CacheDerivation) -> Table:
    columns = (
        Column("letter", "", "math"),
        Column("value", "value", "int"),
        Column("meaning", "meaning"),
        Column("key", "config key"),
    )
    rows: list[tuple[Cell, ...]] = [
        (one.letter, one.value, one.meaning, "" if " " in one.key else one.key)
        for one in derivation.letters
    ]
    cache = derivation.cache
    rows.append(("N", cache.tokens, "tokens of a sequence", ""))
    rows.append(("b", cache.batch, "sequences", ""))
    if cache.encoder_tokens is not None:
        rows.append(("S", cache.encoder_tokens, "tokens of the encoder", ""))
    return Table(columns, tuple(rows), title="Symbols", optional=("key",))


def _lines(derivation: CacheDerivation, *, exact: bool) -> Table:
    columns = (
        Column("layers", "layers"),
        Column("keeps", "keeps"),
        Column("elements", "elements", "math"),
        Column("numbers", "= in numbers", "math"),
        Column("rows", "× rows", "math"),
        Column("width", "× bytes"),
        Column("nbytes", "bytes", "int"),
    )
    rows = [_row(line) for line in derivation.lines]
    if not exact:
        rows.append(("total", "", "", "", "", "", derivation.cache.nbytes))
    optional = ("keeps", "layers", "numbers")
    return Table(columns, tuple(rows), title="Line by line", total=not exact, optional=optional)


def _row(line: CacheLine) -> tuple[Cell, ...]:
    numbers = line.elements.numbers
    value = f"{line.elements.value:,}"
    plain = numbers.replace(",", "") == value.replace(",", "")
    return (
        line.layers,
        line.label,
        line.elements.text,
        value if plain else f"{numbers} = {value}",
        f"{line.rows_formula} = {line.rows:,}",
        f"{line.width} ({line.dtype})",
        line.nbytes,
    )
