"""What the tests of the Hub source share."""

from __future__ import annotations

from hfinspect.sources.hub.client import HubClient
from hfinspect.sources.hub.repo import HubSource
from hfinspect.sources.hub.throttle import RetryPolicy, Throttle

from ..hub_server import HubServer


class Pauses:
    """A clock that only sleeping moves, and the sleeps themselves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(round(seconds, 3))


def client(
    hub: HubServer,
    *,
    token: str | bool | None = False,
    timeout: float = 5.0,
    pauses: Pauses | None = None,
    policy: RetryPolicy | None = None,
) -> HubClient:
    """A client that does not really sleep; without ``pauses`` time stands still."""
    pauses = pauses or Pauses()
    throttle = Throttle(
        policy or RetryPolicy(), sleep=pauses.sleep, clock=lambda: pauses.now, jitter=lambda: 1.0
    )
    made = HubClient(endpoint=hub.endpoint, token=token, timeout=timeout, throttle=throttle)
    hub.at_close.append(made.close)
    return made


def source(
    hub: HubServer,
    repo_id: str,
    revision: str | None = None,
    *,
    token: str | bool | None = False,
    timeout: float = 5.0,
    pauses: Pauses | None = None,
    policy: RetryPolicy | None = None,
) -> HubSource:
    made = client(hub, token=token, timeout=timeout, pauses=pauses, policy=policy)
    return HubSource(repo_id, revision, client=made)
