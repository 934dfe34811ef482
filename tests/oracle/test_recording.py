"""The fit of one class: what is proposed, and lists of which another length is another thing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest

from .tracing.building import Failed
from .tracing.library import Library, _without_stages
from .tracing.observing import Saved
from .tracing.proposing import proposed
from .tracing.recording import Recorded, Recording


class Patches:
    """A library of one class: a filter with as many sides as a list has entries, and a gate."""

    packages: tuple[str, ...] = ()

    def starts(self, kind: str, name: str, released: Any = None) -> Iterator[dict[str, Any]]:
        yield {}

    def released(self, kind: str, name: str) -> list[dict[str, Any]]:
        return []

    def sections(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "patch": "list[int]", "gated": "bool"}

    def words(self, kind: str, class_name: str) -> dict[str, set[str]]:
        return {}

    def hidden(self, kind: str, name: str) -> dict[str, Any]:
        return {}

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return {"width", "patch", "gated"}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, "patch": [2, 16, 16], "gated": False, **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        sides = [rng.randint(1, 9) for _ in range(3)]
        return {**base, "width": rng.randint(1, 99), "patch": sides, "gated": rng.random() < 0.5}

    def config_json(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"architectures": [name], **given}

    def run(self, kind: str, name: str, given: Any) -> None:
        self.saved_names(kind, name, given)

    def build(self, kind: str, name: str, given: Any) -> Saved:
        shapes = self.saved_names(kind, name, given)
        held = {n: (shape, "float32") for n, shape in shapes.items()}
        return Saved(held, {n: n for n in held}, {}, frozenset(held), {"": name})

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        shapes = {"weight": (full["width"], *full["patch"])}
        if full["gated"]:
            shapes["gate"] = ((full["width"] * 2 // 3 + 7) // 8 * 8,)
        return shapes

    loaded_names = saved_names


def recorded() -> Recorded:
    return Recording(cast("Library", Patches()), "patches", "PatchesModel").solve()


def test_a_list_of_another_length_does_not_keep_its_numbers_from_being_free() -> None:
    recording = recorded()
    assert recording.guards["patch"] == {"length": 3}
    assert recording.gated.equal > 50  # of 60; the others have four sides


def test_what_is_computed_only_behind_a_flag_is_noted() -> None:
    recording = recorded()
    assert recording.tree["in"]["gate"]["if"] == ["true", "gated"]
    assert "gated" not in recording.guards


def test_twice_a_long_expression_is_proposed() -> None:
    """Gate and up of a SwiGLU whose width is rounded are one tensor in older files."""
    third = ["//", ["*", ["*", "width", "ratio"], 2], 3]
    width = ["*", ["//", ["+", third, 7], 8], 8]
    assert ["*", 2, width] in proposed([], [width], {"width": 8, "ratio": 4}, ["width", "ratio"])


class Reaching(Patches):
    """A table of positions: as many as another key says where its own is -1; and a key that no
    config class lists, next to some that change nothing."""

    built = 0

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "reach": "int"}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return {"width", "reach"}

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {f"idle_{number}": [16, True] for number in range(20)} | {"twice": [16, True]}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, "reach": -1, **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, "width": rng.randint(1, 99), "reach": rng.choice((-1, -1, 4, 5, 60))}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        self.built += 1
        full = self.full(kind, name, given)
        rows = full["width"] if full["reach"] < 1 else full["reach"]
        return {"weight": (2 if given.get("twice") is True else 1, rows)}

    loaded_names = saved_names


class ReachingFurther(Reaching):
    """0 rows are built as such, and no other negative number than -1 is."""

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        if self.full(kind, name, given)["reach"] < -1:
            raise ValueError("no size")
        return super().saved_names(kind, name, given)

    loaded_names = saved_names


@pytest.mark.parametrize(
    ("library", "guard"),
    [(Reaching(), {"signed": True}), (ReachingFurther(), {"least": 0, "but": [-1]})],
)
def test_negative_numbers_are_known_where_all_were_built(
    library: Reaching, guard: dict[str, object]
) -> None:
    library.unlisted = lambda kind, name: {}  # type: ignore[method-assign]
    recording = Recording(cast("Library", library), "patches", "PatchesModel").solve()
    assert recording.guards["reach"] == guard
    assert recording.gated.refused == 0


def test_keys_that_no_config_class_lists_are_tried_together() -> None:
    library = Reaching()
    recording = Recording(cast("Library", library), "patches", "PatchesModel")
    recording.base = recording._begin()
    recording.annotations = {}
    before = library.built
    assert list(recording._unlisted()) == ["twice"]
    assert library.built - before < 20  # of 42 values


def test_sections_of_the_first_config_are_small_and_counts_stay_those_of_lists() -> None:
    small = {"text": {"layers": 2, "stages": 2}}
    full = {"text": {"layers": 45, "kinds": ["full"] * 45, "stages": 4, "widths": [8, 16, 32, 64]}}
    made = {"text": {"layers": 2, "kinds": ["full"] * 2, "stages": 2, "widths": [8, 16, 32, 64]}}
    assert _without_stages(small, full, made) == {"text": {"layers": 2}}
    assert _without_stages(small, full, full) == {"text": {}}


class Mixing(Patches):
    """Layers that attend fully at each n-th place, where no list says which, and that are sparse
    from another place on; no config class lists the n."""

    def sections(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "dense": "int", "num_hidden_layers": "int", "layer_types": "list"}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return set(self.optional(kind, name))

    def words(self, kind: str, class_name: str) -> dict[str, set[str]]:
        return {"layer_types": {"full"}}

    def unlisted(self, kind: str, name: str) -> dict[str, list[Any]]:
        return {"every": [16, True]}

    def hidden(self, kind: str, name: str) -> dict[str, Any]:
        return {"every": 4}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        every = given.get("every", 4)
        config = {"width": 8, "dense": 1, "num_hidden_layers": 2, "layer_types": None, **given}
        config.pop("every", None)
        places = range(1, config["num_hidden_layers"] + 1)
        kinds = ["linear" if i % every else "full" for i in places]
        config["layer_types"] = config["layer_types"] or kinds
        if len(config["layer_types"]) != config["num_hidden_layers"]:
            raise ValueError("a kind for each layer")
        return config

    def as_saved(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return self.full(kind, name, given)

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        given = {**base, "width": rng.randint(1, 99), "num_hidden_layers": rng.randint(1, 9)}
        return {**given, "dense": rng.randint(0, 9), "every": rng.randint(1, 5)}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        shapes: dict[str, tuple[int, ...]] = {}
        for i, one in enumerate(full["layer_types"]):
            shapes[f"layers.{i}.{one}"] = (full["width"],)
            shapes[f"layers.{i}.{'mlp' if i < full['dense'] else 'moe'}"] = (2 * full["width"],)
        return shapes

    loaded_names = saved_names


def test_layers_may_be_of_two_kinds_at_once_and_their_kinds_computed() -> None:
    library = cast("Library", Mixing())
    recording = Recording(
        library, "mixing", "MixingModel", released={"num_hidden_layers": 9}
    ).solve()
    assert recording.defaults["layer_types"]["of"]["count"] == "num_hidden_layers"
    assert recording.guards["layer_types"]["length"] == "num_hidden_layers"
    assert {"num_hidden_layers", "every"}.isdisjoint(
        k for k, g in recording.guards.items() if "is" in g
    )
    assert recording.gated.equal > 50


class Crossing(Patches):
    """A flag that may be turned only where another one is."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "decodes": "bool", "crosses": "bool"}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return set(self.optional(kind, name))

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, "decodes": False, "crosses": False, **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        flags = {"decodes": rng.random() < 0.7, "crosses": rng.random() < 0.5}
        return {**base, "width": rng.randint(1, 99), **flags}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        if full["crosses"] and not full["decodes"]:
            raise ValueError("crosses as a decoder alone")
        names = ("self", "cross") if full["crosses"] else ("self",)
        return dict.fromkeys(names, (full["width"],))

    loaded_names = saved_names


def test_a_flag_that_needs_another_is_tried_with_it() -> None:
    recording = Recording(cast("Library", Crossing()), "crossing", "CrossingModel").solve()
    assert recording.tree["in"]["cross"]["if"] == ["true", "crosses"]
    assert recording.guards["crosses"] == {"needs": {"decodes": True}}
    assert recording.gated.refused == 0


class Heads(Patches):
    """The size of a head, which may be written down and must be what it is without that."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "heads": "int", "head": "int | None"}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return set(self.optional(kind, name))

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        config = {"width": 64, "heads": 4, **given}
        size = config["width"] // config["heads"]
        if config.setdefault("head", size) != size:
            raise ValueError("heads of another size")
        return config

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        config = {"width": 12 * rng.randint(1, 9), "heads": rng.choice((2, 3, 4))}
        written = rng.random() < 0.5
        return {
            **base,
            **config,
            **({"head": config["width"] // config["heads"]} if written else {}),
        }

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        return {"weight": (full["width"], full["heads"], full["head"])}

    loaded_names = saved_names


def test_what_may_be_written_down_only_as_it_is_computed() -> None:
    recording = Recording(cast("Library", Heads()), "heads", "HeadsModel").solve()
    assert recording.guards["head"] == {"equals": ["//", "width", "heads"]}
    assert recording.gated.refused == 0


class Gating(Crossing):
    """A feed-forward with a gate where a text says so, and groups of heads, of which one is left
    where they would be none; a flag that the config class makes of the text is saved with it."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "heads": "int", "ratio": "int", "form": "str"}

    def words(self, kind: str, class_name: str) -> dict[str, set[str]]:
        return {"form": {"gated-gelu", "relu"}}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        config = {"width": 8, "heads": 8, "ratio": 2, "form": "relu", **given}
        return {"gated": config["form"].startswith("gated"), **config}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        said = rng.choice(({}, {"gated": True}, {"gated": False}))
        form = rng.choice(("relu", "gated-gelu"))
        return {**base, **said, "width": rng.randint(1, 99), "form": form}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        groups = full["heads"] // full["ratio"]
        if groups < 1:
            groups = 1
        names = ("up", "gate") if full["gated"] else ("up",)
        return {**dict.fromkeys(names, (full["width"],)), "mixed": (full["width"] // groups,)}

    loaded_names = saved_names


def test_a_value_that_a_text_chooses_stands_for_an_absent_one() -> None:
    recording = Recording(cast("Library", Gating()), "gating", "GatingModel").solve()
    assert recording.defaults["gated"] == {
        "of": {"pick": [[["is", "form", "relu"], False], [None, True]]}
    }
    assert recording.tree["in"]["gate"]["if"] == ["true", "gated"]
    assert recording.guards["form"] == {"is": ["relu", "gated-gelu"]}
    assert recording.gated.refused == 0


def test_both_sides_of_what_is_compared_are_known() -> None:
    recording = Recording(cast("Library", Gating()), "gating", "GatingModel").solve()
    assert recording.tree["in"]["mixed"]["if"] == ["<", ["//", "heads", "ratio"], 1]


class Looking(Gating):
    """Projections for the words of a list, which may be a text with bars between them, or null."""

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "looks": "str | list[str] | None"}

    def words(self, kind: str, class_name: str) -> dict[str, set[str]]:
        return {"looks": {"back", "ahead"}}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        config = {"width": 8, "looks": None, **given}
        if isinstance(config["looks"], str):
            config["looks"] = config["looks"].split("|")
        return config

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        looks = rng.choice((None, ["back"], ["ahead", "back"], "back|ahead", "ahead", []))
        return {**base, "width": rng.randint(1, 99), "looks": looks}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        return dict.fromkeys(["up", *(full["looks"] or ())], (full["width"],))

    loaded_names = saved_names


def test_words_of_a_list_or_a_text_are_conditions() -> None:
    recording = Recording(cast("Library", Looking()), "looking", "LookingModel").solve()
    assert recording.tree["in"]["back"]["if"] == ["has", "looks", "back"]
    assert recording.gated.refused == 0


class Shrunk(Patches):
    """A model that is built small, of another kind than the default config's."""

    def starts(self, kind: str, name: str, released: Any = None) -> Iterator[dict[str, Any]]:
        yield {"kind": "small"}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {"width": "int", "kind": "str"}

    def looked_at(self, kind: str, name: str, given: Any) -> set[str]:
        return set(self.optional(kind, name))

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 8, "kind": "large", **given}

    as_saved = full

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, "width": rng.randint(1, 99), "kind": "small"}

    def saved_names(self, kind: str, name: str, given: Any) -> dict[str, tuple[int, ...]]:
        full = self.full(kind, name, given)
        return {full["kind"]: (full["width"],)}

    loaded_names = saved_names


def test_a_trace_that_refuses_the_default_config_is_none() -> None:
    recording = Recording(cast("Library", Shrunk()), "shrunk", "ShrunkModel")
    recording.rebased = True  # to the default of what is guarded, in vain
    with pytest.raises(Failed, match=r"the default config is refused: .*kind = 'large'"):
        recording.solve()
