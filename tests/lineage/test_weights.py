"""Which weights of a fine-tune differ from its base, by samples and by all bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.choices import WEIGHT_METHODS, WeightMethod
from hfinspect.core.weight_changes import SAMPLE_BYTES, ReadingCost, WeightChanges
from hfinspect.errors import UsageError
from hfinspect.lineage import weight_reading
from hfinspect.lineage.weight_reading import differing_elements

from ..builders import write_config
from ..cli.program import hfinspect as program
from ..formats.gguf_files import GgufWriter
from .models import CONFIG, tuned, weights, write


def changes(tmp_path: Path, touched: Callable[[str], bool], method: WeightMethod) -> WeightChanges:
    base = write(tmp_path / "base", weights())
    other = write(tmp_path / "tuned", tuned(touched))
    weight_changes = hfinspect.compare(base, other, weights=method).differences[0].weights
    assert weight_changes is not None
    return weight_changes


LORA = ("q_proj", "v_proj")
CASES: dict[str, Callable[[str], bool]] = {
    "equal": lambda name: False,
    "head": lambda name: name == "lm_head.weight",
    "matrices": lambda name: any(part in name for part in LORA),
    "layers": lambda name: ".layers.3." in name or ".layers.2." in name,
    "all": lambda name: True,
}


@pytest.mark.parametrize("method", WEIGHT_METHODS)
@pytest.mark.parametrize("verdict", CASES)
def test_verdicts(tmp_path: Path, verdict: str, method: WeightMethod) -> None:
    weight_changes = changes(tmp_path, CASES[verdict], method)
    assert weight_changes.verdict == verdict
    names = [t.name for t in hfinspect.predict(CONFIG).tensors]
    assert weight_changes.tensors == len(names)
    assert weight_changes.changed == sum(map(CASES[verdict], names))


def test_layers_that_differ_are_named(tmp_path: Path) -> None:
    weight_changes = changes(tmp_path, CASES["layers"], "values")
    group = next(g for g in weight_changes.groups if g.name == "model.layers.N.mlp.up_proj.weight")
    assert (group.same, group.differing) == ((0, 1), (2, 3))
    assert group.elements == 2 * 64 * 96  # of every element one bit differs


def test_a_single_element_is_found_among_all_bytes(tmp_path: Path) -> None:
    """And a sample of the middle does not see it: the page says so."""
    base = write(tmp_path / "base", weights())
    one = weights()
    one["model.embed_tokens.weight"][0] ^= 1
    other = write(tmp_path / "one", one)
    values = hfinspect.compare(base, other, weights="values").differences[0].weights
    sample = hfinspect.compare(base, other, weights="sample").differences[0].weights
    assert values is not None and sample is not None
    assert [(g.name, g.elements) for g in values.groups if g.changed] == [
        ("model.embed_tokens.weight", 1)
    ]
    assert sample.verdict == "equal"


def test_costs_are_known_before_anything_is_read(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights())
    other = write(tmp_path / "other", weights(1))
    announced: list[ReadingCost] = []
    comparison = hfinspect.compare(base, other, weights="sample", announce=announced.append)
    sizes = [2 * t.elements for t in hfinspect.predict(CONFIG).tensors]
    nbytes = 2 * sum(min(size, SAMPLE_BYTES) for size in sizes)
    assert announced == [ReadingCost(len(sizes), nbytes, 0)]
    assert comparison.differences[0].weights is not None
    assert comparison.differences[0].weights.cost == announced[0]


def test_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = changes(tmp_path, CASES["matrices"], "values").to_dict()
    monkeypatch.setattr(weight_reading, "CHUNK_BYTES", 1000)
    assert changes(tmp_path, CASES["matrices"], "values").to_dict() == whole


def test_what_cannot_be_compared_is_counted(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights())
    fewer = weights()
    del fewer["model.norm.weight"]
    other = write(tmp_path / "other", fewer)
    weight_changes = hfinspect.compare(base, other, weights="sample").differences[0].weights
    assert weight_changes is not None
    assert weight_changes.not_compared == {"only in the first model": 1}


@pytest.mark.parametrize("method", WEIGHT_METHODS)
def test_a_file_that_ends_early_is_an_error(tmp_path: Path, method: WeightMethod) -> None:
    base = write(tmp_path / "base", weights())
    other = write(tmp_path / "other", weights())
    path = other / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(hfinspect.HfinspectError, match=r"model\.safetensors"):
        hfinspect.compare(base, other, weights=method)


def test_a_config_alone_has_no_weights(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights())
    bare = write_config(tmp_path / "bare", CONFIG).parent
    with pytest.raises(UsageError, match="no weight headers"):
        hfinspect.compare(base, bare, weights="sample")
    with pytest.raises(UsageError, match="has no weights"):
        hfinspect.compare(base, CONFIG, weights="sample")
    with pytest.raises(UsageError, match="configs alone"):
        hfinspect.compare(base, base, source="config", weights="values")


def test_gguf_files_are_compared_too(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        writer = GgufWriter().text("general.architecture", "llama")
        writer.tensor("token_embd.weight", (4, 8), 0, 0)
        path = tmp_path / f"{number}.gguf"
        header = writer.bytes(0)
        path.write_bytes(header + bytes([number]) * (4 * 8 * 4))
        paths.append(path)
    weight_changes = hfinspect.compare(*paths, weights="values").differences[0].weights
    assert weight_changes is not None
    assert [(g.name, g.elements) for g in weight_changes.groups] == [("token_embd.weight", 32)]


@given(st.data(), st.sampled_from((1, 2, 4, 8)))
def test_elements_that_differ(data: st.DataObject, width: int) -> None:
    count = data.draw(st.integers(0, 40))
    a = data.draw(st.binary(min_size=width * count, max_size=width * count))
    b = bytearray(a)
    for place in data.draw(st.lists(st.integers(0, max(len(a) - 1, 0)), max_size=5 if a else 0)):
        b[place] ^= data.draw(st.integers(0, 255))
    each = [(a[i : i + width], bytes(b[i : i + width])) for i in range(0, len(a), width)]
    assert differing_elements(a, bytes(b), width) == sum(x != y for x, y in each)


# ---- the command


def test_the_screen_says_costs_and_layers(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights())
    other = write(tmp_path / "tuned", tuned(CASES["matrices"]))
    shown = program("compare", base, other, "--values", env={"COLUMNS": "80"})
    assert shown.code == 0
    assert shown.err.startswith("reading ")
    assert "of 39 tensors of both models" in shown.err
    assert "weights: 8 of 39 tensors differ" in shown.out
    assert "a merged LoRA leaves" in shown.out.replace("\n", " ")
    assert "self_attn.q_proj.weight" in shown.out
    assert "0-3" in shown.out


def test_both_methods_at_once_are_refused(tmp_path: Path) -> None:
    shown = program("compare", "a", "b", "--sample", "--values")
    assert shown.code == 2
    assert "exclude each other" in shown.err


def test_progress_counts_samples_while_they_are_read(tmp_path: Path) -> None:
    base = write(tmp_path / "base", weights())
    other = write(tmp_path / "other", weights(1))
    seen: list[tuple[str, int, int]] = []
    hfinspect.compare(base, other, weights="sample", progress=lambda *step: seen.append(step))
    steps = [step for step in seen if step[0] == "samples"]
    both = 2 * len(hfinspect.predict(CONFIG).tensors)
    assert steps[0] == ("samples", 0, both)
    assert steps[-1] == ("samples", both, both)
    assert len(steps) > 3  # in groups, not all at the end
