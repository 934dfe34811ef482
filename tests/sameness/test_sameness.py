"""The judge of sameness: it names every question whose answer differs, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ..architectures import recordings
from .__main__ import main
from .asking import Answer, Judge, Kept, room
from .differences import diff, grouped, shortened
from .packages import ROOT, Package
from .questions import MODEL, QUESTIONS, Question, chosen
from .subjects import Subject, everything, naming, placed

pytestmark = pytest.mark.posix  # folders of one user

ASKED = (Question("count", "count", ("count", MODEL)), Question("say", "say", ("say", MODEL)))
#: The front door of a package that counts the letters of what it is asked about.
COUNTS = """
import sys

def run(arguments):
    verb, model = arguments
    if verb == "count":
        print(f"{model} has   {len(model)} letters")
    print("said", file=sys.stderr)
    return 0
"""


def package(place: Path, front_door: str, key: str | None = None) -> Package:
    (place / "hfinspect" / "cli").mkdir(parents=True)
    for folder in (place / "hfinspect", place / "hfinspect" / "cli"):
        (folder / "__init__.py").write_text("")
    (place / "hfinspect" / "cli" / "outcome.py").write_text(front_door)
    return Package(place.name, place, key)


def subjects(*names: str) -> list[Subject]:
    return [Subject(name, lambda folder: None) for name in names]


def judged(place: Path, after: str, *names: str, jobs: int = 1) -> list[list[str]]:
    """The lines of each group's difference, under the question and the subjects."""
    old = package(place / "old", COUNTS)
    new = package(place / "new", after)
    judge = Judge(old, new, ASKED, room(place / "room"))
    groups = grouped(judge.compared(subjects(*names), jobs))
    return [[g.question, *g.subjects, *g.diff] for g in groups]


def test_the_same_package_answers_the_same(tmp_path: Path) -> None:
    assert judged(tmp_path, COUNTS, "a/one", "a/three", "a/four", jobs=2) == []


def test_equal_differences_are_one_whatever_the_model_and_its_numbers(tmp_path: Path) -> None:
    after = COUNTS.replace("letters", "characters")
    (group,) = judged(tmp_path, after, "a/one", "b/three", jobs=2)
    assert group == [
        "count",
        "a/one",
        "b/three",
        "@@ stdout",
        "-one has   3 letters",
        "+one has   3 characters",
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("return 0", "return 3", ["-exit code 0", "+exit code 3"]),
        ('"said"', '"told"', ["@@ stderr", "-said", "+told"]),
        ('"said"', '"said "', ["@@ stderr", "-said", "+said "]),
        ('"said"', '"said", end=""', ["@@ stderr", "-'said\\n'", "+'said'"]),
    ],
)
def test_every_byte_counts(before: str, after: str, said: list[str], tmp_path: Path) -> None:
    groups = judged(tmp_path, COUNTS.replace(before, after), "a/one")
    assert groups == [["count", "a/one", *said], ["say", "a/one", *said]]


def test_a_traceback_is_an_answer(tmp_path: Path) -> None:
    after = COUNTS.replace('if verb == "count":', 'if verb == "say":\n        raise KeyError(verb)')
    assert [
        ["say", "a/one", *g[2:]] for g in judged(tmp_path, after, "a/one") if g[0] == "say"
    ] == [
        ["say", "a/one", "-exit code 0", "+exit code -1", "@@ stderr", "-said", "+KeyError: 'say'"]
    ]


def test_a_process_that_dies_costs_its_own_question(tmp_path: Path) -> None:
    dies = 'if (verb, model) == ("say", "two"):\n        sys.modules["os"]._exit(7)\n    if verb'
    after = COUNTS.replace("if verb", dies)
    (group,) = judged(tmp_path, after, "a/one", "a/two", "a/three")
    assert group == [
        "say",
        "a/two",
        "-exit code 0",
        "+exit code None",
        "@@ stderr",
        "-said",
        "+the process ended with 7",
    ]


def test_a_verb_that_was_renamed_is_asked_by_both_names(tmp_path: Path) -> None:
    old = package(tmp_path / "old", COUNTS)
    new = package(tmp_path / "new", COUNTS.replace('"count"', '"letters"'))
    renamed = Question("letters", "letters", ("letters", MODEL), ("count", MODEL))
    place = room(tmp_path / "room")
    one = Judge(old, new, [renamed], place).compared(subjects("a/one"))
    assert not next(one).differing
    (same,) = Judge(old, new, [ASKED[0]], place).compared(subjects("a/one"))
    assert len(same.differing) == 1


def test_what_a_commit_answered_is_not_asked_again(tmp_path: Path) -> None:
    old = package(tmp_path / "old", COUNTS, "a tree")
    new = package(tmp_path / "new", COUNTS)
    place = room(tmp_path / "room")
    counts = []
    for questions in (ASKED[:1], ASKED, ASKED):
        kept = Kept(place / "answers.sqlite")
        judge = Judge(old, new, questions, place, kept)
        assert not any(one.differing for one in judge.compared(subjects("a/one", "a/two")))
        counts.append((judge.known, judge.asked))
        kept.close()
    assert counts == [(0, 4), (2, 6), (4, 4)]


def test_an_answer_that_was_kept_is_compared(tmp_path: Path) -> None:
    place = room(tmp_path / "room")
    old = package(tmp_path / "old", COUNTS, "a tree")
    for name, front_door in (("one", COUNTS), ("other", COUNTS.replace("has", "holds"))):
        kept = Kept(place / "answers.sqlite")
        judge = Judge(old, package(tmp_path / name, front_door), ASKED, place, kept)
        (compared,) = judge.compared(subjects("a/one"))
        kept.close()
    assert [question.name for question, _, _ in compared.differing] == ["count"]


def test_a_long_answer_shows_where_it_differs() -> None:
    lines = [f"line {number}\n" for number in range(100_000)]
    before = Answer(0, "".join(lines), "")
    lines[70_000] = "another\n"
    changed = diff(before, Answer(0, "".join(lines), ""))
    assert changed[:4] == ["@@ stdout", " line 69999", "-line 70000", "+another"]
    assert shortened(changed, 2) == ["@@ stdout", " line 69999", "... 3 more lines"]


def test_a_folder_is_called_after_what_is_in_it(tmp_path: Path) -> None:
    def written(text: str) -> Subject:
        return Subject("a/one two", lambda folder: (folder / "x").write_text(text))

    place = placed(written("1"), tmp_path)
    assert place == placed(written("1"), tmp_path) != placed(written("2"), tmp_path)
    assert (place / "one-two" / "x").read_text() == "1"
    assert len(list(tmp_path.iterdir())) == 2


def test_every_recording_and_every_kind_of_fixture_is_asked_about() -> None:
    names = [subject.name for subject in everything()]
    assert len(names) == len(set(names))
    families = {name.split("/")[1] for name in names if name.startswith("recorded/")}
    assert families == set(recordings.FAMILIES)
    assert {"models/gpt2", "checkpoints/torch-sharded", "packed/0/config"} <= set(names)
    rooms = {name.split("/")[0] for name in names}
    assert {"trust", "tokenizers", "sentence_transformers", "engine_facts", "float32"} <= rooms
    assert any(name.startswith("checkpoints/audit/HI") for name in names)


def test_a_composite_is_found_by_a_type_of_a_section() -> None:
    names = [subject.name for subject in naming({"clip_vision_model"})]
    assert any(name.startswith("recorded/clip/") for name in names)
    assert any(name.startswith("recorded/llava/") for name in names)


def test_every_verb_is_asked_for_the_screen_and_as_json() -> None:
    verbs = {"inspect", "explain", "memory", "runs", "audit"}
    assert {q.verb for q in QUESTIONS} == verbs
    assert {q.verb for q in QUESTIONS if "json" in q.arguments} == verbs
    engines = {
        q.arguments[q.arguments.index("--engine") + 1]
        for q in QUESTIONS
        if "--engine" in q.arguments
    }
    assert engines == {"vllm", "llama.cpp"}
    assert [q.name for q in chosen(["runs", "audit json"])] == ["runs", "runs json", "audit json"]


def git(place: Path, *words: str) -> None:
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *person, *words], cwd=place, check=True, capture_output=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the package, with one commit."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    place = tmp_path_factory.mktemp("checkout")
    cache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hfinspect", place / "hfinspect", ignore=cache)
    (place / "fixtures").mkdir()
    (place / "fixtures" / "gone.json").write_text("{}")
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "first")
    return place


def test_a_changed_word_is_named_with_its_question_and_its_config(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["HEAD", "--only", "models/gpt2", "--questions", "memory vllm,inspect", "--jobs", "1"]
    words += ["--kept", str(tmp_path)]
    assert main(words, checkout) == 0
    same = capsys.readouterr().out
    assert "1 configs and fixtures, 3 questions, 6 new answers, 0 kept" in same
    assert same.endswith(": the same\n")

    screen = checkout / "hfinspect" / "reports" / "memory_screen.py"
    screen.write_text(screen.read_text().replace("and workspace at most", "and room at most"))
    (checkout / "fixtures" / "gone.json").rename(checkout / "fixtures" / "new.json")
    assert main([*words, "--list"], checkout) == 1
    out = capsys.readouterr().out
    assert "memory vllm: differs of 1\n" in out
    assert "inspect: differs" not in out
    assert "memory vllm: 1 x models/gpt2\n" in out
    assert "and workspace at most" in out.partition("\n    -")[2].partition("\n")[0]
    assert "and room at most" in out.partition("\n    +")[2].partition("\n")[0]
    assert "\nmodels/gpt2: memory vllm\n" in out
    assert "only at HEAD, not asked about:\n  fixtures/gone.json\n" in out
    assert "only here:\n  fixtures/new.json\n" in out
    assert "3 new answers, 3 kept" in out
    assert out.endswith(": 1 differ\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-commit"], "'no-such-commit' is no commit with the package"),
        (["HEAD", "--questions", "sing"], "'sing' is no question; expected some of: inspect"),
        (["HEAD", "--part", "3/2"], "--part 3/2: expected one of so many, such as 1/20"),
        (["HEAD", "--only", "nothing/*"], "--only nothing/*: no config or fixture has such a name"),
    ],
)
def test_what_cannot_be_asked_is_said(
    words: list[str],
    said: str,
    checkout: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*words, "--kept", str(tmp_path)], checkout) == 2
    assert capsys.readouterr().err.startswith(said)
