"""Files that run code in their real loader, by category, made without importing what they name.

Every sample does the same harmless thing when it runs: a file called ``canary`` appears in the
current folder. ``tests/trust/test_loaders.py`` proves it (marker ``loaders``);
``tests/trust/test_attacks.py`` checks that the audit calls each an error.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Iterator

from ..formats.torch_files import torch_zip
from .attacking_archives import archives
from .evil import EVIL, EVIL_PICKLE, OPEN, TOUCH, Sample
from .opcodes import Raw, build, call, frame, get, name, pickled, stack_name, value

#: One call that runs something by itself: name and arguments.
DIRECT: dict[str, tuple[object, ...]] = {
    "os.system": (TOUCH,),
    "posix.system": (TOUCH,),
    "os.popen": (TOUCH,),
    "os.mkdir": ("canary",),
    "os.makedirs": ("canary",),
    "posix.mkdir": ("canary",),
    "os.symlink": ("x", "canary"),
    "os.mkfifo": ("canary",),
    "os.mknod": ("canary",),
    "os.execvp": ("touch", ["touch", "canary"]),
    "os.spawnlp": (0, "touch", "touch", "canary"),
    "os.posix_spawnp": ("touch", ["touch", "canary"], {}),
    "subprocess.call": (["touch", "canary"],),
    "subprocess.run": (["touch", "canary"],),
    "subprocess.Popen": (["touch", "canary"],),
    "subprocess.check_call": (["touch", "canary"],),
    "subprocess.check_output": (["touch", "canary"],),
    "subprocess.getoutput": (TOUCH,),
    "subprocess.getstatusoutput": (TOUCH,),
    "builtins.eval": (OPEN,),
    "builtins.exec": (OPEN,),
    "builtins.open": ("canary", "w"),
    "io.open": ("canary", "w"),
    "_io.open": ("canary", "w"),
    "_io.FileIO": ("canary", "w"),
    "io.FileIO": ("canary", "w"),
    "codecs.open": ("canary", "w"),
    "gzip.open": ("canary", "wb"),
    "bz2.open": ("canary", "wb"),
    "lzma.open": ("canary", "wb"),
    "gzip.GzipFile": ("canary", "wb"),
    "bz2.BZ2File": ("canary", "wb"),
    "lzma.LZMAFile": ("canary", "wb"),
    "zipfile.ZipFile": ("canary", "w"),
    "tarfile.open": ("canary", "w"),
    "shelve.open": ("canary",),
    "dbm.dumb.open": ("canary", "n"),
    "sqlite3.connect": ("canary",),
    "sqlite3.dbapi2.connect": ("canary",),
    "logging.FileHandler": ("canary",),
    "logging.handlers.RotatingFileHandler": ("canary",),
    "logging.handlers.WatchedFileHandler": ("canary",),
    "wave.open": ("canary", "wb"),
    "timeit.timeit": (OPEN,),
    "timeit.main": (["-n1", OPEN],),
    "cProfile.run": (OPEN,),
    "profile.run": (OPEN,),
    "tempfile.mkdtemp": ("", "canary", "."),
    "tempfile.mkstemp": ("", "canary", "."),
    "shutil.copyfile": ("/etc/hostname", "canary"),
    "shutil.copy": ("/etc/hostname", "canary"),
    "shutil.copytree": ("empty", "canary"),
    "shutil.make_archive": ("canary", "tar", "empty"),
    "typing.get_type_hints": (
        build(call("types.SimpleNamespace"), {"__annotations__": {"a": OPEN}}),
    ),
    "pydoc.pipepager": ("x", TOUCH),
    "pydoc.tempfilepager": ("x", TOUCH),
    "distutils.spawn.spawn": (["touch", "canary"],),
    "setuptools._distutils.spawn.spawn": (["touch", "canary"],),
    "doctest.debug_script": (OPEN, True),
    "multiprocessing.util.spawnv_passfds": (b"/usr/bin/touch", ["touch", "canary"], []),
    "commands.getoutput": (TOUCH,),
    "__builtin__.eval": (OPEN,),
    "urllib.request.urlretrieve": ("file:///etc/hostname", "canary"),
    "runpy.run_path": ("evil.py",),
    "pickle.loads": (EVIL_PICKLE,),
    "_pickle.loads": (EVIL_PICKLE,),
    "numpy.save": ("canary", 1),
    "numpy.savetxt": ("canary", [1]),
    "numpy.savez": ("canary", 1),
    "numpy.memmap": ("canary", "u1", "w+", 0, 1),
    "numpy.testing.runstring": (OPEN, {}),
    "numpy.testing._private.utils.runstring": (OPEN, {}),
    "numpy.load": ("evil.npy", None, True),
    "numpy.f2py.crackfortran.myeval": (OPEN,),
    "torch.save": (1, "canary"),
    "torch.utils.collect_env.run": (TOUCH,),
    "torch.utils.collect_env.run_and_read_all": (name("torch.utils.collect_env.run"), TOUCH),
    "torch.storage._load_from_bytes": (EVIL_PICKLE,),
    "torch.fx.graph_module._exec_with_source": (OPEN, {}),
    "joblib.dump": (1, "canary"),
    "joblib.load": ("evil.joblib",),
    "importlib.import_module": ("evil",),
    "builtins.__import__": ("evil",),
    "pkgutil.get_data": ("evil", "x"),
    "unittest.main": ("evil",),
    "numpy.distutils.exec_command.exec_command": (TOUCH,),
    "test.support.script_helper.assert_python_ok": ("-c", OPEN),
    "logging.config.dictConfig": (
        {"version": 1, "handlers": {"a": {"class": "logging.FileHandler", "filename": "canary"}}},
    ),
    "multiprocessing.pool.ThreadPool": (1, name("os.system"), (TOUCH,)),
    "functools.reduce": (name("os.mkdir"), ["canary", 511]),
    "builtins.list": (call("builtins.map", name("os.system"), [TOUCH]),),
    "builtins.max": (call("builtins.map", name("os.system"), [TOUCH]),),
    "builtins.set": (call("builtins.map", name("os.system"), [TOUCH]),),
    "collections.OrderedDict": (
        call("builtins.zip", call("builtins.map", name("os.system"), [TOUCH]), [1]),
    ),
    "collections.Counter": (call("builtins.map", name("os.system"), [TOUCH]),),
    "builtins.frozenset": (call("builtins.filter", name("os.system"), [TOUCH]),),
}

#: Attributes of attributes: protocol 4 follows every dot. What the last part takes:
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "system": (TOUCH,),
    "eval": (OPEN,),
    "exec": (OPEN,),
    "__call__": (OPEN,),
    "open": ("canary", "w"),
}
PATHS = """
accelerate.state:os.system argparse:_os.system builtins:eval.__call__
builtins:eval.__self__.eval builtins:open.__call__ builtins:print.__self__.exec
contextlib:os.system dataclasses:builtins.eval dataclasses:inspect.os.system
enum:bltns.eval fileinput:os.system fractions:re.enum.bltns.exec glob:os.system
gzip:os.system inspect:os.system joblib.func_inspect:os.system joblib.memory:os.system
joblib.numpy_pickle:os.system joblib:os.system json:codecs.open linecache:os.system
logging:os.system numpy._core._methods:os.system numpy.lib._datasource:os.system
numpy.lib._npyio_impl:os.system os:path.os.system pathlib:os.system pickle:io.open
platform:os.system random:_os.system random:_urandom.__self__.system re:enum.bltns.eval
scipy._lib._util:os.system shutil:os.system sklearn.datasets._base:os.system
sklearn.utils._show_versions:platform.os.system tarfile:os.system tempfile:_os.system
torch._utils:traceback.linecache.os.system torch.serialization:shutil.os.system
torch.storage:io.open torch:hub.os.system torch:os.system torch:serialization.os.system
transformers.training_args:os.system transformers.utils.hub:os.system uuid:os.system
zipfile:os.system
""".split()


def samples() -> list[Sample]:
    """All of them, each proved with Python 3.11, torch 2.13, NumPy 2.4, joblib 1.6, SciPy 1.17."""
    every: list[Sample] = []
    for part in (
        _direct,
        _paths,
        _chains,
        _opcodes,
        _memo,
        _framing,
        _desynchronised,
        _states,
        _joblib,
        _arrays,
        archives,
    ):
        every += part()
    return every


_FILES = (
    ("model.pkl", "pickle"),
    ("pytorch_model.bin", "pickle"),
    ("training_args.bin", "pickle"),
    ("vectorizer.joblib", "joblib"),
)


def _direct() -> Iterator[Sample]:
    for number, (dotted, args) in enumerate(DIRECT.items()):
        file, loader = _FILES[number % len(_FILES)]
        yield Sample("direct calls", dotted, file, loader, pickled(call(dotted, *args), 2))


def _paths() -> Iterator[Sample]:
    for number, dotted in enumerate(PATHS):
        args = ("canary", "w") if "open." in dotted else ARGUMENTS[dotted.rpartition(".")[2]]
        file, loader = _FILES[number % len(_FILES)]
        data = pickled(call(stack_name(dotted), *args))
        yield Sample("attributes of attributes", dotted, file, loader, data)


def _chains() -> Iterator[Sample]:
    """getattr and its kin, called step by step."""
    os_module = call("builtins.__import__", "os")
    chains = {
        "getattr of an import": call(get(os_module, "system"), TOUCH),
        "attrgetter": call(call(call("operator.attrgetter", "system"), os_module), TOUCH),
        "methodcaller": call(call("operator.methodcaller", "system", TOUCH), os_module),
        "itemgetter": call(
            call(
                call("operator.itemgetter", "eval"), get("collections.namedtuple", "__builtins__")
            ),
            OPEN,
        ),
        "partial": call(call("functools.partial", name("os.system"), TOUCH)),
        "partial of eval": call(call("functools.partial", name("builtins.eval"), OPEN)),
        "resolve_name": call(call("pkgutil.resolve_name", "os:system"), TOUCH),
        "sys.modules": call(
            get(call("operator.getitem", name("sys.modules"), "os"), "system"), TOUCH
        ),
        "import_module": call(get(call("importlib.import_module", "os"), "system"), TOUCH),
        "FileType": call(call("argparse.FileType", "w"), "canary"),
        "attribute of a call": call(get(call("pathlib.Path", "canary"), "touch")),
        "Path.touch": call("pathlib:Path.touch", call("pathlib.Path", "canary")),
        "PosixPath.mkdir": call("pathlib:PosixPath.mkdir", call("pathlib.PosixPath", "canary")),
        "Path.write_text": call("pathlib:Path.write_text", call("pathlib.Path", "canary"), "x"),
        "ctypes": call(get(call("ctypes.CDLL", None), "system"), b"touch canary"),
        "compile": call("builtins.eval", call("builtins.compile", OPEN, "x", "eval")),
        "FunctionType": call(
            call("types.FunctionType", call("builtins.compile", OPEN, "x", "exec"), {})
        ),
        "ufunc of NumPy 1": call(call("numpy.core._ufunc_reconstruct", "os", "system"), TOUCH),
        "defaultdict": call(
            "collections:defaultdict.__missing__",
            call("collections.defaultdict", call("functools.partial", name("os.system"), TOUCH)),
            1,
        ),
        "InteractiveInterpreter": call(get(call("code.InteractiveInterpreter"), "runsource"), OPEN),
        "Timer": call(get(call("timeit.Timer", OPEN), "timeit"), 1),
        "Bdb": call(get(call("bdb.Bdb"), "run"), OPEN),
        "GenericBrowser": call(
            get(call("webbrowser.GenericBrowser", ["touch", "canary"]), "open"), "x"
        ),
        "Process": call(
            get(call("multiprocessing.Process", None, name("os.system"), None, (TOUCH,)), "run")
        ),
        "Thread": call(
            get(call("threading.Thread", None, name("os.system"), None, (TOUCH,)), "run")
        ),
        "Unpickler": call(get(call("pickle.Unpickler", call("io.BytesIO", EVIL_PICKLE)), "load")),
        "ast and eval": call("builtins.eval", call("builtins.str", OPEN)),
        "exec of bytes": call("builtins.exec", OPEN.encode()),
        "rv_continuous": _stats("scipy.stats._continuous_distns.norm_gen"),
        "rv_discrete": _stats("scipy.stats._discrete_distns.binom_gen"),
    }
    for number, (title, content) in enumerate(chains.items()):
        file, loader = _FILES[number % len(_FILES)]
        yield Sample("call chains", title, file, loader, pickled(content))


def _stats(cls: str) -> Raw:
    """A distribution of SciPy makes its argument parser from a template in its state, by exec."""
    made = Raw(name(cls).code + b")\x81")
    template = f"{OPEN}\ndef _parse_args(self, *a): pass\n_parse_args_rvs = _parse_args\n"
    template += "_parse_args_stats = _parse_args\n"
    return build(
        made,
        {
            "_parse_arg_template": template,
            "_ctor_param": {},
            "shapes": None,
            "numargs": 0,
            "name": "x",
            "badvalue": 0,
            "momtype": 0,
            "a": 0,
            "b": 1,
            "moment_type": 0,
            "xtol": 0,
            "vecentropy": None,
        },
    )


def _opcodes() -> Iterator[Sample]:
    """Every opcode that loads a name or makes a call."""
    system = b"cos\nsystem\n"
    cmd = value(TOUCH)
    forms = {
        "REDUCE": system + cmd + b"\x85R",
        "INST": b"(" + cmd + b"ios\nsystem\n",
        "OBJ": b"(" + system + cmd + b"o",
        "INST of a class": b"(" + value(["touch", "canary"]) + b"isubprocess\nPopen\n",
        "OBJ of a class": b"(csubprocess\nPopen\n" + value(["touch", "canary"]) + b"o",
        "STACK_GLOBAL": value("os") + value("system") + b"\x93" + cmd + b"\x85R",
        "STACK_GLOBAL of short text": b"\x8c\x02os\x8c\x06system\x93" + cmd + b"\x85R",
        "STACK_GLOBAL of long text": b"\x8d"
        + struct.pack("<Q", 2)
        + b"os\x8c\x06system\x93"
        + cmd
        + b"\x85R",
        "STACK_GLOBAL of escapes": b"V\\u006fs\nS'\\x73ystem'\n\x93" + cmd + b"\x85R",
        "STACK_GLOBAL of Python 2 text": b"U\x02osT"
        + struct.pack("<i", 6)
        + b"system\x93"
        + cmd
        + b"\x85R",
        "a computed name": value("os")
        + call("builtins.str", "system").code
        + b"\x93"
        + cmd
        + b"\x85R",
        "a computed module": call("builtins.str", "os").code
        + value("system")
        + b"\x93"
        + cmd
        + b"\x85R",
        "a joined name": value("os")
        + call(get(Raw(value("")), "join"), ["sys", "tem"]).code
        + b"\x93"
        + cmd
        + b"\x85R",
        "TUPLE": system + b"(" + cmd + b"tR",
        "Python 2 name": b"c__builtin__\neval\n" + value(OPEN) + b"\x85R",
        "popped result": system + cmd + b"\x85R0N",
        "in a list": b"](" + system + cmd + b"\x85Re",
        "in a dict": b"}" + value("a") + system + cmd + b"\x85Rs",
        "as a key": b"}" + system + cmd + b"\x85RNs",
        "in a set": b"\x8f(" + system + cmd + b"\x85R\x90",
        "in a frozen set": b"(" + system + cmd + b"\x85R\x91",
        "in a tuple": system + cmd + b"\x85RN\x86",
        "NEWOBJ": name("collections.deque").code
        + value(())
        + b"\x81"
        + Raw(name("builtins.map").code + value((name("os.system"), [TOUCH])) + b"\x81").code
        + b"\x86"
        + b"0"
        + name("builtins.list").code
        + name("builtins.map").code
        + value((name("os.system"), [TOUCH]))
        + b"\x81\x85R",
        "NEWOBJ_EX": name("builtins.list").code
        + name("builtins.map").code
        + value((name("os.system"), [TOUCH]))
        + b"}\x92\x85R",
        "copyreg.__newobj__": call("copyreg.__newobj__", name("pathlib.Path"), "x").code
        + b"0"
        + EVIL.code,
        "before garbage": system + cmd + b"\x85R\xff\xff",
        "before the end of the file": system + cmd + b"\x85R",
        "in two lines": b"cos\nsystem\n(S'touch canary'\ntR",
        "in Unicode": system + b"V" + TOUCH.encode() + b"\n\x85R",
        "extension registry": call("copyreg.add_extension", "os", "system", 240).code
        + b"0\x82\xf0"
        + cmd
        + b"\x85R",
        "extension registry, two bytes": call("copyreg.add_extension", "os", "system", 240).code
        + b"0\x83\xf0\x00"
        + cmd
        + b"\x85R",
        "extension registry, four bytes": call("copyreg.add_extension", "os", "system", 240).code
        + b"0\x84\xf0\x00\x00\x00"
        + cmd
        + b"\x85R",
    }
    for number, (title, code) in enumerate(forms.items()):
        file, loader = _FILES[number % 3]
        protocol = 4 if b"\x93" in code or b"\x8c" in code else 2
        whole = pickled(Raw(code), protocol)
        if title == "before the end of the file":
            whole = whole[:-1]
        yield Sample("opcodes", title, file, loader, whole)
    for protocol in range(6):
        data = pickle.dumps(_Call(), protocol)
        yield Sample("opcodes", f"pickle's own protocol {protocol}", "a.pickle", "pickle", data)
        yield Sample("opcodes", f"joblib, protocol {protocol}", "a.joblib", "joblib", data)
        zipped = torch_zip(data, {})
        yield Sample("opcodes", f"torch, protocol {protocol}", "model.pt", "torch", zipped)


class _Call:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return eval, (OPEN,)


def _memo() -> Iterator[Sample]:
    os_name = value("os")
    cmd = value(TOUCH)
    tricks = {
        "names from the memo": b"\x8c\x06system\x94\x8c\x02os\x94h\x01h\x00\x93" + cmd + b"\x85R",
        "memo overwritten": b"\x8c\x02req\x00\x8c\x02osq\x00h\x00\x8c\x06system\x93"
        + cmd
        + b"\x85R",
        "memo far away": os_name
        + b"r\xff\xff\x0f\x000j\xff\xff\x0f\x00"
        + value("system")
        + b"\x93"
        + cmd
        + b"\x85R",
        "memo by text": os_name + b"p12\n0g12\n" + value("system") + b"\x93" + cmd + b"\x85R",
        "memo by text with zeros": os_name
        + b"p0012\n0g12\n"
        + value("system")
        + b"\x93"
        + cmd
        + b"\x85R",
        "duplicated name": value("os") + b"20" + value("system") + b"\x93" + cmd + b"\x85R",
        "function from the memo": b"cos\nsystem\nq\x050h\x05" + cmd + b"\x85R",
        "getattr from the memo": b"cbuiltins\ngetattr\nq\x000cpathlib\nPath\n0h\x00"
        + call("builtins.__import__", "os").code
        + value("system")
        + b"\x86R"
        + cmd
        + b"\x85R",
        "a list that grows": b"](" + value("a") + b"eq\x000" + EVIL.code,
        "a tuple of itself": b"]q\x00h\x00\x85a0" + EVIL.code,
        "mark and pop": b"(" + os_name + b"1" + EVIL.code,
        "pop of a mark": b"(0" + EVIL.code,
        "memo of the call": EVIL.code + b"q\x07h\x07\x86",
    }
    for title, code in tricks.items():
        yield Sample("memo and stack", title, "m.pkl", "pickle", pickled(Raw(code)))


def _framing() -> Iterator[Sample]:
    code = EVIL.code
    forms = {
        "one frame": frame(code + b"."),
        "a frame too short": frame(code[:-1])[:9] + code + b".",
        "frame of zero": frame(b"") + code + b".",
        "two frames": frame(b"N0") + frame(code + b"."),
        "half in a frame": frame(b"N0") + code + b".",
        "end outside": frame(code) + b".",
    }
    for title, body in forms.items():
        for file, loader in (("f.pkl", "pickle"), ("f.joblib", "joblib")):
            yield Sample("framing", f"{title}, {loader}", file, loader, b"\x80\x04" + body)
    too_long = b"\x80\x04" + frame(code + b".", 1000)
    yield Sample("framing", "a frame beyond the file", "f.joblib", "joblib", too_long)
    many = b"\x80\x04" + b"\x80\x02" * 3 + code + b"."
    yield Sample("framing", "protocol again and again", "f.pkl", "pickle", many)


def _desynchronised() -> Iterator[Sample]:
    """First something that this reader does not follow and the loader does, then the call."""
    computed = name("collections.OrderedDict").code + call("builtins.tuple", []).code + b"R0"
    long_name = "system" + ".__call__" * 600
    forms: dict[str, bytes] = {
        "computed argument tuple": computed + EVIL.code,
        "SETITEM on a list": b"](K\x01K\x02eK\x00K\x03s0" + EVIL.code,
        "SETITEMS on a list": b"](K\x01K\x02e(K\x00K\x03u0" + EVIL.code,
        "I010": b"I010\n0" + EVIL.code,
        "I-07": b"I-07\n0" + EVIL.code,
        "LONG4 of 300 bytes": b"\x8b" + struct.pack("<i", 300) + bytes(300) + b"0" + EVIL.code,
        "LONG4 of 70,000 bytes": b"\x8b"
        + struct.pack("<i", 70_000)
        + bytes(70_000)
        + b"0"
        + EVIL.code,
        "INT of 600 digits": b"I" + b"0" * 600 + b"\n0" + EVIL.code,
        "LONG of 600 digits": b"L1" + b"0" * 600 + b"L\n0" + EVIL.code,
        "FLOAT of 600 digits": b"F1." + b"0" * 600 + b"\n0" + EVIL.code,
        "GET of 600 digits": b"Np0\n0g" + b"0" * 600 + b"\n0" + EVIL.code,
        "a name of 5,400 characters": call(Raw(f"cos\n{long_name}\n".encode()), TOUCH).code,
        "2,500 marks": b"(" * 2_500 + b"1" * 2_500 + EVIL.code,
        "a stack of 1,100,000": b"(" + b"N" * 1_100_000 + b"1" + EVIL.code,
        "100,001 names": b"ccollections\nOrderedDict\n0" * 100_001 + EVIL.code,
        "4,100,000 opcodes": b"N0" * 2_050_000 + EVIL.code,
        "APPENDS to a deque": call("collections.deque").code + b"(K\x01e0" + EVIL.code,
        "state of a class": name("argparse.Namespace").code
        + b"N}"
        + value("x")
        + b"K\x01s\x86b0"
        + EVIL.code,
        "items of a module's dict": name("copyreg.dispatch_table").code
        + b"K\x01K\x02s0"
        + EVIL.code,
        "items of sys.path": name("sys.path").code + value("x") + b"a0" + EVIL.code,
        "PUT of an empty stack's top": b"Np0\n" + EVIL.code,
    }
    for title, code in forms.items():
        yield Sample("desynchronised", title, "d.pkl", "pickle", pickled(Raw(code)))
        if len(code) < 100_000:
            zipped = torch_zip(pickled(Raw(code)), {})
            yield Sample("desynchronised", f"{title}, in torch", "model.pt", "torch", zipped)
            if "characters" not in title:  # protocol 0 follows no dots
                yield Sample(
                    "desynchronised", f"{title}, in .bin", "extra.bin", "pickle", code + b"."
                )
    digits = b"Np" + b"9" * 600 + b"\n0" + EVIL.code
    yield Sample(
        "desynchronised", "PUT with 600 digits", "d.joblib", "joblib", pickled(Raw(digits))
    )
    listed = name("os.system").code + value([TOUCH]) + b"R"
    yield Sample(
        "desynchronised", "arguments in a list", "d.joblib", "joblib", pickled(Raw(listed))
    )
    for count in (2, 5, 17, 40):
        rows = pickle.dumps({"row": 1}) * (count - 1) + EVIL_PICKLE
        title = f"the pickle number {count} in a row"
        yield Sample("desynchronised", title, "rows.pkl", "rows", rows)


def _states() -> Iterator[Sample]:
    """Calls by BUILD and by the methods that an unpickler looks up."""
    space = name("argparse.Namespace").code + b")\x81"
    forms = {
        "__setstate__ in the state": space
        + value({"__setstate__": name("os.system")})
        + b"b"
        + value(TOUCH)
        + b"b",
        "append in the state": space
        + value({"append": name("os.system")})
        + b"b"
        + value(TOUCH)
        + b"a",
        "extend in the state": space + value({"extend": name("os.rmdir")}) + b"b0" + EVIL.code,
        "add in the state": space
        + value({"add": name("os.system")})
        + b"b("
        + value(TOUCH)
        + b"\x90",
        "__setstate__ by slots": space
        + b"N"
        + value({"__setstate__": name("os.system")})
        + b"\x86b"
        + value(TOUCH)
        + b"b",
        "SimpleNamespace": name("types.SimpleNamespace").code
        + b")\x81"
        + value({"__setstate__": name("builtins.eval")})
        + b"b"
        + value(OPEN)
        + b"b",
        "a class's attribute": name("argparse.Namespace").code
        + b"N"
        + value({"__setstate__": name("builtins.eval")})
        + b"\x86b0"
        + space
        + value(OPEN)
        + b"b",
    }
    for title, code in forms.items():
        yield Sample("state and methods", title, "s.pkl", "pickle", pickled(Raw(code)))
        zipped = torch_zip(pickled(Raw(code)), {})
        yield Sample("state and methods", f"{title}, in torch", "s.pt", "torch", zipped)


def _wrapper(count: int, kind: str = "u1", *, padded: bool = False) -> bytes:
    """The opcodes that joblib writes in front of ``count`` raw elements."""
    dtype = build(
        call("numpy.dtype", kind, False, True),
        (3, "|", None, None, None, -1, -1, 63 if kind == "O8" else 0),
    )
    state: dict[str, object] = {
        "subclass": name("numpy.ndarray"),
        "shape": (count,),
        "order": "C",
        "dtype": dtype,
        "allow_mmap": False,
    }
    state["numpy_array_alignment_bytes"] = 16 if padded else None
    return name("joblib.numpy_pickle.NumpyArrayWrapper").code + b")\x81" + value(state) + b"b"


def _joblib() -> Iterator[Sample]:
    inner = EVIL_PICKLE
    hidden = b"0" + EVIL.code + b"."
    forms: dict[str, tuple[bytes, str]] = {
        "in an array of objects": (_wrapper(1, "O8") + inner + b".", "joblib"),
        "after an array": (_wrapper(4) + b"abcd0" + EVIL.code + b".", "joblib"),
        "after a padded array": (
            _wrapper(4, padded=True) + b"\x02xxabcd0" + EVIL.code + b".",
            "joblib",
        ),
        "before an array": (EVIL.code + b"0" + _wrapper(4) + b"abcd.", "joblib"),
        "an array that is opcodes to pickle": (_wrapper(len(hidden)) + hidden + b".", "pickle"),
        "an array of dtype by text": (_wrapper(4, "uint8") + b"abcd0" + EVIL.code + b".", "joblib"),
        "an array of words": (_wrapper(2, ">u2") + b"abcd0" + EVIL.code + b".", "joblib"),
    }
    for title, (code, loader) in forms.items():
        file = "j.joblib" if loader == "joblib" else "j.pkl"
        yield Sample("joblib", title, file, loader, b"\x80\x04" + code)
    # The unpickler in Python has read the frame already, so the array lies behind it.
    code = _wrapper(4) + b"0" + EVIL.code + b"."
    yield Sample(
        "joblib",
        "an array inside a frame",
        "j.joblib",
        "joblib",
        b"\x80\x04" + frame(code) + b"abcd",
    )


def _npy(header: str, data: bytes, version: int = 1) -> bytes:
    raw = header.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(raw))
    return b"\x93NUMPY" + bytes([version, 0]) + size + raw + data


def _arrays() -> Iterator[Sample]:
    header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    for version in (1, 2, 3):
        data = _npy(header, EVIL_PICKLE, version)
        yield Sample("NumPy files", f".npy, version {version}", "a.npy", "numpy", data)
    for descr in (
        "'O'",
        "'|O8'",
        "[('a', '|O')]",
        "[('a', '<f4'), ('b', [('c', 'O')])]",
        "('|O', (1,))",
        '"O"',
        "'\\x4f'",
    ):
        other = header.replace("'|O'", descr)
        yield Sample("NumPy files", f".npy of {descr}", "a.npy", "numpy", _npy(other, EVIL_PICKLE))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("a.npy", _npy(header, EVIL_PICKLE))
        yield Sample("NumPy files", f".npz, method {method}", "a.npz", "numpy", out.getvalue())
    yield Sample("NumPy files", "a pickle named .npy", "a.npy", "numpy", EVIL_PICKLE)
