"""The derivation of a parameter count, from the tree that predicts the tensors."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..analysis.labels.lookup import spec_finder
from ..core.alternative_counts import Approximation, Measurement, TensorDifference
from ..core.components import Component
from ..core.explanation import Explanation, Remark
from ..core.formula import Formula
from ..core.ledger_lines import Letter
from ..core.overrides import WITHOUT_EFFECT
from ..core.results import Inspection
from ..core.text import shape_text
from ..trees.prediction import Prediction
from .attention import described
from .conventions import counts_of
from .derivation import Derivation
from .ledger import MAX_PRINTED_TERMS, sections_of, shares_of
from .letters import meaning_of
from .nominal_size import name_size_of
from .notes import notes_of
from .polynomials import unknown


def explained(target: str, inspection: Inspection, d: Derivation) -> Explanation:
    """The explanation of a derivation; what ``inspection`` measured stands next to it where it
    read headers."""
    prediction = d.prediction
    config = d.config
    ledger = d.ledger
    closed = d.closed(d.polynomial)
    substituted = closed is not d.polynomial and closed.terms != d.polynomial.terms
    apart = d.head_apart
    active = prediction.active_parameters
    counts = counts_of(d)
    return Explanation(
        target=target,
        origin=inspection.origin,
        whole=inspection.whole,
        problems=inspection.problems,
        model_type=prediction.model_type,
        architecture=prediction.architecture,
        letters=_letters(d),
        sections=sections_of(d.tree, ledger),
        shares=shares_of([(leaf, times) for _, leaf, times in d.counted], ledger),
        parameters=d.polynomial.value,
        closed=ledger.writer.collected(closed, d.hidden)
        if len(closed.terms) <= MAX_PRINTED_TERMS
        else None,
        closed_note=_inner_note(d) if substituted else "",
        parameters_with_head=d.polynomial.value + apart if apart else None,
        active_parameters=None if active == d.polynomial.value else active,
        embedding=d.part(Component.EMBEDDING).value,
        tied=prediction.tied,
        extra_tensors=inspection.extra_tensors,
        assumed=inspection.assumed,
        attention=tuple(described(block, ledger) for block in d.blocks),
        notes=(
            *notes_of(d.tree, prediction.root, prediction.model_type, config, ledger),
            *(Remark("changed", f.text) for f in inspection.findings if f.rule == WITHOUT_EFFECT),
        ),
        approximation=_approximation(d),
        counts=counts,
        name_size=name_size_of(target, counts, active),
        measured=measured(inspection, prediction)
        if inspection.source == "checkpoint" and not d.of_headers
        else None,
        overrides=inspection.overrides,
        nbytes=inspection.nbytes,
        quantization=inspection.quantization.method if inspection.quantization else None,
    )


def _letters(d: Derivation) -> tuple[Letter, ...]:
    letters = d.ledger.writer.letters
    rows = []
    both = any(letter.startswith("L_d") for letter in letters.values())
    for quantity, letter in letters.items():
        origin = quantity.definition
        if quantity.quotient:
            over, under = quantity.quotient
            origin = f"{letters[over]} / {letters[under]}"
        elif not origin and quantity == d.inner and d.hidden:
            origin = f"4·{letters[d.hidden]}"
        elif not origin and not quantity.name.startswith(("layer ", "layers ")):
            origin = "" if _stands_in(d.config, quantity.name) else "the family's default"
        meaning = meaning_of(quantity)
        if not d.part(Component.MLP).terms:  # the width of Mamba's blocks has the MLP's key
            meaning = meaning.replace("inner width of the MLP", "inner width of a block")
        if both and letter == "L":
            meaning += " of the encoder"
        meaning += f": {origin}" if origin and origin != meaning else ""
        key = quantity.name if _stands_in(d.config, quantity.name) else ""
        key = d.keys.get(key, key)
        rows.append(Letter(letter, key, quantity.value, meaning))
    for what in ("key", "value"):  # what is alike so far differs by these
        alike = Counter(row.meaning for row in rows)
        rows = [
            replace(row, meaning=f"{row.meaning} ({getattr(row, what)})")
            if alike[row.meaning] > 1
            else row
            for row in rows
        ]
    return tuple(rows)


def _stands_in(config: Any, name: str) -> bool:
    for part in name.split("[")[0].split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config is not None


def _inner_note(d: Derivation) -> str:
    letters = d.ledger.writer.letters
    assert d.inner is not None and d.hidden is not None
    return f"with {letters[d.inner]} = 4·{letters[d.hidden]}"


def _approximation(d: Derivation) -> Approximation | None:
    """For one stack of layers: 12·L·H², which holds for MHA and an MLP of width 4·H."""
    hidden = d.hidden
    attends = d.part(Component.ATTENTION).terms and d.part(Component.MLP).terms
    if hidden is None or d.depth is None or not d.depth.value or not attends:
        return None
    writer = d.ledger.writer
    square = unknown(hidden) * unknown(hidden)
    rough = (d.depth * square).times(12)
    embedding = d.part(Component.EMBEDDING)
    rest = d.closed(d.polynomial - embedding - rough)
    formula = writer.formula(rough)
    left: Formula | None = None
    if len(rest.terms) <= MAX_PRINTED_TERMS:
        left = writer.collected(rest, hidden)
    return Approximation(
        formula, embedding.value, d.polynomial.value - embedding.value, d.polynomial.value, left
    )


# ---- estimate next to measurement: what differs, tensor by tensor


def measured(inspection: Inspection, prediction: Prediction) -> Measurement:
    """An inspection of headers next to the prediction of the same model's config."""
    differences = tuple(_differences(inspection, prediction))
    unexplained = None
    if inspection.parameters is not None:
        explained = prediction.parameters + sum(d.parameters for d in differences)
        unexplained = inspection.parameters - explained
    return Measurement(
        inspection.parameters,
        {name: totals.parameters for name, totals in inspection.components.items()},
        differences,
        unexplained,
        inspection.holds_all_files,
    )


def _differences(inspection: Inspection, prediction: Prediction) -> Iterator[TensorDifference]:
    expectation = inspection.expectation
    if expectation is None:
        return
    unexpected = set(expectation.unexpected)
    find = spec_finder(prediction)
    # All others are as predicted: the comparison has looked at each.
    differing = {*unexpected, *expectation.reshaped, *expectation.unsaved}
    if not differing and not expectation.missing:
        return
    predicted = {spec.name: spec for spec in prediction.tensors}
    for name in expectation.missing:
        if predicted[name].parameters:
            yield TensorDifference(name, "predicted, in no file", -predicted[name].parameters)
    for info in inspection.tensors if differing else ():
        if info.name not in differing or info.tied_to is not None or info.extra_kind is not None:
            continue
        if not info.parameters:
            continue
        if info.name in unexpected:
            yield TensorDifference(info.name, "not predicted", info.parameters)
            continue
        spec = find(info.name)
        if info.name in expectation.reshaped:
            stored, expected = expectation.reshaped[info.name]
            size = predicted[spec.name].parameters if spec and spec.name in predicted else 0
            if spec is None:  # labelled by a name that is not the tree's (GGUF)
                size = math.prod(expected)
            if info.parameters != size:
                text = f"of shape {shape_text(stored)}, predicted {shape_text(expected)}"
                yield TensorDifference(info.name, text, info.parameters - size)
        elif spec is not None and not spec.saved:
            yield TensorDifference(
                info.name, "transformers neither loads nor saves it", info.parameters
            )
        elif spec is not None and spec.tied_to is not None:
            yield TensorDifference(info.name, "stored, though the class ties it", info.parameters)
