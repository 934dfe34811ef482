"""The models in huggingface_hub's local cache."""

from collections.abc import Iterator
from typing import NamedTuple

from .settings import hub_constants


class CachedRepo(NamedTuple):
    """A commit of a model that the cache has files of.

    Fields:
        repo_id: ``org/name``
        commit: the one of branch main where it is there, else the one that was changed last
        nbytes [bytes]: on the disk, of all its commits
    """

    repo_id: str
    commit: str
    nbytes: int


def cached_repos() -> Iterator[CachedRepo]:
    """In order of names; none where there is no cache. Repos that are damaged are left out."""
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        repos = scan_cache_dir(cache_directory()).repos
    except (CacheNotFound, OSError, ValueError):
        return
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        if repo.repo_type != "model" or not repo.revisions:
            continue
        main = repo.refs.get("main")
        newest = main or max(repo.revisions, key=lambda revision: revision.last_modified)
        yield CachedRepo(repo.repo_id, newest.commit_hash, repo.size_on_disk)


def cache_directory() -> str:
    """Where it is; nothing need be there."""
    return str(hub_constants().HF_HUB_CACHE)
