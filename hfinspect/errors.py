"""What can go wrong, as a tree.

::

    HfinspectError                     exit code
    ├── UsageError                          2   the question does not make sense
    ├── AccessError                         3   the bytes could not be had
    │   ├── RepoNotFoundError
    │   ├── RevisionNotFoundError
    │   ├── EntryNotFoundError                  no such file, in a repo or on disk
    │   ├── NothingToInspectError               neither weights nor config.json
    │   │   └── NoComponentError                a pipeline of whose components no size is known
    │   ├── GatedRepoError
    │   ├── UnauthorizedError                   a token is missing or refused
    │   ├── UnreadableError                     permissions, I/O errors
    │   ├── PointerError                    a Git LFS pointer in place of the content
    │   ├── OfflineError
    │   ├── RateLimitedError
    │   ├── RequestTimeoutError
    │   ├── CancelledError                  somebody cancelled the deadline of the call
    │   ├── NetworkError
    │   └── MovedError                          the repo changed while it was read
    ├── MalformedError                      4   the bytes are not what they claim to be
    │   ├── ConfigError                         names the key
    │   │   └── UnnamedModelError               neither model_type nor a class
    │   ├── FormatError                         a weight file against its format
    │   ├── ShardIndexError                     an index file against its format
    │   ├── LimitError                          a declared size beyond a named limit
    │   └── UnsupportedFormatError              recognised, refused by name
    ├── UnknownArchitectureError            5   no catalogued model_type, and no headers
    └── LostError                           3   a scan's engine gave up on a target

Every error says what it is about (``subject``), what was found, what was expected, where, and a
hint what to do.  ``kind`` is a stable identifier for scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

#: What an error says, by the names of its arguments.
PARTS = ("subject", "found", "expected", "where", "hint")


class HfinspectError(Exception):
    """Base of all errors raised by hfinspect; its message is one sentence without the hint."""

    kind = "error"
    exit_code = 3
    #: What to do, where the place that raises the error knows nothing better.
    usual_hint: str | None = None
    #: An argument that would help and its value, which the command line spells as an option.
    argument: tuple[str, str] | None = None

    def __init__(
        self,
        subject: str,
        found: str,
        *,
        expected: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.subject = subject
        self.found = found
        self.expected = expected
        self.where = where
        self.hint = hint or self.usual_hint
        super().__init__(subject, found)

    def of(self, target: str) -> None:
        """Say which target it was, where the one who raised it knew no more than a file's name."""
        if target.replace("\\", "/").endswith("/" + self.subject):
            self.subject = target
        elif self.subject != target:
            self.subject = f"{target}: {self.subject}"

    def __str__(self) -> str:
        text = f"{self.subject}: {self.found}"
        if self.expected:
            text += f", expected {self.expected}"
        if self.where:
            text += f" ({self.where})"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders (scan with an executor); keyword fields must survive.
        return (_rebuild, (type(self), self.__dict__.copy()))

    def to_dict(self) -> dict[str, object]:
        """The JSON form of the error, as the command line prints it under ``"error"``."""
        parts = {name: getattr(self, name) for name in PARTS}
        return {"kind": self.kind, "message": str(self), **parts}


def _rebuild(cls: type[HfinspectError], state: dict[str, object]) -> HfinspectError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = (state["subject"], state["found"])
    return error


class UsageError(HfinspectError):
    """The request itself is wrong: an option, a target spelled in an impossible way."""

    kind = "usage"
    exit_code = 2
    usual_hint = "the documentation of the function lists what it takes"


class AccessError(HfinspectError):
    """The bytes could not be obtained."""

    kind = "access"
    exit_code = 3
    usual_hint = "try again later"
    #: What a server said of it, made safe to show: ``"its message" (request 1-2-3)``.
    server_said: str | None = None

    def to_dict(self) -> dict[str, object]:
        """With ``server_said``, where a server said something."""
        message = self.server_said
        return super().to_dict() | ({} if message is None else {"server_said": message})


class RepoNotFoundError(AccessError):
    """No such repo, or a private one seen without permission (the Hub does not say which)."""

    kind = "repo_not_found"
    usual_hint = "check the spelling"


class RevisionNotFoundError(AccessError):
    """The repo exists, the branch, tag or commit does not."""

    kind = "revision_not_found"
    usual_hint = "check the spelling"


class EntryNotFoundError(AccessError):
    """No such file."""

    kind = "entry_not_found"
    usual_hint = "check the spelling"


class NothingToInspectError(AccessError):
    """The place exists but holds neither weights nor a config.json."""

    kind = "nothing_to_inspect"
    usual_hint = (
        "name a directory or repo with config.json, or with safetensors, PyTorch or GGUF files"
    )


class NoComponentError(NothingToInspectError):
    """A pipeline's model_index.json is there, and nothing that says how large a component is.
    ``missing`` are the paths of the configs that are not there."""

    kind = "no_component"
    missing: tuple[str, ...] = ()


class GatedRepoError(AccessError):
    """Files are behind an access request."""

    kind = "gated"
    usual_hint = "accept the terms on the model's page, and log in"


class UnauthorizedError(AccessError):
    """A token is missing, expired or lacks permission."""

    kind = "unauthorized"
    usual_hint = "log in with `hf auth login` or set HF_TOKEN"


class UnreadableError(AccessError):
    """The operating system refuses to read."""

    kind = "unreadable"
    usual_hint = "check the path and its permissions"


class PointerError(AccessError):
    """The file's content is in Git LFS and not on this disk."""

    kind = "pointer"
    usual_hint = "fetch the content with `git lfs pull` or `hf download`"


class OfflineError(AccessError):
    """No network is allowed or reachable, and the cache does not have it."""

    kind = "offline"
    usual_hint = "try again with a network"


class RateLimitedError(AccessError):
    """The server's quota is used up; ``retry_after`` is in seconds where the server said it."""

    kind = "rate_limited"
    usual_hint = "wait a few minutes"
    retry_after: float | None = None


class RequestTimeoutError(AccessError):
    """The server did not answer in time."""

    kind = "timeout"
    usual_hint = "try again later"


class CancelledError(AccessError):
    """The deadline of the call was cancelled: see ``Deadline.cancel``."""

    kind = "cancelled"
    usual_hint = "call it again with a new deadline"


class NetworkError(AccessError):
    """Connection refused, reset, a proxy's page in place of an answer, 5xx after all retries."""

    kind = "network"
    usual_hint = "try again later"


class MovedError(AccessError):
    """Two answers came from two commits although one was asked."""

    kind = "moved"
    usual_hint = "try again"


class MalformedError(HfinspectError):
    """The bytes are not what they claim to be."""

    kind = "malformed"
    exit_code = 4
    usual_hint = "the file may be damaged: download it again"


class ConfigError(MalformedError):
    """config.json is malformed; ``key`` is the dotted path of the offending key, if any."""

    kind = "malformed_config"
    usual_hint = "correct the config; the headers of the weights can be counted without it"

    def __init__(
        self,
        subject: str,
        found: str,
        *,
        key: str | None = None,
        expected: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(subject, found, expected=expected, where=where, hint=hint)
        self.key = key


class UnnamedModelError(ConfigError):
    """The config is sound and names neither a model type nor a class."""

    kind = "unnamed_model"


class FormatError(MalformedError):
    """A weight file breaks its format; ``rule`` is a stable name of the broken rule."""

    kind = "malformed_file"

    def __init__(
        self,
        subject: str,
        found: str,
        *,
        rule: str,
        expected: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(subject, found, expected=expected, where=where, hint=hint)
        self.rule = rule


class ShardIndexError(MalformedError):
    """A ``*.index.json`` is malformed."""

    kind = "malformed_index"
    usual_hint = "the index may be damaged: download it again, or name one of its shards"


class LimitError(MalformedError):
    """A declared size is beyond a limit that protects memory or time."""

    kind = "limit"
    usual_hint = "no known model comes near the limit: is the file what it claims to be?"


class UnsupportedFormatError(MalformedError):
    """The file is of a known format that hfinspect does not read."""

    kind = "unsupported_format"
    usual_hint = "safetensors, PyTorch and GGUF files are read"


class UnknownArchitectureError(HfinspectError):
    """model_type is not in the catalog and there are no headers to count from."""

    kind = "unknown_architecture"
    exit_code = 5
    usual_hint = "the catalog lists the model types that are known"

    def __init__(
        self,
        subject: str,
        found: str,
        *,
        nearest: Sequence[str] = (),
        expected: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(subject, found, expected=expected, where=where, hint=hint)
        self.nearest = tuple(nearest)


class LostError(HfinspectError):
    """A scan's engine gave up on a target: its worker died, or hfinspect has a bug."""

    kind = "lost"
    usual_hint = "scan it again"
