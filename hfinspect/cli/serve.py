"""``hfinspect serve [PATH ...]``: the page of the app, answered by this process."""

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .option_groups import grouped


def register(app: typer.Typer) -> None:
    app.command("serve", epilog="Example: hfinspect serve ~/models")(serve)


@grouped
def serve(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...",
            help="Folders and files that the page may read. Others are refused.",
            show_default=False,
        ),
    ] = None,
    *,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port on 127.0.0.1. Default: a free one.",
            show_default=False,
        ),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Show the address, open no browser.")
    ] = False,
    token: options.TokenFlag = None,
    reading: options.HeaderFlags,
) -> None:
    """Inspect models in a browser: of the Hub, private ones too, and of this machine.

    The page lists the models in PATH and in the local Hub cache. Only this machine reaches the
    server, and only who has its address, which holds a token. Your Hub token stays in this
    process. Ctrl-C ends the server.
    """
    from ..sources.hub.cached_repos import cache_directory
    from ..sources.local_paths import only_below
    from ..web.answering import Reach
    from ..web.open_models import OpenModels
    from ..web.serving.loopback import Served
    from .streams import complain, standard_output

    targets = _existing(paths or ())
    reach = Reach(own_login=True, token=token, cache=reading.cache, opened=OpenModels())
    with only_below([*targets, cache_directory()]), Served(targets, reach, port) as server:
        with standard_output() as out:
            print(server.address, file=out, flush=True)
        if not reading.quiet:
            complain("Open this address in a browser. Ctrl-C ends the server.")
        if not no_browser:
            threading.Thread(target=_show, args=(server.address,), daemon=True).start()
        server.serve_forever(poll_interval=0.2)


def _existing(paths: Sequence[Path]) -> list[Path]:
    """The paths, each of which can be read. Raises EntryNotFoundError and UnreadableError."""
    from ..errors import EntryNotFoundError, UnreadableError

    folders = []
    for typed in paths:
        path = typed
        with suppress(RuntimeError):  # no such user
            path = typed.expanduser()
        try:
            path.stat()
        except FileNotFoundError:
            raise EntryNotFoundError(
                str(path),
                "does not exist",
                expected="a folder or a file of this machine",
                hint="a model of the Hub needs no PATH: run hfinspect serve, type its name there",
            ) from None
        except OSError as error:
            raise UnreadableError(str(path), f"cannot be read: {error.strerror}") from None
        folders.append(path)
    return folders


def _show(address: str) -> None:
    """Open the address in the user's browser; say so where there is none."""
    import webbrowser

    from .streams import complain

    opened = False
    if _has_screen():
        with suppress(webbrowser.Error, OSError):
            opened = webbrowser.open(address)
    if not opened:
        complain("No browser was found: open the address in one yourself.")


def _has_screen() -> bool:
    """Whether a browser would open a window: those of a terminal would take this one."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
