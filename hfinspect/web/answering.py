"""What the page's worker, and ``hfinspect serve``, call: a question as JSON, an answer as JSON.

The answer is the page, picture, card and JSON form that the command line makes of the same
question, or an error in words. Nothing here knows of a browser, so that it is tested without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.nesting import loads
from ..core.overrides import parse_overrides
from ..core.text import clean, of_type
from ..errors import HfinspectError, UsageError
from ..reports.document import Document
from ..reports.registry import render
from .open_models import OpenModels

if TYPE_CHECKING:
    from ..sources.deadline import Timeout
    from ..sources.header_cache import HeaderCache

#: Characters of a question; a config of some megabytes is the largest part.
MAX_QUESTION: Final = 16_000_000
#: What makes the size of an answer about memory, by name.
_SIZES: Final = ("context", "batch", "engine", "on", "width", "image", "images", "video", "audio")
#: Those that are numbers; the others are texts.
_NUMBERS: Final = ("batch", "images")

#: Kind of an error -> what to do in a page, which has no login, no disk and no environment.
_PAGE_HINTS: Final = {
    "repo_not_found": "check the spelling; a private model needs a token, which you can type above",
    "unauthorized": "type a token above: huggingface.co/settings/tokens has yours",
    "gated": "accept the terms on the model's page, and type a token above",
    "network": "check the network, and whether something in the browser blocks the Hub",
    "timeout": "try again",
}

PageAnswer = dict[str, Any]
#: What an answer is made by, as arguments of a verb.
ReadArguments = Mapping[str, Any]


class Reach(NamedTuple):
    """How an answerer reaches models. A page that computes by itself has a token from its user; a
    server has a login of its own, and takes none from a page."""

    own_login: bool = False
    token: str | None = None
    timeout: Timeout = None
    cache: HeaderCache | None = None
    opened: OpenModels | None = None

    def reads(self, question: Mapping[str, Any]) -> ReadArguments:
        """The arguments that say how a model is read. ``opened`` has what earlier questions have
        read of the models that this one names."""
        token = self.token if self.own_login else question.get("token") or None
        if not isinstance(token, str | None):
            raise UsageError("the token", f"is {of_type(token)}", expected="a text")
        targets = (question.get("target"), question.get("other"))
        opened = self.opened or OpenModels()
        session = opened.access(targets, token, self.cache, self.timeout)
        return {"session": session, "timeout": self.timeout, "cache": self.cache}


class PageContent(NamedTuple):
    """What a page is made of; ``more`` are the texts that only one kind of question has."""

    title: str
    document: Document
    form: Mapping[str, Any]
    more: Mapping[str, str] = {}


def answer(text: str, reach: Reach = Reach()) -> str:  # noqa: B008 - frozen
    """``{"kind": "report", "target": "org/name", ...}`` -> ``{"html": ..., "title": ...}``.

    ``kind`` is ``report``, ``memory``, ``explain``, ``audit`` or ``compare``; ``target`` a repo id,
    an address, a path, or ``{"config": TEXT}``; ``other`` the same for ``compare``; ``set`` a list
    of ``KEY=VALUE``. An error of ours is ``{"error": ..., "hint": ...}``.
    """
    try:
        return json.dumps(_answered(_question(text), reach))
    except HfinspectError as error:
        failure = error_answer(error)
        if not reach.own_login and error.kind in _PAGE_HINTS:
            failure["hint"] = _PAGE_HINTS[error.kind]
        return json.dumps(failure)


def prepare() -> None:
    """Answer a small question of each kind, so that the next one waits for no import."""
    small = {"config": json.dumps({"model_type": "gpt2", "n_layer": 1})}
    for kind in _MAKERS:
        answer(json.dumps({"kind": kind, "target": small, "other": small}))


def error_answer(error: HfinspectError) -> PageAnswer:
    """An error in words."""
    hint = clean(error.hint or "", 500)
    return {"error": clean(str(error), 2000), "hint": hint, "kind": error.kind}


def _question(text: str) -> dict[str, Any]:
    if len(text) > MAX_QUESTION:
        raise UsageError("the question", "is too long", expected=f"{MAX_QUESTION:,} characters")
    try:
        question = loads(text)
    except ValueError:
        question = None
    if not isinstance(question, dict):
        raise UsageError("the question", "is not a JSON object")
    return question


def _answered(question: Mapping[str, Any], reach: Reach) -> PageAnswer:
    kind = question.get("kind", "report")
    maker = _MAKERS.get(kind) if isinstance(kind, str) else None
    if maker is None:
        raise UsageError(f"kind {kind!r}", "is unknown", expected=", ".join(_MAKERS))
    title, document, form, more = maker(question, reach.reads(question))
    name = question.get("name")
    if isinstance(name, str) and name:  # of a file or a config, which have a path alone
        title = title.replace(_path(question["target"]), name)
        document = replace(document, title=document.title.replace(_path(question["target"]), name))
    page = render("html", lambda: document, lambda: dict(form))
    json_form = render("json", lambda: document, lambda: dict(form))
    return {"title": clean(title, 240), "html": page, "json": json_form, **more}


def _path(target: object) -> str:
    return target if isinstance(target, str) else "config"


def _target(value: object) -> Any:
    """A name, or a config as a mapping."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, Mapping) and isinstance(value.get("config"), str):
        from ..checkpoints.json_files import parse_json

        return parse_json("config.json", value["config"].encode())
    raise UsageError("the model", "is missing", expected="org/name, an address or a file")


def _changes(question: Mapping[str, Any]) -> dict[str, Any]:
    changes = question.get("set") or []
    if not isinstance(changes, list) or not all(isinstance(one, str) for one in changes):
        raise UsageError("the changes", "are not a list of texts", expected="KEY=VALUE")
    return {"overrides": parse_overrides(changes)}


def _sizes(question: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: question[name] for name in _SIZES if question.get(name)}
    for name, value in sizes.items():
        if not isinstance(value, int if name in _NUMBERS else str):
            raise UsageError(name, f"is {of_type(value)}")
    return sizes


def _report(question: Mapping[str, Any], reads: ReadArguments) -> PageContent:
    from ..analysis.count import per_layer
    from ..pictures import portrait
    from ..reports import card_block, overview
    from ..reports import portrait as portraits

    drawing = portrait(_target(question.get("target")), **reads, **_changes(question))
    inspection = drawing.inspection
    drawn = portraits.lay_out(drawing, groups=inspection.components)
    layers = per_layer(inspection.tensors)
    shown = overview.lay_out(inspection, groups=inspection.components, layers=layers)
    svg = render("svg", lambda: drawn, inspection.to_dict)
    card = card_block.render(inspection, shown)
    return PageContent(drawn.title, drawn, inspection.to_dict(), {"svg": svg, "card": card})


def _memory(question: Mapping[str, Any], reads: ReadArguments) -> PageContent:
    from .. import pictures
    from ..reports.memory_screen import lay_out

    memory, curves = pictures.memory_drawn(
        _target(question.get("target")), **reads, **_changes(question), **_sizes(question)
    )
    document = lay_out(memory, curves, drawn=True)
    return PageContent(document.title, document, memory.to_dict())


def _explain(question: Mapping[str, Any], reads: ReadArguments) -> PageContent:
    from .. import api
    from ..reports.explained import lay_out

    target = _target(question.get("target"))
    explanation = api.explain(target, **reads, **_changes(question))
    document = lay_out(explanation, drawn=True)
    return PageContent(document.title, document, explanation.to_dict())


def _audit(question: Mapping[str, Any], reads: ReadArguments) -> PageContent:
    from .. import api
    from ..reports.verdict import Audits, lay_out

    target = _target(question.get("target"))
    if not isinstance(target, str):
        raise UsageError("a config", "has no files to audit", hint="drop the folder")
    audited = api.audit(target, **reads)
    document = lay_out([audited], lines=False, fixes=True)
    return PageContent(document.title, document, Audits([audited]).to_dict())


def _compare(question: Mapping[str, Any], reads: ReadArguments) -> PageContent:
    from .. import api
    from ..reports.comparison import lay_out

    first = _target(question.get("target"))
    other = _target(question.get("other"))
    comparison = api.compare(first, other, **reads)
    document = lay_out(comparison, drawn=True)
    return PageContent(document.title, document, comparison.to_dict())


_MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any], ReadArguments], PageContent]]] = {
    "report": _report,
    "memory": _memory,
    "explain": _explain,
    "audit": _audit,
    "compare": _compare,
}
