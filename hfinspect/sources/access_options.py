"""How a model is reached: arguments of all verbs, of which the command line has flags too."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ..core.option_field import option
from ..core.records import dataclass
from .deadline import Timeout

if TYPE_CHECKING:
    from ..core.progress import Progress
    from .header_cache import HeaderCache
    from .hub.client import HubClient
    from .login import Session
    from .opening import Access


@dataclass(frozen=True, kw_only=True)
class LoginOptions:
    """As whom, and for how long."""

    token: str | bool | None = option(
        None, "Hub token. Default: HF_TOKEN or the saved token.", is_secret=True
    )
    timeout: Timeout = option(
        None, "Time limit for reading one model, in seconds. Default: 600.", least=0.01
    )


@dataclass(frozen=True, kw_only=True)
class AccessOptions(LoginOptions):
    """What of the network a verb uses; ``hfinspect.inspect`` says what the arguments are."""

    session: Session | None = field(default=None, repr=False)
    endpoint: str | None = None
    client: HubClient | None = None
    cache: HeaderCache | None = None
    progress: Progress | None = None

    def access(self) -> Access:
        """The same for opening models. A session that is an Access lends its client and what it has
        open. Raises UsageError for a session that is none, or where a token or an endpoint is
        given too."""
        from dataclasses import replace

        from .login import login
        from .opening import Access

        token, endpoint = login(self.session, self.token, self.endpoint)
        access = Access(
            token, endpoint, self.timeout, self.client, self.cache, progress=self.progress
        )
        if isinstance(self.session, Access):
            client = self.client or self.session.client
            return replace(access, client=client, sources=self.session.sources)
        return access
