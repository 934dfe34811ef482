"""Builds of one class: the tree of what would be saved, and the config that it came from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.catalog import find_class
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_saved

from .changing import IDLE, flattened, nested, without
from .evaluating import EnvValues, evaluated
from .library import Library, patience
from .observing import Node, Part, Saved, flat, paths, put, tree
from .staging import Parallel

#: Builds beyond which no more are made, and seconds for one build.
MOST = 700
PATIENCE = 20.0


class Failed(Exception):  # noqa: N818
    """The class cannot be recorded; says why."""


class Seen(NamedTuple):
    """A build and how it came about. ``changes``: dotted key -> value put over the base."""

    changes: Mapping[str, Any]
    given: Mapping[str, Any]
    env: dict[str, Any]
    written: frozenset[str]
    root: Node

    def says(self, key: str) -> bool:
        """Whether the config gives the key's value, a null that stays null included."""
        stays = key in self.given and self.given[key] is None and self.env.get(key) is None
        return stays or key in self.written


class Builds:
    """One class of one type."""

    def __init__(
        self,
        library: Library,
        kind: str,
        name: str,
        seconds: float = 60,
        released: Mapping[str, Any] | None = None,
        narrow: int = 0,
    ) -> None:
        self.library = library
        self.kind = kind
        self.name = name
        #: The config that must be answered: one as released, or the class's default.
        self.released = dict(released or {})
        #: What is guarded from the start: 0 nothing, 1 all but numbers, 2 all but depths.
        self.narrow = narrow
        self.seconds = seconds
        self.until = time.process_time() + seconds
        self.rng = Random(f"{kind} {name}")
        self.cache: dict[str, Seen | str] = {}
        self.seen: list[Seen] = []
        self.working: dict[str, list[Any]] = {}
        self.failing: dict[str, list[Any]] = {}
        self.sections: dict[str, str] = {}
        self.base_given: dict[str, Any] = {}
        self.known: dict[Any, dict[str, Any]] = {}
        self.says: list[str] = []
        self.zeros: set[str] = set()
        #: Keys that say "none" by 0 and by every negative number.
        self.signed: set[str] = set()
        #: Keys that change nothing alone.
        self.conditional: set[str] = set()
        #: Flags that build only where another one is turned as well -> that one, and to what.
        self.needs: dict[str, dict[str, bool]] = {}
        self.groups: list[Parallel] = []
        #: Of each group the lengths that build.
        self.lengths: dict[Parallel, list[int]] = {}
        self.refused = ""
        self.rebased = False
        #: Keys that the class computes where they are absent, in a way that nothing explains.
        self.derived: set[str] = set()
        #: Numbers that the class computes where they are absent -> the expression.
        self.computed: dict[str, Any] = {}
        #: Those of them that may not be absent after all.
        self.strict: set[str] = set()
        self.without: set[str] = set()
        #: Lists that the class computes where they are absent, and those that nothing gives.
        self.listed: dict[str, dict[str, Any]] = {}
        self.unlike: set[str] = set()
        #: Keys that no config class lists -> what they stand for where they are absent.
        self.hidden: dict[str, Any] = {}
        self.parts: dict[str, str] | None = None
        self.absent: dict[str, dict[str, Any]] = {}

    @property
    def unwritten(self) -> dict[str, Any]:
        """What the class itself gives each key."""
        if not hasattr(self, "_unwritten"):
            try:
                full = self.library.full(self.kind, self.name, {})
            except Exception:
                full = {}
            self._unwritten = flattened(full, self.sections)
        return self._unwritten

    def shrunk(self) -> set[str]:
        """Counts that the base has smaller than the config which is to be answered."""
        wanted = {**self.unwritten, **self.released}
        return {k for k, v in self.base_given.items() if type(v) is int and v != wanted.get(k)}

    # ---- builds

    def attempt(self, given: Mapping[str, Any], changes: Mapping[str, Any]) -> Seen | str:
        """A build, or why there is none."""
        key = json.dumps(given, sort_keys=True, default=repr)
        if key not in self.cache:
            if len(self.cache) > MOST or time.process_time() > self.until:
                return "no time left"
            try:
                with patience(PATIENCE):
                    node = self._tree(self.library.build(self.kind, self.name, given), given)
                    full = self.library.full(self.kind, self.name, given)
            except Exception as error:
                self.cache[key] = f"{type(error).__name__}: {str(error).strip()[:200]}"
                return self.cache[key]
            env = flattened(full, self.sections)
            env = {**self._hidden(env), **env}
            plain = flattened(self._filled(given), self.sections)
            env.update({k: v for k, v in plain.items() if v is not None})
            written = {k for k, v in plain.items() if v is not None}
            written |= self._own_names(self._filled(given))
            if "id2label" in written:
                written.add("num_labels")  # which they count
            written |= {k.rpartition(".")[0] for k in plain if "." in k}
            self.cache[key] = Seen(dict(changes), dict(given), env, frozenset(written), node)
        return self.cache[key]

    def _hidden(self, env: Mapping[str, Any]) -> dict[str, Any]:
        """The keys that no config class lists, where they are absent."""
        values = EnvValues(env)
        defaults = {
            key: evaluated(default["of"], values) if isinstance(default, dict) else default
            for key, default in self.hidden.items()
        }
        return {key: value for key, value in defaults.items() if value is not None}

    def _tree(self, saved: Saved, given: Mapping[str, Any]) -> Node:
        """The modules; those that the catalog has as classes of sections are parts."""
        root = tree(saved)
        if self.parts is None:
            self.parts = self._parts(root, saved, given)
        there = {path for path, _ in paths(root)}
        for own, path in self.parts.items():
            if own in saved.parts and path in there:
                node = next(node for place, node in paths(root) if place == path)
                put(root, path, Part(*saved.parts[own], node))
        return root

    def _parts(self, root: Node, saved: Saved, given: Mapping[str, Any]) -> dict[str, str]:
        """Of the first build: own path -> saved path of what the catalog builds of a section."""
        part_of: dict[str, str] = {}
        config = ModelConfig(self.library.config_json(self.kind, self.name, self._filled(given)))
        for own, (key, name) in saved.parts.items():
            family = find_class(name)
            if name == self.name or family is None or any(own.startswith(f"{p}.") for p in part_of):
                continue
            section = config
            for step in key.split(".") if key else ():
                section = section.section(step)
            try:
                specs = expected_tensors(family.classes[name](section))
            except HfinspectError:
                continue
            wanted = {s.name: tuple(map(int, s.shape)) for s in specs if is_saved(s)}
            places = [path for path, node in paths(root) if wanted and flat(node) == wanted]
            if own in places or len(places) == 1:
                part_of[own] = own if own in places else places[0]
        return part_of

    def _filled(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """With the sections that the class makes of absent ones."""
        absent = {k: v for k, v in self.absent.items() if "." not in k and k not in given}
        return {**given, **absent} if absent else given

    def _absent(self) -> dict[str, dict[str, Any]]:
        """Sections that the class makes otherwise than their own class does."""
        sections: dict[str, dict[str, Any]] = {}
        try:
            whole = self.library.full(self.kind, self.name, {})
            for key, kind in self.sections.items():
                if "." in key or not isinstance(whole.get(key), dict):
                    continue
                own = self.library.full(self.kind, self.name, {key: {"model_type": kind}})[key]
                if own != whole[key]:
                    sections[key] = {
                        k: v for k, v in whole[key].items() if k == "model_type" or own.get(k) != v
                    }
        except Exception:
            return {}
        return sections

    def _own_names(self, given: Mapping[str, Any]) -> set[str]:
        """Keys that are written down under an alias."""
        names: set[str] = set()

        def enter(config: ModelConfig) -> None:
            own = config.values.keys() - config.file_values.keys()
            names.update(config.path + key for key in own if config.has(key))
            for key in config.file_values:
                if config.path + key in self.sections and isinstance(config.file_values[key], dict):
                    enter(config.section(key))

        enter(ModelConfig(self.library.config_json(self.kind, self.name, given)))
        return names

    def changed(self, changes: Mapping[str, Any]) -> Seen | str:
        return self.attempt(nested(self.base_given, changes), changes)

    def _begin(self) -> Seen:
        reasons = []
        for given in self.library.starts(self.kind, self.name, self.released):
            try:
                self.sections = self.library.sections(self.kind, self.name)
                self.absent = self._absent()
            except Exception as error:
                reasons.append(f"{type(error).__name__}: {error}")
                continue
            self.hidden = {
                key: value
                for key, value in self.library.hidden(self.kind, self.name).items()
                if "." not in key or key.rpartition(".")[0] in self.sections
            }
            given = self._explicit(without(given, self.without))
            given |= {k: v for k, v in self.released.items() if k in self.without}
            self.parts = None
            observation = self.attempt(given, {})
            if isinstance(observation, Seen) and not observation.root.partial:
                self.base_given = dict(given)
                return observation
            reasons.append(
                observation if isinstance(observation, str) else "the written family refuses it"
            )
        raise Failed(f"no config to begin with builds: {reasons[0] if reasons else '?'}")

    def _explicit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """With sections that need their type written down: a part of one would be another's."""
        values = dict(given)
        try:
            full = self.library.full(self.kind, self.name, given)
        except Exception:
            return values
        for key in self.sections:
            if "backbone" in key and "." not in key and isinstance(full.get(key), dict):
                values[key] = {
                    k: v for k, v in full[key].items() if k == "model_type" or not IDLE.search(k)
                }
        return values
