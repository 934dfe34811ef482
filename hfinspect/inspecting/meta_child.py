"""The program of the process that builds a class on the meta device: ``main(folder)``.

It reads ``request.json`` in its folder and writes ``answer.json`` there, which is plain JSON:

- ``{"architecture", "model_type", "version", "tensors": [[name, shape, is a parameter]],
  "tied": [[name, name kept, shape]], "modules": {path: class}}``
- ``{"refused": why, "version"}``, where transformers raised an error over the config
- ``{"unknown": true}``, where it has no such class
- ``{"exhausted": true}``, where the memory that it may take did not do

Before anything else it gives up the network, other processes and memory without end; once the
libraries are imported, every file but theirs.  It is started by ``meta_process``, which gives it an
environment without a token or a home.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

#: Bytes of data that the process may hold: PE's towers with a text model of 7 billion take 0.9 GB.
MEMORY_LIMIT: Final = 4 * 2**30
#: Seconds of a processor's time; a usual class takes seven.
CPU_LIMIT: Final = 240
#: Bytes of the answer, and of any other file.
ANSWER_LIMIT: Final = 128 * 2**20

REQUEST: Final = "request.json"
ANSWER: Final = "answer.json"

#: Words before the first dot, or all of it, of what nothing here may do (sys.addaudithook).
_FORBIDDEN: Final = frozenset(
    """socket http urllib ftplib smtplib telnetlib poplib imaplib nntplib webbrowser subprocess
    pty os.system os.exec os.posix_spawn os.spawn os.startfile os.startfile/2 os.fork
    os.forkpty""".split()
)
#: It names this machine and asks nobody.
_ALLOWED: Final = frozenset({"socket.gethostname"})

#: CLONE_NEWUSER and CLONE_NEWNET of linux/sched.h: a network without any interface.
_NEW_USER: Final = 0x10000000
_NEW_NET: Final = 0x40000000


def main(folder: str) -> None:
    """Build what the request says and write the answer."""
    leave_network()  # as long as there is one thread
    end_with_parent(folder)
    confine()
    place = Path(folder)
    config = json.loads((place / REQUEST).read_text(encoding="utf-8"))
    try:
        answer = _built(config, folder)
    except MemoryError:
        answer = {"exhausted": True}
    text = json.dumps(answer)
    (place / ANSWER).write_text(text, encoding="utf-8")


def confine(memory: int = MEMORY_LIMIT, seconds: int = CPU_LIMIT) -> None:
    """No network, no other process, and no more memory (bytes) or processor time (seconds) than
    so much. The limits are those of POSIX; Windows has none of them."""
    limit(memory, seconds)
    sys.addaudithook(_refuse)


def limit(memory: int, seconds: int) -> None:
    """The limits alone. macOS takes them and keeps only that of time; Windows has none."""
    if sys.platform == "win32":
        return
    try:
        import resource
    except ImportError:  # in a browser
        return
    kinds = {
        "RLIMIT_DATA": memory,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": ANSWER_LIMIT,
        "RLIMIT_CORE": 0,
    }
    for name, most in kinds.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (least, least))


def leave_network() -> bool:
    """A network namespace of its own, with no interface in it; False where the system has none or
    does not let this user have one. To be called while the process has one thread."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NET) == 0)
    except (OSError, AttributeError):
        return False


def end_with_parent(folder: str) -> None:
    """The process ends, and its folder with it, when standard input ends: whoever started it is
    gone, or wants no answer any more. Ctrl-C is for them."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        with suppress(OSError):
            os.read(0, 1)
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def _refuse(event: str, _arguments: Sequence[object]) -> None:
    is_forbidden = event in _FORBIDDEN or event.partition(".")[0] in _FORBIDDEN
    if is_forbidden and event not in _ALLOWED:
        raise PermissionError(errno.EPERM, f"{event} is not allowed where a config is built")


def only_files_of(roots: Iterable[str]) -> Callable[[str, Sequence[object]], None]:
    """A hook by which nothing is opened from now on but files below ``roots``."""
    real = {os.path.realpath(root) for root in roots if root}
    below = tuple(root.rstrip(os.sep) + os.sep for root in real)

    def refuse(event: str, arguments: Sequence[object]) -> None:
        name = arguments[0] if event == "open" else None
        if not isinstance(name, (str, bytes, os.PathLike)):
            return  # another event, or a descriptor that is open already
        if not os.path.realpath(os.fsdecode(name)).startswith(below):
            raise PermissionError(errno.EPERM, "reading it is not allowed where a config is built")

    return refuse


def _built(config: Any, folder: str) -> dict[str, Any]:
    _ask_no_hub()
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    sys.addaudithook(only_files_of((*sys.path, *prefixes, folder, "/proc", os.devnull)))
    version = str(transformers.__version__)
    try:
        cls = _model_class(transformers, config)
        if cls is None:
            return {"unknown": True}
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            built = cls.config_class.from_dict(config)
            model = cls._from_config(built)
            tensors = saved(model)
    except MemoryError:
        raise
    except Exception as error:  # transformers raises whatever its classes raise
        return {"refused": f"{type(error).__name__}: {error}"[:300], "version": version}
    return {
        "architecture": cls.__name__,
        "model_type": str(getattr(built, "model_type", "")),
        "version": version,
        "tensors": [[name, *rest] for name, rest in tensors.items()],
        "tied": tied(model),
        "modules": {name: type(module).__name__ for name, module in model.named_modules()},
    }


def _ask_no_hub() -> None:
    """A backbone's plain name is timm's: transformers would ask the Hub first whether there is a
    repo of that name, which is no answer without a network."""
    import huggingface_hub
    from huggingface_hub import hf_api

    def repo_exists(*_: object, **__: object) -> bool:
        return False

    for owner in (hf_api.HfApi, hf_api, huggingface_hub):
        setattr(owner, repo_exists.__name__, repo_exists)


def _model_class(transformers: Any, config: Any) -> Any:
    """A model class of transformers' own namespace, or None: the one that config.json names, and
    only where it names none the one that AutoModel would build."""
    from transformers import AutoConfig, AutoModel

    classes = config.get("architectures")
    name = classes[0] if isinstance(classes, list) and classes else None
    if name is not None:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            return None
        cls = getattr(transformers, name, None)
        known = isinstance(cls, type) and issubclass(cls, transformers.PreTrainedModel)
        return cls if known else None
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        return None
    try:
        config_class = type(AutoConfig.for_model(model_type))
        return AutoModel._model_mapping[config_class]
    except (KeyError, ValueError):
        return None


def saved(model: Any) -> dict[str, tuple[list[int], bool]]:
    """Name -> (shape, is a parameter) of what save_pretrained writes."""
    from transformers.core_model_loading import revert_weight_conversion

    state = model.state_dict()
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name in (*(model._keys_to_ignore_on_save or ()), *model.all_tied_weights_keys):
        state.pop(name, None)
    buffers = {name for name in state if name not in parameters}
    written = revert_weight_conversion(model, state)
    return {  # an index keeps no name of its own where names are converted, but its dtype
        name: (list(t.shape), name not in buffers and t.is_floating_point())
        for name, t in written.items()
    }


def tied(model: Any) -> list[tuple[str, str, list[int]]]:
    """Name left out, name kept, shape. A name may stand for a buffer too: that of Fourier features
    in PE's audio model."""
    names = dict(model.all_tied_weights_keys)
    state = model.state_dict() if names else {}
    return [(name, keeper, list(state[keeper].shape)) for name, keeper in names.items()]
