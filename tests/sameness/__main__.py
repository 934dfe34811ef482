"""Whether every command says today what it said at another commit.

    python -m tests.sameness main                     # everything, byte for byte
    python -m tests.sameness HEAD~3 --part 1/20       # every twentieth config and fixture
    python -m tests.sameness main --only 'recorded/llama/*' --questions memory,explain

Asks ``inspect``, ``explain``, ``memory``, ``runs`` and ``audit`` about every recorded config and
every fixture of this checkout, for the screen and as JSON, as the other commit's package answers
and as this checkout's does, uncommitted changes included. Exit code, standard output and standard
error have to be equal. Prints which questions differ about which configs, equal differences
together. What the other commit answered is kept in a temporary folder, so that the next run asks
this checkout alone; the folder may be deleted at any time. Exit codes: 0 the same, 1 different, 2
usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import chain
from pathlib import Path

from .asking import Judge, Kept, room
from .differences import Differences, shortened
from .packages import ROOT, checked_out, fixtures_on_one_side, of_commit
from .questions import QUESTIONS, chosen, names
from .subjects import those

#: Names of subjects that are shown of a group, lines of its difference, and files of one side.
_NAMES = 3
_LINES = 14
_FILES = 10


def main(words: list[str], root: Path = ROOT) -> int:
    """``root`` is the checkout whose package is compared with one of its commits."""
    options = _parser().parse_args(words)
    started = time.monotonic()
    try:
        questions = chosen(options.questions.split(",")) if options.questions else QUESTIONS
        place = room(options.kept)
        old = of_commit(options.commit, place / "packages", root)
        part = _part(options.part)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    subjects = those(options.only, part)
    if not subjects:
        print(f"--only {options.only}: no config or fixture has such a name", file=sys.stderr)
        return 2
    _say_fixtures(options.commit, root)
    kept = Kept(place / "answers.sqlite")
    new = checked_out(root)
    judge = Judge(old, new, questions, place, kept)
    differences = Differences()
    for number, one in enumerate(judge.compared(subjects, options.jobs), 1):
        differences.add(one)
        if number % 100 == 0:
            print(
                f"{number:,} of {len(subjects):,}, {len(differences.by_subject):,} differ "
                f"({time.monotonic() - started:.0f} s)",
                file=sys.stderr,
                flush=True,
            )
    kept.close()
    _show(differences, options.show)
    if options.list:
        for subject, asked in differences.by_subject.items():
            print(f"{subject}: {', '.join(asked)}")
    differing = len(differences.by_subject)
    print(
        f"{old.label} and {new.label}: {len(subjects):,} configs and fixtures, "
        f"{len(questions)} questions, {judge.asked:,} new answers, {judge.known:,} kept, "
        f"{time.monotonic() - started:.0f} s: "
        + (f"{differing:,} differ" if differing else "the same")
    )
    return 1 if differing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.sameness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("commit", help="what to compare this checkout with")
    parser.add_argument("--part", default="1/1", help="every n-th subject: 1/20 ... 20/20")
    parser.add_argument("--only", metavar="GLOB", help="subjects with such names: recorded/llama/*")
    parser.add_argument("--questions", help=f"some of: {', '.join(names())}")
    parser.add_argument("--jobs", type=int, default=2, help="subjects at once (2)")
    parser.add_argument("--show", type=int, default=20, help="groups of differences to show (20)")
    parser.add_argument("--list", action="store_true", help="name every subject that differs")
    parser.add_argument("--kept", type=Path, help="folder for what is kept (a temporary one)")
    return parser


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise LookupError(f"--part {text}: expected one of so many, such as 1/20")
    return int(number), int(parts)


def _say_fixtures(commit: str, root: Path) -> None:
    theirs, ours = fixtures_on_one_side(commit, root)
    for files, where in ((theirs, f"only at {commit}, not asked about"), (ours, "only here")):
        if files:
            print(f"{len(files)} files of fixtures are {where}:")
            print("\n".join(f"  {line}" for line in shortened(files, _FILES)))


def _show(differences: Differences, count: int) -> None:
    groups = differences.groups
    if not groups:
        return
    by_question = Counter(chain.from_iterable(differences.by_subject.values()))
    for name, number in by_question.most_common():
        print(f"{name}: differs of {number:,}")
    print()
    for group in groups[:count]:
        some = ", ".join(group.subjects[:_NAMES])
        more = len(group.subjects) - _NAMES
        print(f"{group.question}: {len(group.subjects):,} x {some}" + (" ..." if more > 0 else ""))
        print("\n".join(f"    {line}" for line in shortened(group.diff, _LINES)), end="\n\n")
    if len(groups) > count:
        print(f"{len(groups) - count:,} more groups of differences (--show {len(groups)})\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
