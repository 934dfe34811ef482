"""The names a PyTorch pickle may use to describe tensors, and what each one says.

Exactly the names that ``torch.load(weights_only=True)`` allows (torch/_weights_only_unpickler.py,
2.13), plus the list helpers of TorchScript. Nothing here touches data: a call's arguments become
a ``View`` or plain containers. Arguments of the wrong kind raise BadPickleArgumentsError.
"""

from collections.abc import Callable
from typing import Any

from ..pickles.nodes import BadPickleArgumentsError, Constructor, GlobalRef, Inert
from .storages import STORAGE_DTYPES, Compound, Storage, TorchDtype, View, torch_dtype

#: torch's own limit is 64 dimensions (c10 allows no more in most operators).
MAX_DIMS = 64
#: A name may be of any length; torch's longest has 16 characters.
_MAX_DTYPE_NAME = 64
#: Sizes are int64 in torch.
MAX_SIZE = 2**63 - 1
#: Items copied out of lists given to OrderedDict and the like, over a whole file.
MAX_COPIED = 2_000_000

Args = tuple[object, ...]


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise BadPickleArgumentsError(f"{what} is described in a way that makes no sense")


def _size(value: object, what: str) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SIZE:
        raise BadPickleArgumentsError(f"{what} is not a size")
    return value


def _sizes(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or len(value) > MAX_DIMS:
        raise BadPickleArgumentsError(f"{what} is not a list of at most {MAX_DIMS} sizes")
    return tuple(_size(item, what) for item in value)


def _dtype(value: object) -> TorchDtype:
    dtype = _any_dtype(value)
    _need(dtype.known, "a tensor's dtype")
    return dtype


def _any_dtype(value: object) -> TorchDtype:
    """A dtype by its name in torch; one that a later version has may be of any size."""
    if isinstance(value, GlobalRef) and value.module == "torch":
        known = torch_dtype(value.name)
        return known or TorchDtype(value.name[:_MAX_DTYPE_NAME].upper(), 1, known=False)
    raise BadPickleArgumentsError("a tensor's dtype is not one of torch's")


def _view(args: Args, dtype: TorchDtype | None = None) -> View:
    """A tensor from (storage, offset, size, stride, ...), the beginning of most rebuild calls."""
    _need(len(args) >= 4, "a tensor")
    storage = args[0]
    if not isinstance(storage, Storage):
        raise BadPickleArgumentsError("a tensor has no storage")
    sizes = _sizes(args[2], "a shape")
    steps = _sizes(args[3], "a stride")
    _need(len(sizes) == len(steps), "a tensor's stride")
    view = View(storage, dtype or storage.dtype, _size(args[1], "an offset"), sizes, steps)
    _need(view.elements <= MAX_SIZE and view.span[1] <= MAX_SIZE, "a tensor's size")
    return view


def _tensor(args: Args) -> object:  # storage, offset, size, stride, ...
    return _view(args)


def _tensor_v3(args: Args) -> object:  # storage, offset, size, stride, grad, hooks, dtype[, meta]
    _need(len(args) >= 7, "a tensor")
    return _view(args, _any_dtype(args[6]))


def _meta_tensor(args: Args) -> object:  # dtype, size, stride, requires_grad
    _need(len(args) >= 3, "a tensor without data")
    sizes = _sizes(args[1], "a shape")
    steps = _sizes(args[2], "a stride")
    _need(len(sizes) == len(steps), "a tensor's stride")
    return View(None, _dtype(args[0]), 0, sizes, steps)


def _parameter(args: Args) -> object:  # data, requires_grad, hooks[, state]
    _need(bool(args), "a parameter")
    data = args[0]
    if isinstance(data, View):
        return View(data.storage, data.dtype, data.offset, data.shape, data.stride, True)
    return data


def _qtensor(args: Args) -> object:  # storage, offset, size, stride, quantizer_params, ...
    _need(len(args) >= 5, "a quantised tensor")
    view = _view(args)
    params = args[4]
    tables = (
        [item for item in params if isinstance(item, View)] if isinstance(params, tuple) else []
    )
    if not tables:
        return view
    names = ("scales", "zero_points")
    return Compound("quantised", {"": view, **dict(zip(names, tables, strict=False))})


_SPARSE_PARTS = {
    "torch.sparse_coo": ("indices", "values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def _sparse(args: Args) -> object:  # layout, (indices ..., values, size[, is_coalesced])
    _need(len(args) == 2 and isinstance(args[1], tuple), "a sparse tensor")
    layout = args[0]
    data = args[1]
    names = _SPARSE_PARTS.get(layout) if isinstance(layout, str) else None
    if names is None or not isinstance(data, tuple):
        raise BadPickleArgumentsError("a sparse tensor's layout is unknown")
    return Compound("sparse", dict(zip(names, data, strict=False)))


def _nested(args: Args) -> object:  # buffer, sizes, strides, storage_offsets
    names = ("buffer", "sizes", "strides", "storage_offsets")
    return Compound("nested", dict(zip(names, args, strict=False)))


def _wrapper_subclass(args: Args) -> object:  # cls, dtype, size, stride, offset, layout, ...
    _need(len(args) >= 3, "a tensor subclass")
    cls = args[0]
    return Compound(cls.name if isinstance(cls, GlobalRef) else "subclass", {})


def _from_type(args: Args) -> object:  # func, type, args, state
    _need(len(args) == 4 and isinstance(args[2], tuple), "a tensor subclass")
    func, cls, inner, state = args
    if not isinstance(inner, tuple) or not isinstance(func, GlobalRef):
        raise BadPickleArgumentsError("a tensor subclass is built by something computed")
    builder = TENSOR_BUILDERS.get((func.module, func.name))
    if builder is None or builder is _from_type:
        return Inert(func, (*inner, state))
    base = builder(inner)
    if isinstance(base, Compound) and not base.parts:
        # A wrapper holds its real tensors as attributes: its state is a dict, or (dict, slots).
        attributes = state[0] if isinstance(state, tuple) and state else state
        parts = attributes if isinstance(attributes, dict) else {}
        return Compound(cls.name if isinstance(cls, GlobalRef) else base.kind, parts)
    return base


def _cpu_tensor(args: Args) -> object:  # data, dtype, device, requires_grad
    return args[0] if args else None


def _text(args: Args) -> object:  # torch.device("cpu"), _get_layout("torch.strided")
    return args[0] if args and isinstance(args[0], str) else ""


def _shape(args: Args) -> object:  # torch.Size((2, 3))
    return _sizes(args[0], "a shape") if args else ()


def _first(args: Args) -> object:
    return args[0] if args else None


def _inert_bytes(args: Args) -> object:  # _codecs.encode(text, "latin1"), bytearray(...)
    return Inert("bytes", args)


_U = "torch._utils"
TENSOR_BUILDERS: dict[tuple[str, str], Constructor] = {
    (_U, "_rebuild_tensor"): _tensor,
    (_U, "_rebuild_tensor_v2"): _tensor,
    (_U, "_rebuild_tensor_v3"): _tensor_v3,
    (_U, "_rebuild_parameter"): _parameter,
    (_U, "_rebuild_parameter_with_state"): _parameter,
    (_U, "_rebuild_qtensor"): _qtensor,
    (_U, "_rebuild_sparse_tensor"): _sparse,
    (_U, "_rebuild_nested_tensor"): _nested,
    (_U, "_rebuild_meta_tensor_no_storage"): _meta_tensor,
    (_U, "_rebuild_wrapper_subclass"): _wrapper_subclass,
    (_U, "_rebuild_device_tensor_from_cpu_tensor"): _cpu_tensor,
    (_U, "_rebuild_device_tensor_from_numpy"): _cpu_tensor,
    ("torch._tensor", "_rebuild_from_type_v2"): _from_type,
    ("torch.serialization", "_get_layout"): _text,
    ("torch", "Size"): _shape,
    ("torch", "device"): _text,
    ("builtins", "set"): _first,
    ("builtins", "complex"): _first,
    ("builtins", "bytearray"): _inert_bytes,
    ("_codecs", "encode"): _inert_bytes,
    # TorchScript's own pickler (torch/jit/_pickle.py); the value comes first.
    **{
        ("torch.jit._pickle", name): _first
        for name in (
            """build_intlist build_doublelist build_boollist build_tensorlist
            restore_type_tag""".split()
        )
    },
}

#: Names that stand for themselves: classes and constants that arguments refer to.
_PLAIN_NAMES = {
    ("collections", "OrderedDict"),
    ("collections", "Counter"),
    ("torch", "Tensor"),
    ("torch.nn.parameter", "Parameter"),
    ("torch", "Storage"),
    ("torch.storage", "UntypedStorage"),
    ("torch.storage", "TypedStorage"),
    ("torch.storage", "_UntypedStorage"),
    ("torch.storage", "_TypedStorage"),
    *(
        ("torch", name)
        for name in (
            """per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric
            per_channel_affine_float_qparams""".split()
        )
    ),
    *((module, name) for module in ("torch", "torch.cuda") for name in STORAGE_DTYPES),
    *(
        (module, name.replace("Storage", "Tensor"))
        for module in ("torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse")
        for name in STORAGE_DTYPES
    ),
}


def is_known(module: str, name: str) -> bool:
    """Whether a name only ever describes tensors or plain containers."""
    key = (module, name)
    if key in TENSOR_BUILDERS or key in _PLAIN_NAMES:
        return True
    return module == "torch" and torch_dtype(name) is not None


class StorageTable:
    """Answers persistent ids with storages and remembers each, in the order of appearance."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}
        self._copied = 0

    def persistent(self, identifier: object) -> object:
        """("storage", type, key, location, size[, view]), or ("module", class, file, source)."""
        if not isinstance(identifier, tuple) or not identifier:
            return Inert("persistent id", (identifier,))
        if identifier[0] == "module":
            return identifier[1] if len(identifier) > 1 else None
        if identifier[0] != "storage" or len(identifier) < 5:
            return Inert("persistent id", identifier)
        dtype = _storage_dtype(identifier[1])
        key = identifier[2]
        location = identifier[3]
        if type(key) is int:  # before PyTorch 0.4
            key = str(_size(key, "a storage's key"))
        if not isinstance(key, str):
            raise BadPickleArgumentsError("a storage's key is not text")
        size = _size(identifier[4], "a storage's size") * dtype.item_bytes
        device = location if isinstance(location, str) else ""
        storage = Storage(key, dtype, size, 0, device)
        known = self.storages.get(storage.key)
        if known is None or known.nbytes < size:
            self.storages[storage.key] = storage
        view = identifier[5] if len(identifier) > 5 else None
        if view is None:
            return storage
        _need(isinstance(view, tuple) and len(view) == 3, "a storage's view")
        _, offset, length = view if isinstance(view, tuple) else (0, 0, 0)
        base = _size(offset, "a storage's view") * dtype.item_bytes
        length = _size(length, "a storage's view") * dtype.item_bytes
        return Storage(storage.key, dtype, length, base, device)

    def ordered_dict(self, args: Args) -> object:
        """OrderedDict() or OrderedDict([(key, value), ...]): a dict, which keeps order anyway."""
        pairs = args[0] if args else []
        if isinstance(pairs, dict):
            return pairs
        _need(isinstance(pairs, (list, tuple)), "an OrderedDict")
        result: dict[object, object] = {}
        items: Any = pairs
        self._copied += len(items)
        _need(self._copied <= MAX_COPIED, "an OrderedDict of so many items")
        for pair in items:
            _need(isinstance(pair, (list, tuple)) and len(pair) == 2, "an OrderedDict's item")
            key, value = pair
            _need(isinstance(key, str), "an OrderedDict's key")
            result[key] = value
        return result

    def builders(self) -> dict[tuple[str, str], Callable[[Args], object]]:
        containers: dict[tuple[str, str], Constructor] = {
            ("collections", "OrderedDict"): self.ordered_dict,
            ("collections", "Counter"): self.ordered_dict,
        }
        return {**TENSOR_BUILDERS, **containers}


def _storage_dtype(kind: object) -> TorchDtype:
    """The element type of a storage class; untyped storages count bytes."""
    if isinstance(kind, GlobalRef):
        if kind.module == "torch.storage" and kind.name in ("UntypedStorage", "_UntypedStorage"):
            return TorchDtype("U8", 1)
        name = STORAGE_DTYPES.get(kind.name)
        known = torch_dtype(name) if name and kind.module in ("torch", "torch.cuda") else None
        if known is not None:
            return known
    raise BadPickleArgumentsError("a storage's type is not one of torch's")
