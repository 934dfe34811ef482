"""The app as a folder of static files: the page, this package, and Pyodide.

Pyodide is npm's package ``pyodide`` (``npm pack pyodide``, unpacked); only four of its files are
needed. ``hfinspect.bin`` is this package as a zip archive without compression, packed as a whole.
``README.md`` says how to host the folder; ``hashes.json`` has the sha256 of each file.
"""

import gzip
import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from .._version import __version__
from ..core import data_files
from ..core.choices import ENGINES
from ..errors import EntryNotFoundError, UnreadableError
from ..reports.html import page_hashes
from ..sizing.cards import cards

PACKAGE: Final = Path(__file__).resolve().parents[1]
#: Of Pyodide's package.
PYODIDE: Final = tuple(
    "pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json".split()
)
#: The Hub, and where it keeps files.
HUB: Final = ("https://huggingface.co", "https://*.huggingface.co", "https://*.hf.co")
#: What asks a server, and what computes in the page.
_OF_SERVER: Final = "by_server.js"
_OF_PAGE: Final = ("in_page.js", "worker.js")
#: Not needed in a browser.
_LEFT_OUT: Final = ("cli", "__pycache__", "web/app", "web/serving", "web/hosting.md")
#: On the start page: they are answered without a network.
EXAMPLES: Final = data_files.read(__package__, "examples.json")


def assemble(
    output: Path, pyodide: Path, endpoint: str | None = None, storage: Sequence[str] = ()
) -> list[Path]:
    """Write the app into ``output``, which is made; what was written.

    ``endpoint`` is another Hub than the usual one, ``storage`` the hosts it keeps files at. Raises
    EntryNotFoundError where Pyodide's files are not in ``pyodide``, and UnreadableError for what
    cannot be written.
    """
    missing = [name for name in PYODIDE if not (pyodide / name).is_file()]
    if missing:
        raise EntryNotFoundError(
            str(pyodide),
            f"has no {missing[0]}",
            expected="the unpacked npm package pyodide",
            hint="see docs/browser.md",
        )
    try:
        written = list(_written(output, pyodide, endpoint, storage))
    except OSError as error:
        raise UnreadableError(str(output), f"cannot be written: {error.strerror}") from None
    hashes = {str(p.relative_to(output)): _sha256(p) for p in written}
    last = output / "hashes.json"
    last.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
    return [*written, last]


def _written(
    output: Path, pyodide: Path, endpoint: str | None, storage: Sequence[str]
) -> Iterator[Path]:
    (output / "pyodide").mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        yield Path(shutil.copyfile(pyodide / name, output / "pyodide" / name))
    for name, content in page_files(policy(endpoint, storage), settings(endpoint)).items():
        if name != _OF_SERVER:
            yield _file(output / name, content)
    yield _file(output / "hfinspect.bin", packed())
    hosting = (files(__package__) / "hosting.md").read_text(encoding="utf-8")
    yield _file(output / "README.md", hosting.replace("@VERSION@", __version__).encode())
    yield _file(output / ".nojekyll", b"")


def page_files(allowed: str, offered: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of the page by name, with its Content-Security-Policy and settings."""
    app = files(__package__) / "app"
    contents = {item.name: item.read_bytes() for item in app.iterdir()}
    marks = {"POLICY": allowed, "VERSION": __version__, "ANSWERER": offered["answerer"]}
    for mark, value in marks.items():
        contents["index.html"] = contents["index.html"].replace(
            f"@{mark}@".encode(), value.encode()
        )
    return {**contents, "settings.json": json.dumps(offered).encode()}


def served_files() -> dict[str, bytes]:
    """The same for ``hfinspect serve``: the page asks its server and nobody else."""
    offered = {**settings(), "answerer": "server"}
    files = page_files(policy(None, (), in_page=False), offered)
    return {name: content for name, content in files.items() if name not in _OF_PAGE}


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def settings(endpoint: str | None = None) -> dict[str, Any]:
    """What the page offers: engines, cards, examples."""
    names = [card.name for card in cards().values()]
    return {
        "answerer": "page",
        "endpoint": endpoint,
        "engines": list(ENGINES),
        "cards": names,
        "examples": EXAMPLES,
    }


def policy(
    endpoint: str | None = None, storage: Sequence[str] = (), *, in_page: bool = True
) -> str:
    """The page's Content-Security-Policy: requests go to the Hub and its storage alone, or to the
    page's own server where that answers, and of answers only the script and the style of our own
    pages run."""
    style, script = page_hashes()
    hosts = HUB if endpoint is None else (endpoint, *storage)
    python = "blob: 'wasm-unsafe-eval' " if in_page else ""
    reached = " ".join(("'self'", *hosts)) if in_page else "'self'"
    workers = "worker-src 'self' blob:; " if in_page else ""
    return (
        f"default-src 'none'; script-src 'self' {python}'{script}'; "
        f"style-src 'self' '{style}'; connect-src {reached}; {workers}"
        "img-src 'self' data:; base-uri 'none'; form-action 'none'"
    )


def packed() -> bytes:
    """This package as a zip archive of stored files, packed as a whole: equal from run to run.

    A browser unpacks gzip by itself. As xz the package has 1.1 in place of 1.6 MB, but Python takes
    a second longer to unpack it in a browser, which is more than the download of the rest.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(PACKAGE.rglob("*"), key=lambda p: (p.suffix, str(p))):
            name = path.relative_to(PACKAGE).as_posix()
            left_out = name.startswith(_LEFT_OUT) or "__pycache__" in name
            if path.is_file() and not left_out:
                entry = zipfile.ZipInfo(f"hfinspect/{name}")
                archive.writestr(entry, path.read_bytes())
    return gzip.compress(out.getvalue(), 9, mtime=0)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
