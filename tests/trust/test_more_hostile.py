"""Names, chains and disguises that no loader was made to run: each is an error all the same."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import hfinspect

from ..formats.torch_files import torch_zip
from .attacks import _npy
from .evil import BENIGN, EVIL, EVIL_PICKLE, TOUCH
from .opcodes import Raw, build, call, get, name, pickled, stack_name, value

SYSTEM = name("os.system")
_MAP = call("builtins.map", SYSTEM, [TOUCH])
_FUNCTION = "sklearn.preprocessing._function_transformer.FunctionTransformer"

#: Calls and instances; most would run code, all of them name what nobody has reviewed.
CHAINS = {
    "weakref.finalize": call("weakref.finalize", name("argparse.Namespace"), SYSTEM, TOUCH),
    "atexit": call("atexit.register", SYSTEM, TOUCH),
    "starmap": call("builtins.list", call("itertools.starmap", SYSTEM, [(TOUCH,)])),
    "accumulate": call("builtins.list", call("itertools.accumulate", [TOUCH, "x"], SYSTEM)),
    "dropwhile": call("builtins.list", call("itertools.dropwhile", SYSTEM, [TOUCH])),
    "groupby": call("builtins.list", call("itertools.groupby", [TOUCH], SYSTEM)),
    "deque of map": call("collections.deque", _MAP),
    "dict of map": call("builtins.dict", _MAP),
    "bytes of map": call("builtins.bytes", _MAP),
    "fromiter": call("numpy.fromiter", _MAP, "i8"),
    "iter": call("builtins.list", call("builtins.iter", call("functools.partial", SYSTEM), 0)),
    "operator.call": call("operator.call", SYSTEM, TOUCH),
    "property": call(get(call("builtins.property", SYSTEM), "__get__"), TOUCH),
    "cached_property": call(get(call("functools.cached_property", SYSTEM), "__get__"), TOUCH),
    "MethodType": call(call("types.MethodType", SYSTEM, TOUCH)),
    "GenericAlias": call(get(call("types.GenericAlias", SYSTEM, ()), "__call__"), TOUCH),
    "ExitStack": call(get(call("contextlib.ExitStack"), "callback"), SYSTEM, TOUCH),
    "codecs": call("_codecs.register", SYSTEM),
    "copyreg": call("copyreg.pickle", SYSTEM, SYSTEM),
    "vectorize": call(call("numpy.vectorize", SYSTEM), TOUCH),
    "frompyfunc": call(call("numpy.frompyfunc", SYSTEM, 1, 1), TOUCH),
    "torch.jit.load": call("torch.jit.load", "x.pt"),
    "torch.package": call("torch.package.PackageImporter", "x.pt"),
    "load_inline": call("torch.utils.cpp_extension.load_inline", "x", "int x;"),
    "dynamic module": call(
        "transformers.dynamic_module_utils.get_class_from_dynamic_module", "evil.X", "."
    ),
    "a transformer of evil": build(Raw(name(_FUNCTION).code + b")\x81"), {"func": SYSTEM}),
    "unsafe_load": call("yaml.unsafe_load", "!!python/object/apply:os.system [x]"),
    "instantiate": call("hydra.utils.instantiate", {"_target_": "os.system"}),
    "cloudpickle": call("cloudpickle.cloudpickle._make_function", 1),
    "getattr twice": call(get(get("argparse", "_os"), "system"), TOUCH),
    "getattr of a reviewed class": get("transformers.trainer_utils.IntervalStrategy", "__class__"),
    "getattr with dots": get("collections.OrderedDict", "__init__.__globals__"),
    "getattr with a default": call("builtins.getattr", name("argparse.Namespace"), "x", None),
    "subclasses": call(get("builtins.object", "__subclasses__")),
    "_reconstructor": call("copyreg._reconstructor", name("argparse.Namespace"), SYSTEM, TOUCH),
    "__newobj__": call("copyreg.__newobj__", name("subprocess.Popen"), ["touch", "canary"]),
    "_reconstruct": call("numpy._core.multiarray._reconstruct", name("subprocess.Popen"), (0,)),
    "_ufunc_reconstruct": call("numpy._core._ufunc_reconstruct", "os", "system"),
    "bit generator": call("numpy.random._pickle.__bit_generator_ctor", SYSTEM),
    "newObj": call("sklearn.neighbors._ball_tree.newObj", name("subprocess.Popen")),
    "a factory": call("collections.defaultdict", name("os.getcwd")),
    "a time zone": call("datetime.datetime", b"x", SYSTEM),
    "state of a class": Raw(
        name("collections.OrderedDict").code + b"N" + value({"__setitem__": SYSTEM}) + b"\x86b"
    ),
}
#: Attributes of what is reviewed, or of what torch itself allows.
PATHS = """
argparse:Namespace.__init__.__globals__ collections:OrderedDict.__init__ torch:Tensor.__reduce_ex__
torch:storage.pickle.loads torch:_utils.sys.modules numpy:dtype.__class__ builtins:list.__class__
pathlib:PosixPath.write_text datetime:sys.modules collections:abc.sys
torch._utils:_rebuild_tensor_v2.__globals__ transformers.trainer_utils:IntervalStrategy.__members__
transformers.trainer_utils:IntervalStrategy.NO.__class__
""".split()


def _zip(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return out.getvalue()


def _tar(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


_OBJECTS = _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", EVIL_PICKLE)
DISGUISES = {
    "gzip in gzip, m.pkl.gz": gzip.compress(gzip.compress(EVIL_PICKLE)),
    "an archive in gzip, m.bin.gz": gzip.compress(torch_zip(EVIL_PICKLE, {})),
    "tar in xz, m.tar.xz": lzma.compress(_tar({"a/b.pkl": EVIL_PICKLE})),
    "tar in bzip2, m.data": bz2.compress(_tar({"a/b": EVIL_PICKLE})),
    "tar in zip, m.zip": _zip({"a.tar": _tar({"x.pkl": EVIL_PICKLE})}),
    "zip in tar in gzip, m.tgz": gzip.compress(_tar({"x.zip": _zip({"y.pkl": EVIL_PICKLE})})),
    "text in tar, m.tar": _tar({"readme.txt": EVIL_PICKLE}),
    "npz in zip, m.zip": _zip({"a.npz": _zip({"a.npy": _OBJECTS})}),
    "a hidden folder of PyTorch, m.pt": torch_zip(
        BENIGN, {"0": 16}, members={"archive/.data/x.pkl": EVIL_PICKLE}
    ),
    "a number of PyTorch, m.pt": torch_zip(
        BENIGN, {"0": 16}, members={"extra/version": EVIL_PICKLE}
    ),
    "next to storages, m.mar": _zip({"x/data.pkl": BENIGN, "x/data/handler.pkl": EVIL_PICKLE}),
    "a member in bzip2, m.zip": _zip({"a.pkl": EVIL_PICKLE}, zipfile.ZIP_BZIP2),
    "a pickle, then an archive, m.bin": EVIL_PICKLE + torch_zip(BENIGN, {"0": 16}),
    "in the card, README.md": EVIL_PICKLE,
    "as tokenizer, tokenizer.json": EVIL_PICKLE,
    "as config, config.json": EVIL_PICKLE,
    "as index, m.bin.index.json": EVIL_PICKLE,
    "as image, i.jpg": EVIL_PICKLE,
    "as Keras, tf_model.h5": EVIL_PICKLE,
    "as Flax, flax_model.msgpack": EVIL_PICKLE,
    "two protocols, x.pkl": b"\x80\x04\x80\x02" + EVIL.code + b".",
    "a frame too short, x.pkl": b"\x80\x04\x95" + struct.pack("<Q", 2) + b"N0" + EVIL.code + b".",
    "a frame too long, x.pkl": b"\x80\x04\x95" + struct.pack("<Q", 2**40) + EVIL.code + b".",
    "a buffer from outside, x.pkl": pickled(Raw(b"\x97" + EVIL.code), 5),
    "a number of 400 bytes, x.pkl": pickled(
        Raw(b"\x8b" + struct.pack("<i", 400) + bytes(400) + b"0" + EVIL.code)
    ),
    "lines of DOS, x.pkl": b"cos\r\nsystem\r\n(S'touch canary'\ntR.",
    "letters that look alike, x.pkl": pickled(
        Raw("c\uff4fs\nsystem\n".encode() + value((TOUCH,)) + b"R")
    ),
}

SAMPLES = [
    *((title, "x.joblib", pickled(code)) for title, code in CHAINS.items()),
    *((path, "optimizer.pt", torch_zip(pickled(stack_name(path)), {})) for path in PATHS),
    *((title, title.rpartition(", ")[2], data) for title, data in DISGUISES.items()),
]


@pytest.mark.parametrize("part", range(3))
def test_each_is_an_error(part: int, tmp_path: Path) -> None:
    missed = []
    for title, file, data in SAMPLES[part::3]:
        path = tmp_path / file
        path.write_bytes(data)
        findings = hfinspect.audit(tmp_path).findings
        path.unlink()
        codes = {item.code for item in findings if item.severity == "error"}
        if not codes & {"HI401", "HI403", "HI415"}:
            missed.append((title, codes))
    assert missed == []
