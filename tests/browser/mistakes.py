"""What a user gets wrong, by kind, and that each tab's answer is drawn afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .app_page import AppPage

TABS = ("report", "memory", "explain", "audit", "compare")


def _unknown_repo(page: AppPage) -> None:
    page.type(model="org/nothing")
    page.go()


def _no_second_model(page: AppPage) -> None:
    page.type(other="")
    page.tab("compare")


def _unknown_second_model(page: AppPage) -> None:
    page.type(other="org/nothing")
    page.tab("compare")


def _no_config(page: AppPage) -> None:
    page.type(model="", config="{")
    page.go()


def _no_card(page: AppPage) -> None:
    page.type(on="a large one")
    page.tab("memory")


def _no_change(page: AppPage) -> None:
    page.type(set="hidden_size")
    page.tab("report")


def _no_model_in_files(page: AppPage) -> None:
    page.tab("report")  # an audit of them is an answer
    page.choose({"notes.txt": b"of mine"})


def _no_files(page: AppPage) -> None:
    page.choose({".hidden": b""})


#: Each ends with an error in words.
MISTAKES: Mapping[str, Callable[[AppPage], None]] = {
    "an unknown repo": _unknown_repo,
    "no second model": _no_second_model,
    "an unknown second model": _unknown_second_model,
    "a config that is not JSON": _no_config,
    "a card that is none": _no_card,
    "a change without a value": _no_change,
    "files that are no model": _no_model_in_files,
    "hidden files alone": _no_files,
}


def ask(page: AppPage, model: str, tab: str) -> None:
    """A question that has an answer; what was typed before is gone."""
    page.type(model=model, other=model, config="", on="", set="")
    page.go()
    page.tab(tab)


def answers_are_drawn(page: AppPage, model: str) -> None:
    """A good answer, then each mistake with a good answer after it, of one tab after the other."""
    ask(page, model, TABS[0])
    assert page.is_drawn()
    for number, (mistake, make) in enumerate(MISTAKES.items()):
        tab = TABS[number % len(TABS)]
        make(page)
        assert page.text("wrong"), mistake
        ask(page, model, tab)
        assert page.text("wrong") == "", (tab, mistake)
        assert page.is_drawn(), f"{tab} after {mistake}"
