"""What the page's worker calls: a question as JSON, an answer as JSON.

The answer is the page, picture, card and JSON form that the command line makes of the same
question, or an error in words. Nothing here knows of a browser, so that it is tested without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..core.overrides import parse_overrides
from ..core.text import clean
from ..errors import HfinspectError, UsageError
from ..reports.document import Document
from ..reports.registry import render

#: Characters of a question; a config of some megabytes is the largest part.
MAX_QUESTION: Final = 16_000_000
#: What is passed on to what makes an answer, by name.
_READS: Final = ("revision", "token", "file", "endpoint")
_SIZES: Final = ("context", "batch", "engine", "on", "width")

Answer = dict[str, Any]


class Made(NamedTuple):
    """What a page is made of; ``more`` are the texts that only one kind of question has."""

    title: str
    document: Document
    form: Mapping[str, Any]
    more: Mapping[str, str] = {}


def answer(text: str) -> str:
    """``{"kind": "report", "target": "org/name", ...}`` -> ``{"html": ..., "title": ...}``.

    ``kind`` is ``report``, ``memory``, ``explain``, ``audit`` or ``compare``; ``target`` a repo id,
    an address, a path, or ``{"config": TEXT}``; ``other`` the same for ``compare``; ``set`` a list
    of ``KEY=VALUE``. An error of ours is ``{"error": ..., "hint": ...}``.
    """
    try:
        return json.dumps(_answered(_question(text)))
    except HfinspectError as error:
        found = {"error": clean(str(error), 2000), "hint": clean(error.hint or "", 500)}
        return json.dumps({**found, "kind": error.kind})


def _question(text: str) -> dict[str, Any]:
    if len(text) > MAX_QUESTION:
        raise UsageError("the question", "is too long", expected=f"{MAX_QUESTION:,} characters")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("the question", "is not a JSON object")
    return found


def _answered(question: Mapping[str, Any]) -> Answer:
    kind = question.get("kind", "report")
    maker = _MAKERS.get(kind)
    if maker is None:
        raise UsageError(f"kind {kind!r}", "is unknown", expected=", ".join(_MAKERS))
    title, document, form, more = maker(question)
    name = question.get("name")
    if isinstance(name, str) and name:  # of a file or a config, which have a path alone
        title = title.replace(_path(question["target"]), name)
        document = replace(document, title=document.title.replace(_path(question["target"]), name))
    page = render("html", lambda: document, lambda: dict(form))
    json_form = render("json", lambda: document, lambda: dict(form))
    return {"title": clean(title, 240), "html": page, "json": json_form, **more}


def _path(target: object) -> str:
    return target if isinstance(target, str) else "config"


def _target(given: object) -> Any:
    """A name, or a config as a mapping."""
    if isinstance(given, str) and given.strip():
        return given.strip()
    if isinstance(given, Mapping) and isinstance(given.get("config"), str):
        from ..checkpoints.json_files import parse_json

        return parse_json("config.json", given["config"].encode())
    raise UsageError("the model", "is missing", expected="org/name, an address or a file")


def _reads(question: Mapping[str, Any]) -> dict[str, Any]:
    return {name: question[name] for name in _READS if question.get(name)}


def _changes(question: Mapping[str, Any]) -> dict[str, Any]:
    return {"overrides": parse_overrides(question.get("set") or ())}


def _report(question: Mapping[str, Any]) -> Made:
    from ..analysis.count import per_layer
    from ..pictures import portrait
    from ..reports import card_block, overview
    from ..reports import portrait as portraits

    found = portrait(_target(question.get("target")), **_reads(question), **_changes(question))
    inspection = found.inspection
    drawn = portraits.lay_out(found, groups=inspection.components)
    layers = per_layer(inspection.tensors)
    shown = overview.lay_out(inspection, groups=inspection.components, layers=layers)
    svg = render("svg", lambda: drawn, inspection.to_dict)
    card = card_block.render(inspection, shown)
    return Made(drawn.title, drawn, inspection.to_dict(), {"svg": svg, "card": card})


def _memory(question: Mapping[str, Any]) -> Made:
    from .. import pictures
    from ..reports.memory_screen import lay_out

    sizes = {name: question[name] for name in _SIZES if question.get(name)}
    found, curves = pictures.memory_drawn(
        _target(question.get("target")), **_reads(question), **_changes(question), **sizes
    )
    document = lay_out(found, curves, drawn=True)
    return Made(document.title, document, found.to_dict())


def _explain(question: Mapping[str, Any]) -> Made:
    from .. import api
    from ..reports.explained import lay_out

    more = {"against": question["against"]} if question.get("against") else {}
    target = _target(question.get("target"))
    found = api.explain(target, **_reads(question), **_changes(question), **more)
    document = lay_out(found, drawn=True)
    return Made(document.title, document, found.to_dict())


def _audit(question: Mapping[str, Any]) -> Made:
    from .. import api
    from ..reports.verdict import lay_out, to_dict

    target = _target(question.get("target"))
    if not isinstance(target, str):
        raise UsageError("a config", "has no files to audit", hint="drop the folder")
    found = api.audit(target, **_reads(question))
    document = lay_out([found], lines=False, fixes=True)
    return Made(document.title, document, to_dict([found]))


def _compare(question: Mapping[str, Any]) -> Made:
    from .. import api
    from ..reports.comparison import lay_out

    reads = {name: value for name, value in _reads(question).items() if name in ("token",)}
    first, other = _target(question.get("target")), _target(question.get("other"))
    found = api.compare(first, other, **reads)
    document = lay_out(found, drawn=True)
    return Made(document.title, document, found.to_dict())


_MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Made]]] = {
    "report": _report,
    "memory": _memory,
    "explain": _explain,
    "audit": _audit,
    "compare": _compare,
}
