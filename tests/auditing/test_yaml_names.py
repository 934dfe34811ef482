"""Names in YAML that loaders call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.auditing.facts.yaml_names import MAX_NAMES, decoded, names_in

from ..trust.third_round import YAML


@pytest.mark.parametrize("title", YAML)
def test_what_loaders_call_runs_code(title: str) -> None:
    assert any(name.runs for name in names_in(YAML[title][2]))


@pytest.mark.parametrize(
    "text",
    [
        "a: !!str 5\nb: !!float 1\nc: !!python/tuple [1, 2]\n",
        "# a: !!python/name:os.system\n",
        "a: 'text with !!python/name:os.system'\n",
        'a: "!apply:os.system"\n',
        "a: b!c\n",
        "model: !new:speechbrain.nnet.linear.Linear\n  n: !ref <n>\n",
        "url: http://a/b#!x\n",
        "_target_: nemo.collections.asr.models.EncDecCTCModel\n",
        "class_path: torch.optim.AdamW\n",
        "pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer\n",
    ],
)
def test_settings_of_libraries_are_no_finding(text: str) -> None:
    assert list(names_in(text)) == []


@pytest.mark.parametrize("name", ["mine.Model", "some_repo.hub_model.Net"])
def test_a_class_of_another_package_is_a_warning(name: str) -> None:
    (yaml_name,) = names_in(f"_target_: {name}\n")
    assert not yaml_name.runs


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    assert len(list(names_in(decoded(data)))) <= MAX_NAMES


def test_a_file_of_tags_takes_no_time() -> None:
    assert len(list(names_in("a: !apply:os.system [1]\n" * 40_000))) == 1
    assert list(names_in("!" * 200_000 + "'" * 3)) is not None
