"""A session in place of a token and an endpoint."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from huggingface_hub import HfApi

import hfinspect
from hfinspect.errors import UsageError

from ..hub_server import HubServer
from ..scanning.scan_support import model_files


def test_an_hf_api_is_one(hub: HubServer) -> None:
    hub.add("org/secret", model_files(), private=True, readers=frozenset({"reader"}))
    session = HfApi(endpoint=hub.endpoint, token="hf_reader")
    assert hfinspect.inspect("org/secret", session=session).parameters
    assert hfinspect.memory("org/secret", session=session).weights.nbytes
    assert hfinspect.explain_cache("org/secret", session=session).cache.nbytes
    assert not hfinspect.audit("org/secret", session=session).failing("error")
    assert next(hfinspect.iter_tensors("org/secret", session=session)).name
    (row,) = hfinspect.scan(["org/secret"], session=session)
    assert isinstance(row, hfinspect.Inspection)


@pytest.mark.parametrize(
    "wrong",
    [{"session": object()}, {"session": SimpleNamespace(token=None, endpoint=None), "token": "x"}],
)
def test_what_is_no_session_and_what_is_said_twice(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="session"):
        hfinspect.inspect({"model_type": "gpt2"}, **wrong)  # type: ignore[arg-type]


def test_tensors_one_after_the_other() -> None:
    names = [t.name for t in hfinspect.iter_tensors("fixtures/models/gpt2", match="h.0.*")]
    every = hfinspect.inspect("fixtures/models/gpt2").tensors
    assert names == [t.name for t in every if t.name.startswith("h.0.")]
    assert len(list(hfinspect.iter_tensors({"model_type": "gpt2"}))) == 148
