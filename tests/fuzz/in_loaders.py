"""Loads mutants in their real loaders, each in a process that ends at the first sign of code.

    python in_loaders.py FOLDER KIND

Reads the names of files in FOLDER from standard input, one a line, and prints a line for each: what
its loader was about to do (``os.system``, a file for writing ...), or nothing. An audit hook ends
the process before it is done, so that no mutant does anything. Only the standard library and the
loaders are needed.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))
run_loaders = importlib.import_module("run_loaders")

SECONDS = 10
#: What no load of weights, settings or templates does.
SIGNS = frozenset(
    """
    os.system os.exec os.posix_spawn os.spawn os.startfile os.fork os.forkpty pty.spawn
    subprocess.Popen shutil.rmtree shutil.copyfile shutil.move os.remove os.rename os.mkdir os.rmdir
    os.symlink os.link os.chmod os.chown os.truncate os.kill os.putenv os.unsetenv socket.connect
    socket.bind socket.getaddrinfo ctypes.dlopen ctypes.call_function webbrowser.open
    urllib.Request builtins.input cpython.run_command cpython.run_file
    """.split()
)
KINDS: dict[str, tuple[str, ...]] = {
    "templates": ("jinja",),
    "yaml": ("yaml", "hyperpyyaml", "hydra"),
    "exported": ("exported",),
    "joblib": ("joblib",),
    "torchscript": ("torchscript",),
}


def watch(sign: int) -> None:
    """From now on, whatever is a sign is written and ends the process."""

    def seen(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
            if str(path) == os.devnull or str(path).startswith(("/proc", "/sys", "/dev")):
                return
            event = f"open {path!s} {mode}"
        elif event not in SIGNS:
            return
        os.write(sign, event.encode("ascii", "replace")[:200])
        os._exit(9)

    sys.addaudithook(seen)


def signs_of(folder: Path, file: str, loader: Callable[[str], None]) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            os.setsid()
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
            signal.alarm(SECONDS)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            watch(write)
            loader(file)
        finally:
            os._exit(0)
    os.close(write)
    sign = os.read(read, 300).decode()
    os.close(read)
    os.waitpid(child, 0)
    made = [path for path in folder.iterdir() if path.name != file and "canary" in path.name]
    for path in made:  # TorchScript's own writing passes no hook
        path.unlink()
        sign = sign or f"made {path.name}"
    return sign.replace("\n", " ")


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    kind = sys.argv[2]
    loaders = [run_loaders.LOADERS[name] for name in KINDS[kind]]
    for module in {
        "templates": ("jinja2.sandbox", "jinja2.debug", "jinja2.ext"),
        "yaml": ("yaml", "hyperpyyaml", "hydra.utils", "omegaconf", "torch"),
        "exported": ("torch.export", "torch._export.serde.serialize", "torch.fx", "sympy"),
        "joblib": ("joblib", "numpy", "torch", "scipy.sparse", "ctypes", "sklearn"),
        "torchscript": ("torch",),
    }[kind]:
        importlib.import_module(module)
    for line in sys.stdin:
        file = line.strip()
        signs = ""
        for loader in loaders:
            signs = signs or signs_of(folder, file, loader)
        sys.stdout.write(f"{signs}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
