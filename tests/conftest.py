"""Fixtures for the whole suite. Nothing in it may reach a network other than 127.0.0.1."""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest

# Read by huggingface_hub when it is imported, so set before anything imports it.
for _name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_"))]:
    del os.environ[_name]
_home = tempfile.TemporaryDirectory(prefix="hfinspect-tests-")
atexit.register(_home.cleanup)
os.environ.update(
    HF_ENDPOINT="http://127.0.0.1:9",  # nobody listens there: what forgets the endpoint fails
    HF_HOME=_home.name,  # no token, no cache
    HF_HUB_DISABLE_TELEMETRY="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    HF_HUB_DISABLE_XET="1",
)
# Tests start many interpreters. Where no bytecode is to lie next to the sources, they share what
# one of them compiled, to the end of the run; so do the processes of pytest-xdist.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = f"{_home.name}/bytecode"
for _name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    os.environ.pop(_name, None)
    os.environ.pop(_name.lower(), None)

from hypothesis import settings  # noqa: E402

from .hub_server import HubServer, running_hub  # noqa: E402

# A run in the background begins with SIGINT ignored, and so would every process that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Machines are slow at times, which is no failure; examples are not kept between runs.
settings.register_profile("suite", deadline=None, database=None, max_examples=40)
settings.register_profile("long", deadline=None, database=None, max_examples=300)
settings.load_profile("suite")

_caches = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a system does not have is not tested on it."""
    if sys.platform == "win32":
        skip = pytest.mark.skip(reason="terminals, signals, modes and links of POSIX systems")
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """What collecting made stays to the end; the garbage collector need not look at it again, and
    what tests make lives too short for a look at every 700 objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def own_cache_of_headers() -> None:
    """Each test begins with an empty one, in a folder that is made when something is kept."""
    os.environ["HFINSPECT_CACHE"] = f"{_home.name}/kept-{next(_caches)}"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """An empty Hub on loopback; see hub_server for its switches."""
    with running_hub() as server:
        yield server
        if "huggingface_hub" in sys.modules:  # its own session keeps connections
            sys.modules["huggingface_hub"].close_session()
