"""GGUF files explain themselves: sizes are the file's own keys, and the sum is the headers'."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import NothingToInspectError
from hfinspect.reports.explained import markdown
from tests.sizing.llama_cpp_record import FULL_SIZE, Recorded, recorded
from tests.some_rows import one_of

FILES = {one.name: one for one in (*recorded(), *recorded(FULL_SIZE))}


def _written(folder: Path, one: Recorded) -> Path:
    path = folder / f"{one.name}.gguf"
    path.write_bytes(one.gguf())
    return path


@pytest.mark.parametrize("part", one_of(4, range(8)))
def test_every_recorded_file_sums_to_its_headers(tmp_path: Path, part: int) -> None:
    """By default a quarter of them, as of a kind many are alike."""
    names = sorted(FILES)[part::8]
    assert len(names) >= 40
    for name in names:
        path = _written(tmp_path, FILES[name])
        explanation = hfinspect.explain(path)
        assert explanation.parameters == hfinspect.inspect(path).parameters, name
        assert sum(share.value for share in explanation.shares) == explanation.parameters, name


def test_the_symbols_name_the_keys_of_the_file(tmp_path: Path) -> None:
    explanation = hfinspect.explain(_written(tmp_path, FILES["gpt-oss-20b"]))
    keys = {letter.letter: letter.key for letter in explanation.letters}
    assert keys["H"] == "gpt-oss.embedding_length"
    assert keys["G"] == "gpt-oss.attention.head_count_kv"
    assert keys["E"] == "gpt-oss.expert_count"
    assert explanation.attention[0].sentence.startswith("grouped-query attention: A = 64 heads")
    mlp = next(share for share in explanation.shares if share.component == "mlp")
    assert mlp.formula is not None
    assert mlp.formula.text == "3·L·E·H·I_e + L·E·H + 2·L·E·I_e"
    screen = markdown(explanation)
    assert "GGUF key" in screen and "architecture of the GGUF file" in screen


def test_latents_and_positions_are_named(tmp_path: Path) -> None:
    explanation = hfinspect.explain(_written(tmp_path, FILES["deepseek-r1"]))
    positions = [text for about, text in explanation.notes if about == "positions"]
    assert [text.split()[0] for text in positions] == ["rotary"]
    assert "of each head d_k − d_r = 128 are free of position" in explanation.attention[0].sentence


def test_what_differs_by_layer_is_a_number(tmp_path: Path) -> None:
    """OpenELM has widths and heads of its own in each layer."""
    explanation = hfinspect.explain(_written(tmp_path, FILES["openelm+by-layer"]))
    letters = {letter.key for letter in explanation.letters}
    assert "openelm.embedding_length" in letters
    assert "openelm.attention.head_count" not in letters


def test_a_file_that_is_no_model_has_no_derivation(tmp_path: Path) -> None:
    """Tensors of a type that nobody knows have no count to derive."""
    keys = {"general.architecture": "llama", "general.type": "vocab"}
    path = _written(tmp_path, Recorded("vocabulary", keys, [], {}))
    with pytest.raises(NothingToInspectError):
        hfinspect.explain(path)


def test_one_file_of_several_names_what_is_missing(tmp_path: Path) -> None:
    split = Path("fixtures/checkpoints/gguf-split").resolve()
    whole = hfinspect.explain(split)
    assert whole.parameters == 2533
    assert "architecture of the GGUF file" in markdown(whole)
    for name in ("tiny-00001-of-00003.gguf", "tiny-00003-of-00003.gguf"):
        (tmp_path / name).write_bytes((split / name).read_bytes())
    with pytest.raises(NothingToInspectError, match="lacks 1 of its files") as caught:
        hfinspect.explain(tmp_path)
    assert "tiny-00002-of-00003.gguf" in str(caught.value)
