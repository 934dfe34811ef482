"""A Hub where one model in a hundred has each kind of mishap."""

from __future__ import annotations

from typing import Final

from ..hub_repos import sparse
from ..hub_server import HubServer
from .scan_support import model_files

#: Owner of the models with a mishap -> the error kind of their rows; None where it passes.
EXPECTED: Final[dict[str, str | None]] = {
    "fine": None,
    "absent": "repo_not_found",
    "gated": "gated",
    "broken": "malformed_file",
    "limited": None,  # 429 with Retry-After, once
    "burst": None,  # twice 503
    "reset": None,  # the connection dies in the middle of a body, twice
    "stalled": "timeout",
}
#: Seconds of silence, longer than any timeout here.
_STALL: Final = 30.0


def mixed_hub(hub: HubServer, count: int) -> list[str]:
    """Names of ``count`` models; of each hundred one has each mishap."""
    kinds = [kind for kind in EXPECTED if kind != "fine"]
    names = []
    for number in range(count):
        place = number % 100
        kind = kinds[place // 12] if place % 12 == 5 and place // 12 < len(kinds) else "fine"
        name = f"{kind}/m{number:05d}"
        names.append(name)
        _add(hub, kind, name, number + 1)
    return names


def _add(hub: HubServer, kind: str, name: str, number: int) -> None:
    if kind == "absent":
        return
    files = dict(model_files(number))
    if kind == "broken":
        files["model.safetensors"] = sparse(b"\xff" * 64, 1 << 20)
    hub.add(name, files, gated="manual" if kind == "gated" else False)
    if kind == "limited":
        headers = {"Retry-After": "1"}
        hub.fail("status", f"/api/models/{name}", times=1, status=429, headers=headers)
    elif kind == "burst":
        hub.fail("status", f"/api/models/{name}", times=2, status=503)
    elif kind == "reset":
        hub.fail("reset", f"/{name}/resolve/", times=2, after=10)
    elif kind == "stalled":
        hub.fail("stall", f"/api/models/{name}", seconds=_STALL)
