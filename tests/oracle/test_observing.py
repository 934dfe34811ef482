"""The tree of one build."""

from __future__ import annotations

from .tracing.fitting import Build, Fitter
from .tracing.observing import Saved, flat, tree


def saved(width: int) -> Saved:
    return Saved(
        {"table.weight": ((5, width), "float32")},
        {}, {}, frozenset({"table.weight"}), {"": "Small", "table": "Embedding"},
        unsaved={
            "table.ids": ((1, width), "I64", ("embedding", "text", None)),
            "nowhere.ids": ((1, width), "I64", ("embedding", "text", None)),
        },
    )  # fmt: skip


def test_a_buffer_of_older_files_has_a_formula_and_is_not_saved() -> None:
    """Where the module has nothing that is saved, its place is not known."""
    roots = [tree(saved(width)) for width in (7, 11)]
    assert flat(roots[0]) == {"table.weight": (5, 7)}
    builds = [Build({"width": w}, frozenset(), r) for w, r in zip((7, 11), roots, strict=True)]
    table = Fitter(builds, ["width"], []).root(range(2))["in"]["table"]["in"]
    assert table["ids"]["shape"] == [1, "width"]
    assert table["ids"]["saved"] is False


def test_rotary_positions_are_known_though_nothing_is_saved_of_them() -> None:
    some = saved(7)
    root = tree(some._replace(classes={**some.classes, "rotary_emb": "SmallRotaryEmbedding"}))
    fitted = Fitter([Build({"width": 7}, frozenset(), root)], ["width"], []).root([0])
    assert fitted["in"]["rotary_emb"] == {"class": "SmallRotaryEmbedding", "in": {}}
    assert flat(root) == {"table.weight": (5, 7)}
