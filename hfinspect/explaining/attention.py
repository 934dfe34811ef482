"""Attention by projection and by head."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.components import Component
from ..core.config import Reads
from ..core.explanation import Attention, Projection
from ..core.records import dataclass
from .count_tree import CountBranch, CountLeaf, Stack, leaves, numbered
from .ledger import Ledger
from .polynomials import Polynomial, Quantity, total, with_widths

_HEADS = tuple(
    "num_attention_heads n_head n_heads num_heads encoder_attention_heads attention_heads".split()
)
_GROUPS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
#: Of a latent's heads: the width without position, and the width with it.
_FREE = "qk_nope_head_dim"
_ROTARY = "qk_rope_head_dim"
_WIDTHS = ("head_dim", "d_kv", "kv_channels")

#: kind -> how an explanation calls it. The order is that of explanations.
_NAMES = {
    "query": "query",
    "key": "key",
    "value": "value",
    "qkv": "query, key and value",
    "query_down": "query, down to the latent",
    "query_up": "query, up from the latent",
    "kv_down": "key and value, down to the latent",
    "kv_up": "key and value, up from the latent",
    "output": "output",
}
#: Kinds of which every key/value head has a share; of the latents' ``down`` no head has one.
_OF_GROUPS = frozenset({"key", "value"})
_OF_NONE = frozenset({"query_down", "kv_down"})


@dataclass(frozen=True)
class AttentionBlock:
    """An attention block of a layer: its weights by kind; heads and groups where known."""

    path: str
    weights: Mapping[str, Polynomial]
    heads: Quantity | None
    groups: Quantity | None
    width: Quantity | None
    hidden: Quantity | None

    def quantities(self) -> Iterator[Quantity]:
        yield from (q for q in (self.heads, self.groups, self.width, self.hidden) if q)


def blocks_of(
    tree: CountBranch, config: Mapping[str, Any], read: Reads, *, flat: bool = False
) -> tuple[AttentionBlock, ...]:
    """The attention blocks of each kind of layer, equal ones once.

    ``read`` are the sizes that the class took, defaults included. ``flat``: projections stand in
    the layer itself, as in a GGUF file."""
    blocks: dict[frozenset[tuple[str, Polynomial]], AttentionBlock] = {}
    for path, branch in _in_layers(tree, "") if flat else _attentions(tree, ""):
        weights: dict[str, list[Polynomial]] = {}
        for _, leaf, _ in leaves(branch):
            if _is_projection(leaf):
                weights.setdefault(leaf.kind, []).append(leaf.count)
        sums = {kind: total(weights[kind]) for kind in _NAMES if kind in weights}
        key = frozenset(sums.items())
        if sums and key not in blocks:
            blocks[key] = _block(path, sums, config, read)
    return tuple(blocks.values())


def _is_projection(leaf: CountLeaf) -> bool:
    matrix = not leaf.bias and leaf.component is Component.ATTENTION and leaf.kind in _NAMES
    return matrix and leaf.status == "counted"


def _attentions(branch: CountBranch, prefix: str) -> Iterator[tuple[str, CountBranch]]:
    """The outermost modules of layers that hold nothing but attention and its norms."""
    for child in branch.children:
        if isinstance(child, CountLeaf):
            continue
        path = f"{prefix}{child.name}"
        if isinstance(child, Stack):
            for kind in child.kinds:
                where = numbered(kind.indices, len(child.kinds) == 1)
                yield from _attentions(kind.layer, f"{path}.{where}.")
            continue
        inside = [leaf for _, leaf, _ in leaves(child) if leaf.status == "counted"]
        parts = {leaf.component for leaf in inside}
        if Component.ATTENTION in parts and parts <= {Component.ATTENTION, Component.NORM}:
            yield path, child
        else:
            yield from _attentions(child, f"{path}.")


def _in_layers(branch: CountBranch, prefix: str) -> Iterator[tuple[str, CountBranch]]:
    """The layers of each list."""
    for child in branch.children:
        path = f"{prefix}{child.name}"
        if isinstance(child, Stack):
            for kind in child.kinds:
                yield f"{path}.{numbered(kind.indices, len(child.kinds) == 1)}", kind.layer
        elif isinstance(child, CountBranch):
            yield from _in_layers(child, f"{path}.")


def _block(
    path: str, weights: Mapping[str, Polynomial], config: Mapping[str, Any], read: Reads
) -> AttentionBlock:
    known = {q for weight in weights.values() for q in weight.quantities()}
    known |= {q for width in known for q in width.quotient}
    # What a config states stands before what is derived from it under the same name.
    in_order = sorted(known, key=lambda q: (bool(q.definition or q.quotient), q))
    prefixes = {q.name.rsplit(".", 1)[0] for q in known if "." in q.name}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    section: Any = config
    for part in prefix.split(".") if prefix else ():
        section = section.get(part) if isinstance(section, Mapping) else None
    if len(prefixes) > 1 or not isinstance(section, Mapping):
        section = {}

    def find(names: Iterable[str]) -> Quantity | None:
        for name in names:
            for quantity in in_order:
                if quantity.name.rsplit(".", 1)[-1] == name:
                    return quantity
            full = f"{prefix}.{name}" if prefix else name
            value = section.get(name)
            if type(value) is int and value > 0:
                return Quantity(full, value)
            key, default = read.get(full, (full, None)) if len(prefixes) < 2 else (full, None)
            if type(default) is int:  # what the class takes where config.json has no such key
                return Quantity(key, default)
        return None

    heads = find(_HEADS)
    hidden = next((q for q in sorted(known) if _is_hidden(q)), None)
    width = next((q for q in sorted(known) if q.name.rsplit(".", 1)[-1] in _WIDTHS), None)
    if width is None and heads and hidden and hidden.value % heads.value == 0:
        width = Quantity("head_dim", hidden.value // heads.value, quotient=(hidden, heads))
    if "kv_down" in weights:  # latents: heads have widths of their own, and no groups
        return AttentionBlock(path, weights, heads, None, None, hidden)
    groups = find(_GROUPS) if "qkv" not in weights else None
    return AttentionBlock(path, weights, heads, groups, width, hidden)


def _is_hidden(quantity: Quantity) -> bool:
    last = quantity.name.rsplit(".", 1)[-1]
    return last in ("hidden_size", "n_embd", "n_embed", "d_model", "dim", "embed_dim")


# ---- in words


def described(block: AttentionBlock, ledger: Ledger) -> Attention:
    """Its sentence and its projections; per head where every head has the same whole number."""
    projections = []
    for kind, weights in block.weights.items():
        heads = None if kind in _OF_NONE else block.heads
        if kind in _OF_GROUPS and block.groups is not None:
            heads = block.groups
        per_head = None if heads is None else _divided(weights, heads)
        if per_head is not None and not set(per_head.quantities()) <= set(ledger.writer.letters):
            per_head = None  # a width of its own, which no formula above it names
        if kind == "qkv" and block.hidden and weights.value != 3 * block.hidden.value**2:
            per_head = None  # fused matrices of grouped heads have no equal share per query head
        shown = heads if per_head is not None else None
        projections.append(
            Projection(
                _NAMES[kind],
                ledger.rows_formula(weights),
                None if per_head is None else ledger.rows_formula(per_head),
                None if shown is None else shown.value,
                "" if shown is None else ledger.writer.letters[shown],
            )
        )
    return Attention(block.path, _sentence(block, ledger), tuple(projections))


def _divided(weights: Polynomial, heads: Quantity) -> Polynomial | None:
    if not heads.value or weights.value % heads.value:
        return None
    return with_widths(weights * Polynomial({((heads, -1),): 1}))


def _sentence(block: AttentionBlock, ledger: Ledger) -> str:
    letters = ledger.writer.letters
    heads = block.heads
    groups = block.groups
    width = block.width
    if "kv_down" in block.weights:
        return _latent(block, ledger)
    if heads is None:
        return "attention; config.json does not give the number of heads, which changes no count"
    text = f"{letters[heads]} = {heads.value:,} heads"
    if width is not None:
        text += f" of {letters[width]} = {_width_text(block, ledger)}"
    if groups is None or groups.value == heads.value:
        return f"multi-head attention: {text}"
    if groups.value == 1:
        return f"multi-query attention: {text}, which share one key and one value head"
    share = f"{letters[groups]} = {groups.value:,} key and value heads"
    each = (
        f"{heads.value // groups.value} query heads to each"
        if heads.value % groups.value == 0
        else "unevenly"
    )
    return f"grouped-query attention: {text} share {share}, {each}"


def _width_text(block: AttentionBlock, ledger: Ledger) -> str:
    letters = ledger.writer.letters
    width = block.width
    hidden = block.hidden
    heads = block.heads
    assert width is not None
    if width.quotient:
        over, under = width.quotient
        return f"{letters[over]}/{letters[under]} = {over.value}/{under.value} = {width.value}"
    if heads and hidden and heads.value * width.value != hidden.value:
        product = f"{letters[heads]}·{letters[width]} = {heads.value * width.value:,}"
        return f"{width.value} ({product}, not {letters[hidden]} = {hidden.value:,})"
    return str(width.value)


def _latent(block: AttentionBlock, ledger: Ledger) -> str:
    letters = ledger.writer.letters
    known = {
        q.name.rsplit(".", 1)[-1]: q
        for weight in block.weights.values()
        for q in weight.quantities()
    }

    def value_of(key: str) -> str:
        quantity = known.get(key)
        if quantity is None and key == _FREE and "head_dim" in known and _ROTARY in known:
            head_dim = known["head_dim"]
            rotary = known[_ROTARY]
            free = head_dim.value - rotary.value
            return f"{letters[head_dim]} − {letters[rotary]} = {free:,}"
        return f"{letters[quantity]} = {quantity.value:,}" if quantity else key

    query = (
        f"queries pass through a latent of {value_of('q_lora_rank')}"
        if "query_down" in block.weights
        else "queries are projected directly"
    )
    heads = "" if block.heads is None else f"{letters[block.heads]} = {block.heads.value:,} heads; "
    return (
        f"multi-head latent attention: {heads}{query}, keys and values through one of "
        f"{value_of('kv_lora_rank')}; of each head {value_of(_FREE)} are free of position, "
        f"{value_of(_ROTARY)} carry it (one key of that for all heads), and a value has "
        f"{value_of('v_head_dim')}"
    )


def hidden_of(quantities: Iterable[Quantity]) -> Quantity | None:
    """The hidden size to collect formulas by: a top-level key, else the text model's."""
    hidden_sizes = [q for q in quantities if _is_hidden(q)]
    plain = [q for q in hidden_sizes if "." not in q.name or q.name.startswith("text_config.")]
    return next(iter(plain or hidden_sizes), None)
