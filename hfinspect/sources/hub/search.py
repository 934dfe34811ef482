"""The Hub's own lists of models, page by page."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from difflib import get_close_matches
from typing import Final, NamedTuple
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

from ...core.hub_info import HubInfo
from ...core.records import dataclass
from ...core.text import clean
from ...errors import UsageError
from ..deadline import Deadline
from ..source import FileEntry
from .client import GZIP, HubClient, Request, api_json
from .model_info import (
    MAX_LISTING_BYTES,
    Listing,
    check_repo_id,
    commit_of,
    info_of,
    is_repo_id,
    parse_listing,
)
from .wire.address import is_same_host
from .wire.answer import Answer, BrokenAnswerError

#: Orders of the Hub's list; it takes any other word without a complaint and sorts by nothing.
SORTS: Final = ("downloads", "likes", "lastModified", "createdAt", "trendingScore")
#: The Hub's largest page.
PAGE = 1000
#: What HubInfo is made of, but for the tags.
INFO = ("gated", "lastModified", "library_name", "pipeline_tag", "cardData")
#: The same for a list that is of interest by itself: tags have the licence in fewer bytes.
SHORT_INFO = ("gated", "lastModified", "library_name", "pipeline_tag", "tags")
#: What of a model's own info says which class it is; the Hub repeats a few keys of config.json.
CONFIG = "config"
#: The Hub's cursors have some 200 characters.
MAX_CURSOR = 4096
#: Characters of a class's name that are kept.
MAX_WORD = 200
_WITH_INFO = frozenset(("siblings", *SHORT_INFO))
#: A page of 1,000 models with their files' names is a few MB; some repos hold 10,000 files.
_MAX_PAGE_BYTES = 128 << 20


class ListPlace(NamedTuple):
    """Where in a list to go on: after ``number`` entries, which is ``skip`` entries after the
    ``cursor`` that the Hub gave (empty: after the beginning). A cursor holds a place in the Hub's
    order, so that what is new before it moves nothing."""

    number: int = 0
    cursor: str = ""
    skip: int = 0


#: The beginning of a list.
BEGIN: Final = ListPlace()


@dataclass(frozen=True)
class ListedModel:
    """One entry of a list. ``reported`` are the parameters by dtype that the Hub reports:
    counted by its own rules, not by ours; empty where it reports none. ``files`` are names without
    sizes, None where they were not requested. ``model_type`` and ``architecture`` are what the Hub
    repeats of config.json. ``end`` is the place after it."""

    repo_id: str
    commit: str | None = None
    reported: Mapping[str, int] = field(default_factory=dict)
    reported_total: int | None = None
    files: tuple[str, ...] | None = None
    info: HubInfo | None = None
    private: bool | None = None
    model_type: str | None = None
    architecture: str | None = None
    end: ListPlace = BEGIN

    def listing(self) -> Listing | None:
        """The file list of the model at that commit, which spares the request for it."""
        if self.files is None or self.commit is None:
            return None
        files = {path: FileEntry(path) for path in self.files}
        gated = None if self.info is None else self.info.gated
        return Listing(self.repo_id, self.commit, files, gated, self.private, self.info)


def list_models(
    client: HubClient,
    *,
    author: str | None = None,
    search: str | None = None,
    filters: tuple[str, ...] = (),
    sort: str | None = None,
    limit: int | None = None,
    expand: tuple[str, ...] = ("sha", "safetensors"),
    timeout: float | None = None,
    begin: ListPlace = BEGIN,
) -> Iterator[ListedModel]:
    """Models that match, one request per page; the next page is requested when it is needed.

    ``expand`` are the Hub's names of what else to report: ``sha``, ``safetensors`` (its totals),
    ``siblings`` (names of files), ``INFO`` (licence and kin), ``private``. ``timeout`` is in
    seconds for each page. ``begin`` is a place of the same list, ``limit`` counts from the list's
    own beginning. Raises AccessError subclasses.
    """
    query = [("expand", name) for name in expand]
    query += [(key, value) for key, value in (("author", author), ("search", search)) if value]
    query += [("filter", value) for value in filters]
    if sort:
        query += [("sort", sort), ("direction", "-1")]
    query.append(("limit", str(min(limit or PAGE, PAGE))))
    place = begin._replace(number=begin.number - begin.skip, skip=0)
    unwanted = begin.skip
    query += [("cursor", begin.cursor)] if begin.cursor else []
    url: str | None = f"{client.endpoint}/api/models?{urlencode(query)}"
    seen: set[str] = set()
    while url is not None and url not in seen and (limit is None or place.number < limit):
        seen.add(url)
        page, url = _page(client, url, Deadline(timeout))
        for model in page if limit is None else page[: limit - place.number]:
            place = place._replace(number=place.number + 1, skip=place.skip + 1)
            if unwanted:
                unwanted -= 1
            else:
                yield replace(model, end=place)
        cursor = _cursor(url)
        if cursor:
            place = ListPlace(place.number, cursor)


def _cursor(url: str | None) -> str:
    """The cursor in a page's address, if it has one."""
    cursor = parse_qs(urlsplit(url or "").query).get("cursor", [""])[0]
    return cursor if len(cursor) <= MAX_CURSOR else ""


def listed_model(
    client: HubClient,
    repo_id: str,
    revision: str | None = None,
    *,
    expand: tuple[str, ...],
    deadline: Deadline,
) -> ListedModel:
    """What a list would say of one model, by one request. Raises AccessError subclasses."""
    context = client.context_of(repo_id, revision)
    check_repo_id(context)
    url = f"{client.endpoint}/api/models/{repo_id}"
    if revision is not None:
        url += f"/revision/{quote(revision, safe='')}"
    url += "?" + urlencode([("expand", name) for name in expand])

    def handle(answer: Answer) -> ListedModel:
        return _model(api_json(answer, MAX_LISTING_BYTES))

    return client.fetch(Request(url, context, "api", GZIP, deadline=deadline), handle)


def checked_sort(sort: str) -> str:
    """The Hub's name of an order. Raises UsageError with the nearest."""
    known = {name.lower(): name for name in SORTS}
    key = known.get(sort.replace("_", "").lower())
    if key is None:
        near = get_close_matches(sort.lower(), list(known), n=1, cutoff=0.5)
        raise UsageError(
            f"sort {sort!r}",
            "is unknown",
            expected=", ".join(SORTS),
            hint=f"did you mean {known[near[0]]}?" if near else None,
        )
    return key


def _page(client: HubClient, url: str, deadline: Deadline) -> tuple[list[ListedModel], str | None]:
    def handle(answer: Answer) -> tuple[list[ListedModel], str | None]:
        following = _next(answer.headers.get("link", ""), answer.url)
        # On a Hub that has moved, the next page is where this one came from.
        if following is not None and not is_same_host(answer.url, following):
            following = None
        items = api_json(answer, _MAX_PAGE_BYTES)
        if not isinstance(items, list):
            raise BrokenAnswerError("answered something that is not a list of models")
        return [_model(item) for item in items], following

    context = client.context_of("the list of models")
    return client.fetch(Request(url, context, "api", GZIP, deadline=deadline), handle)


def _next(link: str, url: str) -> str | None:
    """The address in ``<...>; rel="next"`` of a Link header."""
    for part in link.split(","):
        address, _, rest = part.partition(";")
        if 'rel="next"' in rest.replace(" ", "") and address.strip().startswith("<"):
            return urljoin(url, address.strip()[1:-1])
    return None


def _model(item: object) -> ListedModel:
    repo_id = item.get("id") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(repo_id, str) or not is_repo_id(repo_id):
        raise BrokenAnswerError("lists a model without a name")
    totals = item.get("safetensors")
    parameters = totals.get("parameters") if isinstance(totals, dict) else None
    total = totals.get("total") if isinstance(totals, dict) else None
    counts = parameters.items() if isinstance(parameters, dict) else ()
    config = item.get("config")
    config = config if isinstance(config, dict) else {}
    classes = config.get("architectures")
    class_name = classes[0] if isinstance(classes, list) and classes else None
    return ListedModel(
        repo_id,
        commit_of(item),
        {str(k): v for k, v in counts if isinstance(v, int) and not isinstance(v, bool)},
        total if isinstance(total, int) and not isinstance(total, bool) else None,
        _files(item, repo_id),
        # A list may be of a million models: no tags.
        replace(info_of(item), tags=()) if not item.keys().isdisjoint(_WITH_INFO) else None,
        item["private"] if isinstance(item.get("private"), bool) else None,
        _word(config.get("model_type")),
        _word(class_name),
    )


def _word(value: object) -> str | None:
    return clean(value, MAX_WORD) if isinstance(value, str) and value else None


def _files(item: dict[str, object], repo_id: str) -> tuple[str, ...] | None:
    """Names of files. Most repos use the same ones, so each is kept once."""
    if not isinstance(item.get("siblings"), list):
        return None
    try:
        return tuple(map(sys.intern, parse_listing(item, repo_id).files))
    except BrokenAnswerError:  # one odd repo must not cost the page: it is requested by itself
        return None
