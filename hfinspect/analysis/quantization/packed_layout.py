"""What a method makes of one module: the tensors that stand in place of its weight."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

from ...core.components import Role
from ...core.records import dataclass
from ...core.tensor import Packed
from ...trees.modules import Parameter
from .decoding import Holds
from .selection import Selection


class UndeterminedError(Exception):
    """The config does not say how the weights lie in the files; the text is the reason."""


class Linear(NamedTuple):
    """A module that is to be packed: a matrix of ``out`` by ``inputs``. ``module`` is its class
    (``Conv1D`` keeps its weight transposed, ``Embedding`` has a row for each token), ``dtype`` the
    config's; ``is_expert`` whether it is one of many experts."""

    out: int
    inputs: int
    module: str = "Linear"
    has_bias: bool = False
    dtype: str | None = None
    is_expert: bool = False

    @property
    def parameters(self) -> int:
        """Of the weight."""
        return self.out * self.inputs


#: Tensors by the last part of their names.
PackedTensors = Mapping[str, Parameter]
#: Raises UndeterminedError.
#: None leaves the module as it is.
Scheme = Callable[[Linear], "PackedTensors | None"]


class Fused(NamedTuple):
    """A tensor with the weights of all experts: its last name and shape, by name the shapes of all
    tensors of its module (itself included), and the class and the name of that module."""

    name: str
    shape: tuple[int, ...]
    siblings: Mapping[str, tuple[int, ...]]
    module: str
    module_name: str


#: Raises UndeterminedError. A piece called ``../experts.x`` is ``experts.x`` next to the module.
FusedScheme = Callable[[Fused], PackedTensors]
#: Tensors for all of so many experts together, next to what each expert has.
JoinedScheme = Callable[[int], PackedTensors]

#: The label of modules that stay as they are.
KEEP = "keep"

#: The class that is a Linear and nothing else, and with it those that are made from it.
LINEAR = frozenset({"Linear"})
LINEARS = LINEAR | {"DeepseekV4GroupedLinear", "FalconLinear", "NonDynamicallyQuantizableLinear"}
CONV1D = frozenset({"Conv1D"})


@dataclass(frozen=True)
class PackedPlan:
    """How a config says that a model is packed.

    ``selection`` gives modules the label ``KEEP`` or a scheme of their own; the others have
    ``scheme`` if they are of one of the ``classes``, but not a module outside the language model's
    layers nor an output head (if ``layers_only``; ``outside`` is then a reason why what is outside
    is not known, if there is anything), and an embedding only if ``embeddings``. ``fused`` packs
    experts that are one tensor, ``joined`` adds to a list of experts. ``dtype`` is that of all
    other tensors where config.json names none; ``floats`` is what the tool casts
    tensors to that the architecture keeps in float32, ``biases`` what it casts the biases of what
    it packs to.
    ``cache_scales`` are the modules with the scales of the KV cache: ``projections``,
    ``attention`` or none.
    """

    scheme: Scheme | None
    selection: Selection = field(default_factory=Selection)
    classes: frozenset[str] = LINEARS | CONV1D
    layers_only: bool = False
    outside: str = ""
    embeddings: bool = False
    fused: FusedScheme | None = None
    joined: JoinedScheme | None = None
    dtype: str | None = None
    floats: str | None = None
    biases: str | None = None
    cache_scales: str = ""


def weights(
    dtype: str | None, shape: tuple[int, ...], parameters: int, bits: int | None, scheme: str
) -> Parameter:
    """The packed weight itself."""
    packed = Packed(parameters, Holds.WEIGHTS.value, bits, scheme)
    return Parameter(shape, dtype=dtype, packed=packed)


def scales(dtype: str | None, *shape: int) -> Parameter:
    """Factors; ``dtype`` None is the model's own."""
    return _aside(dtype, shape, Holds.SCALES)


def zero_points(dtype: str | None, *shape: int) -> Parameter:
    return _aside(dtype, shape, Holds.ZERO_POINTS)


def table(dtype: str | None, *shape: int, varies: int = 0) -> Parameter:
    """What is neither: an order, a shape, a map. ``varies``: it may be so many bytes longer."""
    return _aside(dtype, shape, Holds.TABLES, varies)


def _aside(dtype: str | None, shape: tuple[int, ...], holds: Holds, varies: int = 0) -> Parameter:
    packed = Packed(0, holds.value, varies=varies)
    return Parameter(shape, Role.QUANTIZATION, dtype, packed=packed)


def parts(size: int, by: int) -> int:
    """``size`` divided into groups of ``by``, the last one perhaps smaller."""
    return -(-size // by)


def exact(size: int, by: int, what: str) -> int:
    """``size / by``; raises UndeterminedError where that is no whole number."""
    if by <= 0 or size % by:
        raise UndeterminedError(f"{what} {size:,} does not divide by {by:,}")
    return size // by
