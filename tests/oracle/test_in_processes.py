"""Work in processes: one that dies costs its own outcome, and what is done stays done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .in_processes import Outcome, read, work_through


def outcome(name: str, *, room: str) -> Outcome:
    """What a process of the tests does: it leaves a trace of having run."""
    with Path(room, "ran").open("a") as file:
        file.write(f"{name} {os.getpid()}\n")
    if name == "dies":
        os._exit(1)
    if name == "fails":
        raise ValueError("of two\nlines")
    return Outcome(equal=1, changed=["a: other"] if name == "differs" else [])


def test_a_process_that_dies_costs_its_own_outcome(tmp_path: Path) -> None:
    names = ["first", "dies", "fails", "differs", "last"]
    done = tmp_path / "done"
    outcomes = dict(work_through(names, "test_in_processes", done, room=str(tmp_path)))
    assert list(outcomes) == names
    assert [outcomes[name].equal for name in names] == [1, 0, 0, 1, 1]
    assert "died" in outcomes["dies"].by_hand[0]
    assert outcomes["fails"].by_hand == ["ValueError: of two lines"]
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert [name for name, _ in ran] == ["first", "dies", "dies", "fails", "differs", "last"]
    assert ran[3][1] == ran[4][1] == ran[5][1]  # one process does one after the other

    # What holds is not run again.
    assert sorted(read(done)) == ["first", "last"]
    again = dict(work_through(names, "test_in_processes", done, room=str(tmp_path)))
    assert again.keys() == outcomes.keys()
    more = (tmp_path / "ran").read_text().splitlines()[len(ran) :]
    assert [line.split()[0] for line in more] == ["dies", "dies", "fails", "differs"]


def test_a_line_that_was_cut_off_is_not_done(tmp_path: Path) -> None:
    done = tmp_path / "done"
    done.write_text('{"a": {"equal": 2, "changed": [], "taken": [], "by_hand": []}}\n{"b": {"eq')
    assert read(done) == {"a": Outcome(equal=2)}
    assert read(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        (Outcome(equal=3), True),
        (Outcome(changed=["a"]), False),
        (Outcome(changed=["a"], taken=["a"]), True),
        (Outcome(changed=["a"], taken=["a"], by_hand=["b"]), False),
    ],
)
def test_what_differs_holds_once_it_is_recorded(what: Outcome, holds: bool) -> None:
    assert what.holds is holds
