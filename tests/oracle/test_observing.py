"""The tree of one build."""

from __future__ import annotations

from .tracing.changing import alternatives
from .tracing.fitting import Fitter
from .tracing.numbering import Build
from .tracing.observing import Older, Saved, flat, tree


def saved(width: int) -> Saved:
    return Saved(
        {"table.weight": ((5, width), "float32")},
        {},
        {},
        frozenset({"table.weight"}),
        {"": "Small", "table": "Embedding"},
        unsaved={
            "table.ids": Older((1, width), "I64", ("embedding", "text", None)),
            "nowhere.ids": Older((1, width), "I64", ("embedding", "text", None)),
        },
    )


def test_a_buffer_of_older_files_has_a_formula_and_is_not_saved() -> None:
    """Where the module has nothing that is saved, its place is not known."""
    roots = [tree(saved(width)) for width in (7, 11)]
    assert flat(roots[0]) == {"table.weight": (5, 7)}
    builds = [Build({"width": w}, frozenset(), r) for w, r in zip((7, 11), roots, strict=True)]
    table = Fitter(builds, ["width"], []).root(range(2))["in"]["table"]["in"]
    assert table["ids"]["shape"] == [1, "width"]
    assert table["ids"]["saved"] is False


SINES = Older((9, 7), None, ("embedding", "text", "position"), class_name="Sinusoids")


def test_a_module_that_only_older_files_have_keeps_its_place() -> None:
    label = ("attention", "text", "relative_position")
    table = Older((3, 7), None, label, buffer=False, class_name="Embedding")
    root = tree(saved(7)._replace(unsaved={"bias.weight": table, "sines.table": SINES}))
    assert flat(root) == {"table.weight": (5, 7)}
    fitted = Fitter([Build({"width": 7}, frozenset(), root)], ["width"], []).root([0])
    assert fitted["in"]["bias"]["class"] == "Embedding"
    assert fitted["in"]["bias"]["in"]["weight"]["saved"] is False
    assert fitted["in"]["sines"]["in"]["table"]["buffer"] is True


def test_rotary_positions_are_known_though_nothing_is_saved_of_them() -> None:
    some = saved(7)
    root = tree(some._replace(classes={**some.classes, "rotary_emb": "SmallRotaryEmbedding"}))
    fitted = Fitter([Build({"width": 7}, frozenset(), root)], ["width"], []).root([0])
    assert fitted["in"]["rotary_emb"] == {"class": "SmallRotaryEmbedding", "in": {}}
    assert flat(root) == {"table.weight": (5, 7)}


def layers(count: int, width: int) -> Saved:
    """A list of layers, of which the first is twice as wide."""
    names = [f"layers.{i}.weight" for i in range(count)]
    shapes = [(2 * width if i == 0 else width, 3) for i in range(count)]
    classes = {"": "Small", "layers": "ModuleList"} | {f"layers.{i}": "L" for i in range(count)}
    tensors = {name: (shape, "float32") for name, shape in zip(names, shapes, strict=True)}
    return Saved(tensors, {}, {}, frozenset(names), classes)


def test_a_list_whose_members_differ_by_their_place() -> None:
    sizes = [(3, 7), (4, 11), (5, 13)]
    builds = [Build({"depth": n, "width": w}, frozenset(), tree(layers(n, w))) for n, w in sizes]
    keys = ["depth", "width", ["*", 2, "width"]]
    listed = Fitter(builds, keys, [], keys=["depth", "width"]).root(range(3))["in"]["layers"]
    assert listed["count"] == "depth"
    assert [when for when, _ in listed["pick"]] == [["==", "i", 0], None]


def test_which_stages_a_backbone_gives_is_tried() -> None:
    values = alternatives("out_features", ["stage4"], "list[str]", set(), set())
    assert ["stage1"] in values and ["stage1", "stage4"] in values
    assert [1, 2] in alternatives("backbone.out_indices", [4], "list[int]", set(), set())


def test_positions_of_each_type_of_layer_are_tried_with_another_base() -> None:
    each = {"rope_type": "default", "rope_theta": 10000.0}
    values = alternatives("rope_parameters", {"full": each, "sliding": each}, "dict", set(), set())
    other = {**each, "rope_theta": 777.0}
    assert {"full": other, "sliding": other} in values
