"""The layout of ``memory``: the answer, the recipes by context, and what it is made of in a line.

Everything else (each sum, each layer, each formula) is in ``footprint_lines``, under ``--details``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..core.cache_size import SEVERAL
from ..core.fitting import DEPENDS, DOES_NOT_FIT, FITS, Verdict
from ..core.footprint import Memory
from ..core.recipe_fits import OnCard, RecipeFits
from ..core.text import byte_size, rounded_count
from ..core.training_bytes import Training
from ..sizing.devices import NOMINAL
from ..sizing.engines.registry import ENGINES
from ..sizing.peft_types import DEFAULT_TARGETS, LINEAR_ROUTERS, MAMBAS, OLD_NAMES, RENAMED
from .cache_lines import per_token
from .document import Block, Cell, Column, Document, Paragraph, Table
from .footprint_lines import bar, details, plain_sums
from .judgement import judgement, of_the_whole, remarks
from .media_lines import media_lines
from .offload_lines import lay_out_plans
from .training_lines import lay_out_training

if TYPE_CHECKING:
    from ..sizing.curves import Curves

_METHODS: Final = {
    "full": "Full fine-tuning",
    "lora": "LoRA fine-tuning",
    "qlora": "QLoRA fine-tuning",
}
#: Weights that are trained as they are, which packed ones are not.
_TRAINED: Final = frozenset({"BF16", "F16", "F32", "F64", "dtype unknown"})
_ANSWERS: Final = {True: "yes", False: "no", None: "?"}
#: The same of a checkpoint that does not load as it is: it is the whole model that is sized.
_IF_WHOLE: Final = {True: "if whole", False: "no", None: "?"}
#: By the first column of a table.
_CAPTIONS: Final = {"recipe": "What fits, by recipe", "context": "Memory by context"}
#: Of a row that stands out.
_LARGEST: Final = "<- largest that fits"


def lay_out(
    memory: Memory, curves: Curves | None = None, *, drawn: bool = False, full: bool = False
) -> Document:
    """``full``: with every sum and where each number comes from. ``drawn``: with a bar of the sum,
    and with ``curves`` and sliders in the formats that have them."""
    judged = [*judgement(memory.problems)]
    blocks: list[Block] = [*judged, Paragraph(answer(memory))]
    if _is_training(memory):
        blocks += _training(memory, full=full)
        if full:
            blocks += [Paragraph("To run it, without training"), *details(memory)]
    else:
        blocks += _inference(memory, full=full or drawn)
        blocks += bar(memory) if drawn else ()
        if curves is not None and memory.cache is not None:
            from .drawings import MemoryCurves

            card = memory.device[0] if memory.device else ""
            cache = memory.cache
            blocks.append(
                MemoryCurves(curves, cache.tokens, cache.engine, cache.dtype, memory.batch, card)
            )
        if full or drawn:
            blocks += details(memory)
    if drawn:
        blocks = [_captioned(block) for block in blocks]
    title = _title(memory, memory.origin.short_name if drawn else memory.origin.name)
    if _is_training(memory):  # the answer in line 1, and then whose it is
        whose = ", ".join(filter(None, (title, _model(memory))))
        del blocks[len(judged)]
        return Document(answer(memory), tuple(blocks), plain_sums(memory), whose)
    return Document(title, tuple(blocks), plain_sums(memory), _model(memory))


def _captioned(block: Block) -> Block:
    """A table with a title: a page and a notebook show it by that; on a terminal the line above
    says it."""
    if not isinstance(block, Table) or block.title:
        return block
    return replace(block, title=_CAPTIONS.get(block.columns[0].name, ""))


def _is_training(memory: Memory) -> bool:
    return memory.training is not None or bool(memory.training_unknown)


# ---- the first lines


def _title(memory: Memory, name: str) -> str:
    return f"{name} on {device_in_full(memory)}" if memory.device else name


def device_in_full(memory: Memory) -> str:
    """``RTX 4090 (24 GB = 25.8·10^9 bytes)``: what it is sold as, and what it holds."""
    name, nbytes, count = memory.device or ("", 0, 1)
    nominal = NOMINAL.get(name)
    holds = f"{nbytes / 10**9:.1f}·10^9 bytes" if nbytes >= 10**8 else f"{nbytes:,} bytes"
    each = " each" if count > 1 else ""
    uses = f"{memory.engine} uses " if ENGINES[memory.engine].usable(10**9) < 10**9 else ""
    sold = "" if nominal is None else f"{nominal} GB{', ' if uses else ' = '}"
    return f"{device_name(memory)} ({sold}{uses}{holds}{each})"


def device_name(memory: Memory) -> str:
    """``RTX 4090``, ``8 × H100``."""
    name, _, count = memory.device or ("", 0, 1)
    return f"{count} × {name}" if count > 1 else name


def _model(memory: Memory) -> str:
    """``32.8 B, BF16, context 131,072``."""
    count = memory.weights.parameters
    texts = [
        "parameters unknown" if count is None else rounded_count(count),
        memory.precision,
        f"context {memory.own_context:,}" if memory.own_context else "",
    ]
    return ", ".join(text for text in texts if text)


def answer(memory: Memory) -> str:
    """The verdict in a sentence, or without a device what the model takes."""
    if _is_training(memory):
        return _training_answer(memory)
    main = memory.main
    verdict = memory.verdict
    if main is None or main.total is None:
        return _limited_answer(memory)
    needs = f"{byte_size(main.total)} at {_tokens(memory)}"
    whose = of_the_whole(memory.sized_by, memory.whole)
    needs = f"{whose}: {needs}" if whose else needs
    if verdict is None:
        card = memory.smallest_card
        where = f"; smallest card that fits: {card}" if card else ""
        return f"{needs}{where or '; no single known card fits it'}"
    where = f" with {_split(memory)}, on each card" if _split(memory) else ""
    text = f"{verdict.text}: {needs}{where}"
    longest = memory.max_context
    if verdict.fits is False and longest:
        return f"{text}; up to {longest:,} tokens fit"
    smaller = next((row.size.name for row in memory.recipes if row.largest), "")
    if verdict.fits is False and smaller:
        return f"{text}; {smaller} fits{_at_first(memory)}"
    return text


def _at_first(memory: Memory) -> str:
    """At the context of the table's first column."""
    tokens = memory.recipes[0].on[0].at[0].context
    return "" if tokens is None else f" at {tokens:,} tokens"


def _limited_answer(memory: Memory) -> str:
    """Where the sum is not known exactly: the verdict and the limit that decided it."""
    context = memory.weights.per_device
    verdict = memory.verdict
    if verdict is None:
        card = memory.smallest_card
        widest = " at float32" if context is None else ""
        where = f"; smallest card that fits{widest}: {card}" if card else ""
        unknown = f"weights unknown: {memory.weights.unknown}"
        return (unknown if context is None else f"{byte_size(context)} of weights") + where
    limit = limit_that_decides(verdict)
    return f"{verdict.text}: {limit}" if limit else verdict.text


def limit_that_decides(verdict: Verdict) -> str:
    """``at most 1.13 GB``; empty where no limit decides."""
    if verdict.answer == FITS and verdict.most is not None:
        return f"at most {byte_size(verdict.most)}"
    return f"at least {byte_size(verdict.least)}" if verdict.answer == DOES_NOT_FIT else ""


def _tokens(memory: Memory) -> str:
    assert memory.main is not None
    many = f", batch {memory.batch:,}" if memory.batch > 1 else ""
    return f"{memory.main.context:,} tokens{many}"


def _split(memory: Memory) -> str:
    sizes = (
        ("--tp", memory.tensor_parallel),
        ("--pp", memory.pipeline_parallel),
        ("--ep", memory.expert_parallel),
    )
    return " ".join(f"{option} {count}" for option, count in sizes if count > 1)


# ---- inference


def _inference(memory: Memory, *, full: bool) -> Iterator[Block]:
    if memory.recipes:
        table = _on_one(memory) if memory.device else _on_many(memory)
        yield table
        if any(card.holds_more for row in memory.recipes for card in row.on):
            yield Paragraph(_more(memory))
    yield Paragraph(_costs(memory))
    yield from media_lines(memory.media, full=full)
    if memory.offload is not None and not full:
        yield from lay_out_plans(memory.offload, memory.device is not None)
    yield from remarks(memory.problems)
    yield from (Paragraph(note, "note") for note in memory.notes)
    if not full:
        yield Paragraph(_next(memory))


def _more(memory: Memory) -> str:
    limit = memory.own_context
    main = memory.main
    if limit and main is not None and main.context > limit:
        return f"+ the card has room for more than the {main.context:,} tokens"
    return (
        f"+ the card has room for more than the model's own {limit:,} tokens"
        if limit
        else ("any: the model sets no context limit, and every tested context fits")
    )


def _first_cells(row: RecipeFits) -> tuple[Cell, ...]:
    size = row.size
    weights = "unknown" if size.nbytes is None else byte_size(size.nbytes)
    return (size.name, size.dtype, weights)


_FIRST: Final = (Column("recipe", ""), Column("dtype", ""), Column("weights", "weights"))


def _on_one(memory: Memory) -> Table:
    """Contexts of one card as columns."""
    contexts = [cell.context for cell in memory.recipes[0].on[0].at]
    has_cache = contexts != [None]
    columns = [*_FIRST]
    columns += [Column(f"at_{n}", _short(n)) for n in contexts if n is not None]
    columns += [Column("longest", "longest")] if has_cache else [Column("fits", "fits")]
    columns.append(Column("largest", ""))
    rows = []
    for row in memory.recipes:
        card = row.on[0]
        words = _IF_WHOLE if memory.whole is False else _ANSWERS
        answers: list[Cell] = [words[cell.fits] for cell in card.at]
        last = [_longest(card)] if has_cache else []
        mark = _LARGEST if row.largest else ""
        rows.append((*_first_cells(row), *answers, *last, mark))
    return Table(tuple(columns), tuple(rows), optional=("largest", "dtype"))


def _on_many(memory: Memory) -> Table:
    """Cards of the usual sizes as columns: the longest context that each holds."""
    cards = memory.recipes[0].on
    columns = (*_FIRST, *(Column(f"on_{card.nbytes}", card.card) for card in cards))
    rows = tuple(
        (*_first_cells(row), *(_longest(card) for card in row.on)) for row in memory.recipes
    )
    has_cache = cards[0].at[0].context is not None
    title = f"Longest context by card{_many(memory)}" if has_cache else "By card"
    return Table(columns, rows, title=title, optional=("dtype",))


def _many(memory: Memory) -> str:
    return f" at batch {memory.batch:,}" if memory.batch > 1 else ""


def _longest(card: OnCard) -> str:
    """``18,000``; ``131,072+`` where the card holds more; ``-`` where nothing fits."""
    first = card.at[0]
    if first.context is None:
        return _ANSWERS[first.fits]
    if card.longest is None:
        return "any" if card.holds_more else "?"
    return f"{card.longest:,}{'+' * card.holds_more}" if card.longest else "-"


def _short(tokens: int) -> str:
    """8k, 128k, 1M; else the number."""
    for size, unit in ((2**20, "M"), (2**10, "k")):
        if tokens >= size and tokens % size == 0:
            return f"{tokens // size}{unit}"
    return f"{tokens:,}"


def _costs(memory: Memory) -> str:
    """What the cache costs, what else is needed, and how fast it can be."""
    texts = []
    if memory.cache is not None:
        texts.append(f"cache {per_token(memory.cache)}")
    elif memory.cache_unknown:
        texts.append(f"cache: {memory.cache_unknown}")
    if memory.workspace is not None:
        texts.append(f"runtime and workspace at most {byte_size(memory.workspace.nbytes)}")
    elif memory.workspace_unknown:
        texts.append("workspace unknown")
    if memory.reading is not None and memory.reading.tokens_per_second is not None:
        rate = memory.reading.tokens_per_second
        digits = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        texts.append(f"at most {digits} tokens/s")
    return "; ".join(texts)


def _next(memory: Memory) -> str:
    """What to type next."""
    typed = ["why: --details"]
    if memory.main is not None and memory.offload is None:
        typed.append("offload: --engine llama.cpp")
    trained = set(memory.precision.split(" + ")) <= _TRAINED and memory.cache_unknown != SEVERAL
    if memory.weights.parameters is not None and trained:
        typed.append(f"training: --train {_least_trained(memory)}")
    if memory.device is None:
        typed.insert(0, "your card: --on 'RTX 4090'")
    return "     ".join(typed)


# ---- training


def _least_trained(memory: Memory) -> str:
    """Options of the way of training with the fewest bytes that is known for the type."""
    kind = memory.model_type
    if not kind or kind in RENAMED or kind in MAMBAS:
        return "full"
    if kind in DEFAULT_TARGETS:  # bitsandbytes does not pack experts
        return "lora" if kind in {*OLD_NAMES, *LINEAR_ROUTERS} else "qlora"
    return f"{'qlora' if memory.weights.nbytes is None else 'lora'} --targets all-linear"


def _training_answer(memory: Memory) -> str:
    training = memory.training
    if training is None:
        if memory.verdict is not None and memory.training_unknown in memory.verdict.text:
            return f"training: {memory.verdict.text}"
        verdict = "" if memory.verdict is None else f"{memory.verdict.text}; "
        return f"{verdict}training: unknown: {memory.training_unknown}"
    method = _METHODS[training.method]
    needs = f"{method} needs at least {byte_size(training.least)}{_each(training)}"
    if memory.verdict is None:
        return needs
    if memory.verdict.answer == DEPENDS:
        return f"{needs}: {memory.verdict.text}"
    card = memory.device[0] if memory.device else ""
    most = memory.verdict.most
    if memory.verdict.answer == FITS and most is not None:
        needs = f"{method} needs {byte_size(training.least)} to {byte_size(most)}{_each(training)}"
    return f"{needs}: {memory.verdict.text} {card}"


def _each(training: Training) -> str:
    return f" on each of {training.gpus:,} devices" if training.gpus > 1 else ""


def _training(memory: Memory, *, full: bool) -> Iterator[Block]:
    if memory.training is not None:
        yield from lay_out_training(memory.training, full=full)
    yield from (Paragraph(note, "note") for note in memory.notes)
    fewer = _fewer(memory.training, _least_trained(memory))
    if fewer and not full:
        yield Paragraph(f"why: --details     fewer bytes: {fewer}")


def _fewer(training: Training | None, method: str) -> str:
    """Options that were not named; none where training is refused, which they do not change."""
    if training is None:
        return ""
    known = method.split()[0] in ("full", training.method) or training.method == "qlora"
    adapters = "" if known else f"--train {method}"
    again = "" if training.checkpointing else "--checkpointing"
    return " ".join(filter(None, (adapters, again)))
