"""The list of names that torch allows in weights is torch's own."""

from __future__ import annotations

import pytest

from hfinspect.auditing.facts.pickle_names import read_list


@pytest.mark.oracle
def test_the_list_is_that_of_the_installed_torch() -> None:
    from torch import _weights_only_unpickler

    assert set(read_list("weights_only")) == set(_weights_only_unpickler._get_allowed_globals())
