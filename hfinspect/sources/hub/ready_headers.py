"""All safetensors headers of a model in one answer, where the Hub has them ready."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from ...errors import AccessError, GatedRepoError, LimitError, RepoNotFoundError, UnauthorizedError
from ..deadline import Deadline
from ..threads import DaemonThreads
from ..waiting import result_of
from .client import GZIP, HubClient, Request, api_json
from .hub_errors import RequestContext
from .model_info import MAX_LISTING_BYTES, Listing, commit_of
from .wire.answer import Answer, BrokenAnswerError, parse_json

#: The largest known models have 500,000 tensors of about 150 bytes. Beyond this, shards are read
#: one by one.
MAX_HEADERS_BYTES = 128 << 20

#: A server that cannot make up this answer in two tries is read shard by shard instead.
_ATTEMPTS = 2


def ask_shard_headers(
    client: HubClient,
    listing: Listing,
    context: RequestContext,
    index_file: str,
    deadline: Deadline | None = None,
    come: Callable[[int], None] | None = None,
) -> dict[str, Mapping[str, object]] | None:
    """Headers by shard's path, as parsed JSON; None if they cannot be had like this.

    This is what HfApi.get_sharded_safetensors_metadata asks, but bounded, and without turning each
    tensor into an object on the way. The Hub answers for the head of ``main``, whatever that is by
    then, so the headers count only if the head is still the commit that was listed: the answer
    says so, or a last small request does. ``come`` is called with the number of headers that have
    come in so far, while the answer is under way. Raises GatedRepoError, UnauthorizedError or
    RepoNotFoundError where the shards would not be given out either.
    """
    base = f"{client.endpoint}/api/models/{listing.repo_id}"
    url = f"{base}/safetensors-metadata/{quote(index_file, safe='/')}"

    def content(answer: Answer) -> tuple[str | None, bytes]:
        watch = None if come is None else _Begun(come)
        return answer.headers.get("x-repo-commit"), answer.json(MAX_HEADERS_BYTES, watch)

    def head(answer: Answer) -> str | None:
        return commit_of(api_json(answer, MAX_LISTING_BYTES))

    try:
        request = Request(url, context, "api", GZIP, attempts=_ATTEMPTS, deadline=deadline)
        commit, text = client.fetch(request, content)
        if commit is not None:
            headers = _headers_of(parse_json(text))
        elif text.lstrip().startswith(b"{"):
            # All of it is there, so the head can be looked at; it is parsed meanwhile.
            helper = DaemonThreads(1)
            parsing = helper.submit(parse_json, text)
            helper.shutdown(wait=False)
            request = Request(f"{base}?expand=sha", context, "api", GZIP, deadline=deadline)
            commit = client.fetch(request, head)
            headers = _headers_of(result_of(parsing))
        else:
            headers = None
    except BrokenAnswerError:  # no JSON
        return None
    except (GatedRepoError, UnauthorizedError, RepoNotFoundError):
        raise
    except (AccessError, LimitError):
        return None
    if headers is None or commit is None or commit != listing.commit:
        return None
    folder = index_file.rpartition("/")[0]
    return {_path_of(shard, folder, listing): header for shard, header in headers.items()}


class _Begun:
    """Counts the shards whose header has begun in the pieces of an answer."""

    #: The end of a shard's name as a key. As a value, in the index, a comma follows it.
    MARK = b'.safetensors":'

    def __init__(self, come: Callable[[int], None]) -> None:
        self._come = come
        self._begun = 0
        self._end = b""

    def __call__(self, piece: bytes) -> None:
        text = self._end + piece
        self._end = text[1 - len(self.MARK) :]
        more = text.count(self.MARK)
        if more:
            self._begun += more
            self._come(self._begun - 1)  # the last one is still under way


def _path_of(shard: str, folder: str, listing: Listing) -> str:
    """A shard's path in the repo: the index names shards next to it, the answer may do either."""
    return shard if shard in listing.files or not folder else f"{folder}/{shard}"


def _headers_of(content: object) -> dict[str, Mapping[str, object]] | None:
    """``{"headers": {shard: header}}``; None if the answer is something else."""
    headers = content.get("headers") if isinstance(content, dict) else None
    if not isinstance(headers, dict) or not headers:
        return None
    return headers if all(isinstance(header, dict) for header in headers.values()) else None
