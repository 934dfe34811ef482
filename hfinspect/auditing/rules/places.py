"""HI407 to HI413: paths, links, names, permissions, sizes, secrets."""

import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator

from ...core.text import byte_size, clean
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule

#: Real chat templates stay below 50 kB.
MAX_TEMPLATE = 512 * 1024

#: Real configs stay below a few hundred kB, even with a quantisation entry for every layer.
MAX_CONFIG = 4 * 1024 * 1024

#: Strings that only secrets look like, by what they open.
_SECRETS = (
    ("a Hugging Face token", re.compile(rb"\b(?:hf|api_org)_[A-Za-z0-9]{30,40}\b")),
    ("a GitHub token", re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})\b")),
    ("an AWS key", re.compile(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("an OpenAI or Anthropic key", re.compile(rb"\bsk-(?:[a-z]{3,8}\d*-)?[A-Za-z0-9_-]{32,}")),
    ("a Google key", re.compile(rb"\bAIza[A-Za-z0-9_-]{35}\b")),
    ("a Slack token", re.compile(rb"\bxox[baprs]-[A-Za-z0-9-]{10,}")),
    ("a GitLab token", re.compile(rb"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("a private key", re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")),
    ("a password in an address", re.compile(rb"\bhttps?://[^/\s:@\"']{1,64}:[^/\s:@\"']{6,128}@")),
)


@rule("HI407", "path-leaves", "error")
def path_leaves(facts: TargetFacts) -> Iterator[RuleFinding]:
    """An index names a shard outside the directory, or by a path that nobody should follow.

    Why: a loader that joins the path reads, or a cache that writes it replaces, foreign files.

    Fix: do not load the model; name plain files in the index.
    """
    for _, copy in facts.copies():
        for shard, reason in copy.index.unsafe if copy.index is not None else ():
            yield RuleFinding(f"the shard name {clean(shard, 120)!r} {reason}", copy.label)


@rule("HI408", "link-leaves", "warning")
def link_leaves(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A symbolic link leads out of the directory (and not into the Hub's cache).

    Why: what is loaded lies elsewhere and can be changed there; copying the directory loses it.

    Fix: replace the link by the file.
    """
    for fact in facts.disk.values():
        if fact.outside:
            yield RuleFinding(f"leads to {clean(fact.link or '', 200)}", fact.path)


@rule("HI409", "file-name", "warning")
def file_name(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file's name holds control, bidirectional or other invisible characters.

    Why: it is shown as another name than it is (`gnp.exe` turned round), and breaks scripts.

    Fix: rename the file.
    """
    for path in (*facts.files, *facts.refused):
        odd = sorted({c for c in path if not c.isprintable()})
        if odd:
            shown = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in odd[:3])
            yield RuleFinding(f"its name holds {shown}", path)


@rule("HI410", "hidden-text", "warning")
def hidden_text(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A config or chat template holds bidirectional control characters.

    Why: what a reviewer reads is not what the program does.

    Fix: remove the characters.
    """
    texts = [(fact.path, fact.text) for fact in facts.json.values()]
    texts += [(path, text.encode()) for path, text in facts.templates.items()]
    for path, text in texts:
        if any(mark in text for mark in _BIDI_RAW) or _BIDI_ESCAPED.search(text):
            yield RuleFinding("holds characters that turn the direction of text", path)


_BIDI = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_BIDI_RAW = [chr(code).encode() for code in _BIDI]
_BIDI_ESCAPED = re.compile(rb"\\u(?:202[a-eA-E]|206[6-9])")


_CONFIGS = ("config.json", "generation_config.json", "adapter_config.json")


@rule("HI411", "absurd-size", "warning")
def absurd_size(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A chat template or a config is far larger than any real one.

    Why: templates are programs that every user runs; one of megabytes hides what it does, or
    exhausts memory.

    Fix: see what is in it; restore the original.
    """
    for path, entry in facts.files.items():
        name = path.rpartition("/")[2]
        size = entry.size or 0
        if name.endswith((".jinja", ".jinja2")) or name == "chat_template.json":
            if size > MAX_TEMPLATE:
                yield RuleFinding(f"a chat template of {byte_size(size)}", path)
        elif size > MAX_CONFIG and name in _CONFIGS:
            yield RuleFinding(f"a config of {byte_size(size)}", path)
    for fact in facts.json.values():
        template = (fact.mapping or {}).get("chat_template")
        texts: list[object] = [template]
        if isinstance(template, list):
            texts = [t.get("template") for t in template if isinstance(t, dict)]
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if longest > MAX_TEMPLATE:
            yield RuleFinding(f"a chat template of {longest:,} characters", fact.path)


@rule("HI412", "world-writable", "warning")
def world_writable(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file or the directory can be changed by every user of the machine.

    Why: whoever has an account there can replace the weights.

    Fix: `chmod o-w`.
    """
    if facts.root_mode & stat.S_IWOTH and not facts.root_mode & stat.S_ISVTX:
        yield RuleFinding("every user may add and replace files in this directory", ".")
    for fact in facts.disk.values():
        if fact.world_writable:
            yield RuleFinding(f"every user may change it (mode {fact.mode & 0o7777:o})", fact.path)


@rule("HI413", "secret", "warning")
def secret(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A config or a header's metadata holds what looks like a token, a key or a password.

    Why: whoever downloads the model can use it.

    Fix: revoke it first, then remove it, also from the history of the repo.
    """
    for fact in facts.json.values():
        if fact.path.rpartition("/")[2] not in ("tokenizer.json", "vocab.json"):
            yield from (RuleFinding(text, fact.path) for text in _secrets(fact.text))
    for weight in facts.weights.values():
        metadata = weight.shard.metadata if weight.shard is not None else {}
        texts = (value for value in metadata.values() if isinstance(value, str))
        for value in texts:
            for text in _secrets(value.encode("utf-8", "replace")):
                yield RuleFinding(f"its metadata: {text}", weight.path)


def _secrets(data: bytes) -> Iterable[str]:
    for what, pattern in _SECRETS:
        match = pattern.search(data)
        if match is not None:
            start = match[0][:8].decode("ascii", "replace")
            yield f"holds what looks like {what} ({start}…)"
