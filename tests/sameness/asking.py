"""Two packages are asked the same, each in processes of its own."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .packages import Package
from .questions import MODEL, Question
from .subjects import Subject, placed

#: A process answers about so many subjects, then another begins: families that it read stay in it.
_SUBJECTS_OF_PROCESS = 400
#: Where nobody listens: nothing here may ask the Hub.
_NOBODY = "http://127.0.0.1:9"
_NOT_PASSED_ON = ("HF_", "HUGGING", "TRANSFORMERS_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_COLUMNS = 100


class Answer(NamedTuple):
    """What a command gave; the code is None where its process ended."""

    code: int | None
    out: str
    err: str


@dataclass(frozen=True)
class Compared:
    """A subject with the answers of both sides to each question."""

    subject: str
    answers: tuple[tuple[Question, Answer, Answer], ...]

    @property
    def differing(self) -> list[tuple[Question, Answer, Answer]]:
        return [row for row in self.answers if row[1] != row[2]]


def room(path: Path | None = None) -> Path:
    """A folder of this user's alone, with what is kept between runs. The same path each time: it is
    part of what is answered."""
    if path is None:
        path = Path(tempfile.gettempdir()) / f"hfinspect-sameness-{os.getuid()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise LookupError(f"{path} belongs to another user")
    for name in ("packages", "subjects", "home"):
        (path / name).mkdir(exist_ok=True)
    return path


class Kept:
    """Answers of packages that do not change, by all that they depend on."""

    def __init__(self, path: Path) -> None:
        self.lock = threading.Lock()
        self.held = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self.held.execute("pragma synchronous = off")  # what is lost is asked again
        self.held.execute("create table if not exists answers (key blob primary key, answer blob)")

    @staticmethod
    def key(package: Package, place: Path, arguments: Sequence[str]) -> bytes:
        parts = [package.key, str(place), *arguments, _libraries()]
        return hashlib.sha256(json.dumps(parts).encode()).digest()

    def get(self, key: bytes) -> Answer | None:
        with self.lock:
            row = self.held.execute("select answer from answers where key = ?", (key,)).fetchone()
        return None if row is None else Answer(*json.loads(zlib.decompress(row[0])))

    def put(self, answers: dict[bytes, Answer]) -> None:
        rows = [(key, zlib.compress(json.dumps(one).encode())) for key, one in answers.items()]
        with self.lock, self.held:
            self.held.executemany("insert or replace into answers values (?, ?)", rows)

    def close(self) -> None:
        self.held.close()


@cache
def _libraries() -> str:
    installed = {f"{d.metadata['Name']} {d.version}" for d in importlib.metadata.distributions()}
    return "\n".join([sys.version, *sorted(installed)])


@dataclass
class Worker:
    """A process that answers for a package; it is begun when it is asked."""

    package: Package
    home: Path
    process: subprocess.Popen[str] | None = None
    asked: int = 0

    def ask(self, place: Path, questions: Sequence[Sequence[str]]) -> list[Answer]:
        """An answer each. Where the process dies, each is asked in one of its own."""
        if self.asked >= _SUBJECTS_OF_PROCESS:
            self.end()
        answers = self._all(place, questions)
        if answers is None and len(questions) == 1:
            return [Answer(None, "", f"the process ended with {self.end()}")]
        if answers is None:
            self.end()
            return [answer for one in questions for answer in self.ask(place, [one])]
        return answers

    def _all(self, place: Path, questions: Sequence[Sequence[str]]) -> list[Answer] | None:
        process = self.process = self.process or self._begun()
        self.asked += 1
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps([str(place), questions]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return [Answer(*one) for one in json.loads(line)] if line else None

    def _begun(self) -> subprocess.Popen[str]:
        passed = {k: v for k, v in os.environ.items() if not k.upper().startswith(_NOT_PASSED_ON)}
        for name in ("FORCE_COLOR", "NO_COLOR", "PYTHONPATH", "PYTHONHASHSEED"):
            passed.pop(name, None)
        own = {
            "HF_ENDPOINT": _NOBODY,
            "HF_HOME": str(self.home),
            "HFINSPECT_CACHE": str(self.home / "kept"),
            "COLUMNS": str(_COLUMNS),
            "PYTHONUTF8": "1",
            "TERM": "dumb",
        }
        return subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("answering.py")),
                str(self.package.folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=passed | own,
        )

    def end(self) -> int | None:
        """Ends the process, if there is one; its exit code."""
        process = self.process
        self.process = None
        self.asked = 0
        if process is None:
            return None
        with contextlib.suppress(BrokenPipeError):
            assert process.stdin is not None
            process.stdin.close()
        code = process.wait()
        assert process.stdout is not None
        process.stdout.close()
        return code


@dataclass
class Judge:
    """Asks two packages; ``kept`` has what the older one answered before."""

    old: Package
    new: Package
    questions: Sequence[Question]
    room: Path
    kept: Kept | None = None
    #: Answers that were kept, and new ones.
    known: int = 0
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def compared(self, subjects: Sequence[Subject], jobs: int = 1) -> Iterator[Compared]:
        """Each subject in turn, ``jobs`` of them at once."""
        workers: list[tuple[Worker, Worker]] = []
        own = threading.local()

        def one(subject: Subject) -> Compared:
            if not hasattr(own, "pair"):
                home = self.room / "home"
                own.pair = Worker(self.old, home), Worker(self.new, home)
                workers.append(own.pair)
            return self._one(subject, *own.pair)

        pool = ThreadPoolExecutor(jobs)
        try:
            yield from pool.map(one, subjects)
        finally:
            pool.shutdown(cancel_futures=True)
            for pair in workers:
                for worker in pair:
                    worker.end()

    def _one(self, subject: Subject, old: Worker, new: Worker) -> Compared:
        place = placed(subject, self.room / "subjects")
        questions = [q for q in self.questions if subject.verbs is None or q.verb in subject.verbs]

        def words(arguments: Sequence[str]) -> list[str]:
            return [subject.called if word == MODEL else word for word in arguments]

        before = self._of_older(old, place, [words(q.older) for q in questions])
        after = new.ask(place, [words(q.arguments) for q in questions]) if questions else []
        with self.lock:
            self.asked += len(after)
        return Compared(subject.name, tuple(zip(questions, before, after, strict=True)))

    def _of_older(
        self, worker: Worker, place: Path, questions: Sequence[Sequence[str]]
    ) -> list[Answer]:
        kept = self.kept if worker.package.key is not None else None
        keys = [Kept.key(worker.package, place, one) for one in questions]
        before = {key: kept.get(key) for key in keys} if kept is not None else {}
        left = [n for n, key in enumerate(keys) if before.get(key) is None]
        fresh = worker.ask(place, [questions[n] for n in left]) if left else []
        answers = {keys[n]: one for n, one in zip(left, fresh, strict=True)}
        if kept is not None and answers:
            kept.put({key: one for key, one in answers.items() if one.code is not None})
        with self.lock:
            self.known += len(keys) - len(left)
            self.asked += len(left)
        return [answers.get(key) or before[key] for key in keys]  # type: ignore[misc]
