"""From module trees to tensors: one object listed many times stands for as many equal ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.components import Component
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.modules import LayerNorm, Layers, Linear, Module, ModuleList, Weight

SIZES = st.integers(1, 3)


def block(width: int, experts: int, depth: int, *, shared: bool) -> Module:
    """A layer with experts and, further in, layers of its own."""

    def expert() -> Module:
        return Module("Expert", up=Linear(width, width), scale=Weight(width))

    def inner() -> Module:
        return Module("Inner", norm=LayerNorm(width))

    one = expert()
    lowest = inner()
    return Module(
        "Block",
        experts=ModuleList(
            [one if shared else expert() for _ in range(experts)],
            component=Component.MLP,
            kind="expert",
            active=(1, experts),
        ),
        stage=Module("Stage", blocks=Layers([lowest if shared else inner() for _ in range(depth)])),
        bias=Weight(width, tied_to="layers.0.bias"),
    )


def tree(layers: int, width: int, experts: int, depth: int, *, shared: bool) -> Module:
    one = block(width, experts, depth, shared=shared)
    return Module(
        "Model",
        layers=Layers(
            [one if shared else block(width, experts, depth, shared=shared) for _ in range(layers)],
            part="vision",
        ),
    )


@given(layers=SIZES, width=SIZES, experts=SIZES, depth=SIZES)
def test_a_shared_template_is_as_good_as_copies(
    layers: int, width: int, experts: int, depth: int
) -> None:
    shared = expected_tensors(tree(layers, width, experts, depth, shared=True))
    copied = expected_tensors(tree(layers, width, experts, depth, shared=False))
    assert shared == copied
    assert len({spec.name for spec in shared}) == layers * (3 * experts + 2 * depth + 1)


def test_the_innermost_list_of_layers_gives_the_number() -> None:
    specs = {spec.name: spec for spec in expected_tensors(tree(2, 4, 2, 3, shared=True))}
    norm = specs["layers.1.stage.blocks.2.norm.weight"]
    assert (norm.stack, norm.layer, norm.component) == (
        "layers.1.stage.blocks",
        2,
        Component.NORM,
    )
    expert = specs["layers.1.experts.0.up.weight"]
    assert (expert.stack, expert.layer, expert.part) == ("layers", 1, "vision")
    assert (expert.component, expert.kind, expert.active) == (Component.MLP, "expert", (1, 2))


def test_an_empty_module_listed_many_times_has_no_tensors() -> None:
    assert expected_tensors(Module("Model", layers=Layers([Module("Empty")] * 3))) == ()


def test_a_list_right_in_a_list_is_a_stack_by_its_number() -> None:
    row = Layers([Module("Block", norm=LayerNorm(2))] * 2)
    specs = expected_tensors(Module("Model", blocks=ModuleList([row, row])))
    assert [(spec.name, spec.stack, spec.layer) for spec in specs[::2]] == [
        ("blocks.0.0.norm.weight", "blocks.0", 0),
        ("blocks.0.1.norm.weight", "blocks.0", 1),
        ("blocks.1.0.norm.weight", "blocks.1", 0),
        ("blocks.1.1.norm.weight", "blocks.1", 1),
    ]
