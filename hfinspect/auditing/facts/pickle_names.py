"""What a name in a pickle could do when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...formats.torch.rebuild import is_known

#: Names whose call runs code, starts programs, or reaches files and the network. Where the value is
#: None, every name of the module does.
_DANGEROUS: Mapping[str, frozenset[str] | None] = MappingProxyType(
    {
        "builtins": frozenset(
            {"eval", "exec", "compile", "open", "__import__", "getattr", "setattr", "delattr",
             "globals", "locals", "vars", "input", "breakpoint", "apply", "execfile", "file",
             "memoryview", "type", "__build_class__", "help", "exit", "quit"}
        ),
        **dict.fromkeys(
            ("os", "posix", "nt", "posixpath", "ntpath", "subprocess", "commands", "pty", "popen2",
             "socket", "shutil", "sys", "importlib", "imp", "runpy", "code", "codeop", "pdb",
             "bdb", "profile", "cProfile", "timeit", "trace", "webbrowser", "ctypes", "_ctypes",
             "multiprocessing", "asyncio", "threading", "_thread", "signal", "urllib", "urllib2",
             "http", "httplib", "ftplib", "smtplib", "telnetlib", "requests", "aiohttp", "httpx",
             "pip", "ensurepip", "venv", "pkgutil", "zipimport", "marshal", "pickle", "_pickle",
             "cPickle", "dill", "cloudpickle", "shelve", "tempfile", "pathlib", "linecache",
             "inspect", "types", "gc", "ssl", "idlelib", "lib2to3", "distutils", "setuptools",
             "pydoc", "doctest", "unittest", "test", "site", "atexit", "platform", "io", "_io",
             "fileinput", "glob", "getpass", "sqlite3", "xmlrpc", "socketserver", "wsgiref",
             "concurrent", "uuid", "resource", "mmap", "rlcompleter", "cgitb", "nturl2path")
        ),
        "operator": frozenset({"attrgetter", "itemgetter", "methodcaller", "call"}),
        "_operator": frozenset({"attrgetter", "itemgetter", "methodcaller", "call"}),
        "functools": frozenset({"partial", "reduce"}),
        "_functools": frozenset({"partial", "reduce"}),
        "torch": frozenset({"load", "compile"}),
        "torch.serialization": frozenset({"load"}),
        "torch.hub": None,
        "torch.utils.cpp_extension": None,
        "torch._dynamo": None,
        "torch.jit": frozenset({"load"}),
        "torch.fx.graph_module": frozenset({"reduce_graph_module", "_exec_with_source"}),
        "torch.storage": frozenset({"_load_from_bytes"}),
        "numpy": frozenset({"load"}),
        "numpy.testing._private.utils": None,
        "numpy.f2py": None,
        "joblib": frozenset({"load"}),
        "pandas": frozenset({"read_pickle", "eval"}),
        "transformers": frozenset({"pipeline"}),
        "tensorflow": frozenset({"py_function", "numpy_function"}),
    }
)  # fmt: skip

#: Harmless in modules that are dangerous otherwise.
_EXCEPTIONS = frozenset(
    {("pathlib", "PosixPath"), ("pathlib", "WindowsPath"), ("pathlib", "PurePosixPath"),
     ("pathlib", "PureWindowsPath"), ("pathlib", "Path"), ("uuid", "UUID"),
     ("types", "SimpleNamespace"), ("pathlib._local", "PosixPath"), ("pathlib._local", "Path"),
     ("pathlib._local", "WindowsPath")}
)  # fmt: skip

#: Data of libraries that training leaves behind: no code of the file's own runs, but unpickling
#: imports the library and calls the class.
_ORDINARY_ROOTS = frozenset(
    {"transformers", "accelerate", "peft", "trl", "datasets", "numpy", "collections", "datetime",
     "decimal", "fractions", "enum", "copyreg", "copy_reg", "_codecs", "argparse", "omegaconf",
     "sklearn", "scipy", "pandas", "torch", "torchvision", "pytorch_lightning", "lightning",
     "lightning_fabric", "deepspeed", "fairseq", "diffusers", "tokenizers", "sentence_transformers",
     "xgboost", "lightgbm", "joblib", "easydict", "yacs", "typing", "dataclasses", "functools",
     "random", "math", "builtins", "re", "zoneinfo", "pathlib", "uuid", "types", "optimum",
     "huggingface_hub", "numpy_pickle", "timm", "mmengine", "mmcv", "megatron"}
)  # fmt: skip


def danger_of(module: str, name: str) -> str | None:
    """``error``, ``warning`` or ``note``; None for a name that only ever describes tensors.

    A dotted name counts by its first part too: protocol 4 spells ``os.system`` as module "os",
    name "system", but also as module "x", name "os.system".
    """
    if is_known(module, name):
        return None
    if (module, name) in _EXCEPTIONS:
        return "note"
    if module.startswith("<") or name.startswith("<"):
        return "error"  # computed while it is read, so it can be anything
    first = name.partition(".")[0]
    if "." in name and module.partition(".")[0] not in _ORDINARY_ROOTS:
        return "error"  # an attribute of an attribute: the way to what a module has imported
    parts = module.split(".")
    for depth in range(len(parts), 0, -1):
        names = _DANGEROUS.get(".".join(parts[:depth]), frozenset())
        if names is None or (depth == len(parts) and first in names):
            return "error"
    if any(part in _REACHABLE for part in (*parts[1:], *name.split(".")[:-1])):
        return "error"
    return "note" if parts[0] in _ORDINARY_ROOTS else "warning"


#: Modules that others import: ``torch.os.system`` is ``os.system``.
_REACHABLE = frozenset({"os", "sys", "subprocess", "builtins", "shutil", "socket", "importlib"})
