"""Which type ``llama-quantize`` gives to each tensor.

Rules of llama.cpp's src/llama-quant.cpp (``tensor_allows_quantization``, ``tensor_type_fallback``,
``llama_tensor_get_type``), commit 0c1e57098, read in November 2026, and compared tensor by tensor
with what that program prints (tests/sizing/record_gguf_types.py).

- Matrices whose name ends in ``weight`` are quantised; not norms, routers, positions, short
  convolutions and the other ones that ``_STAYS`` names: those keep the converter's type.
- The output head gets Q6_K (Q5_K next to the smallest kinds, Q8_0 where rows are no whole blocks
  and in Falcon), and so does the table of tokens where there is no head of its own.
- Tables ``_VALUES``, ``_DOWN`` and ``_OUTPUT`` raise (or lower) a few kinds of matrices, by the
  layer, by how many query heads share a key head, by the number of experts.
- Rows that are no whole blocks of 256 get a type with blocks of 32, then F16.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ...formats.gguf.ggml_types import GGML_TYPES_BY_NAME


class GgufTensor(NamedTuple):
    """A tensor of the file that the converter writes; ``shape`` is row-major, ``dtype`` is F32 for
    what the converter keeps in float32 and BF16 for the rest. ``made_of`` are the tensors of the
    checkpoint that are in it, none for what the converter adds."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    made_of: tuple[str, ...] = ()


class GgufModel(NamedTuple):
    """What the choice depends on: ``general.architecture``, ``block_count``, ``expert_count``
    (0 for none), query heads for each key head in layer 0 (0 where it has none), and whether
    llama.cpp calls it a 70B model."""

    architecture: str
    layers: int
    experts: int
    query_groups: int
    is_70b: bool
    tensors: tuple[GgufTensor, ...]


#: Parts of names of matrices that are never quantised.
_STAYS: Final = (
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
    *(
        f"time_mix_{name}.weight"
        for name in "first w0 w1 w2 v0 v1 v2 a0 a1 a2 g1 g2 decay_w1 decay_w2 lerp_fused".split()
    ),
)
_STAYS_WHOLE: Final = frozenset({"position_embd.weight", "token_types.weight"})
#: The same of one architecture.
_STAYS_IN: Final = {
    "glm5-next": tuple(
        """hc_ indexer.attn_q_b indexer.attn_k indexer.proj indexer_compressor_gate
        indexer_compressor_ape ssm_f_a.weight ssm_f_b.weight ssm_g_a.weight ssm_g_b.weight
        ssm_beta.weight attn_kv_a_mqa.weight attn_k_b.weight attn_v_b.weight""".split()
    )
}
_EIGHT_BITS_IN: Final = {"glm5-next": ("attn_q_a", "attn_q_b", "nextn.eh_proj")}

#: Parts of names -> what a matrix is for, in the order of being asked.
_PURPOSES: Final = (
    ("attn_qkv.weight", "values"),
    ("attn_kv_b.weight", "values"),
    ("attn_v.weight", "values"),
    ("attn_k.weight", "keys"),
    ("attn_q.weight", "queries"),
    ("attn_output.weight", "output"),
    ("ffn_up", "up"),
    ("ffn_gate", "gate"),
    ("ffn_down", "down"),
)
_TABLES: Final = frozenset({"token_embd.weight", "per_layer_token_embd.weight"})

#: Where rows are no whole blocks of 256: the type with blocks of 32.
_SMALLER: Final = {
    **dict.fromkeys(
        ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"), "IQ4_NL"
    ),
    **dict.fromkeys(("Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}

_WIDE: Final = frozenset({"F32", "F16", "BF16"})
_TINY: Final = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"})
_TINY_S: Final = frozenset({"IQ2_S", "IQ2_M"})
_HEAD_Q5: Final = _TINY | {"IQ3_XXS"}
#: The table of tokens next to a head of its own.
_TABLE_TYPES: Final = {
    **dict.fromkeys(("IQ2_XXS", "IQ2_XS", "IQ1_S", "IQ1_M"), "Q2_K"),
    **dict.fromkeys(("IQ2_S", "IQ2_M", "IQ3_XXS"), "IQ3_S"),
    "TQ1_0": "Q4_K",
    "TQ2_0": "Q4_K",
}
#: The attention's output where there are not 8 experts, and where there are.
_OUTPUT_TYPES: Final = {
    "Q2_K": "Q3_K",
    "IQ3_XXS": "IQ3_S",
    "Q3_K_M": "Q4_K",
    "Q3_K_L": "Q5_K",
    "IQ3_M": "Q4_K",
}
_OUTPUT_OF_8: Final = frozenset(
    """Q2_K IQ3_XS IQ3_XXS Q3_K_S Q3_K_M IQ4_NL Q4_K_S Q4_K_M IQ3_S IQ3_M IQ4_XS""".split()
)
_LAYER: Final = re.compile(r"blk\.(\d+)\.")
#: Recipes whose choice for values depends on how many query heads share a key head.
_BY_GROUPS: Final = frozenset(
    "Q2_K Q2_K_S IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ3_XXS IQ3_XS IQ3_S IQ4_NL IQ4_XS".split()
)


def refusal(model: GgufModel, recipe: str) -> str:
    """Why llama-quantize makes no such file of a model; empty where it does."""
    if model.layers or recipe not in _BY_GROUPS:
        return ""
    for tensor in model.tensors:
        if _purpose(tensor.name) == "values" and _is_quantised(model, tensor):
            return "llama-quantize stops at the attention of an --mmproj file: it looks for heads"
    return ""


def mixed(model: GgufModel, recipe: str, base: str, imatrix: bool) -> tuple[str, ...]:
    """The type of each of the model's tensors under a recipe of llama-quantize, ``base`` being the
    one that most get. ``imatrix``: an importance matrix is given."""
    if base in _WIDE:
        return tuple(base if _is_quantised(model, t) else t.dtype for t in model.tensors)
    chooser = _TypeChooser(model, recipe, base, imatrix)
    types = dict.fromkeys((tensor.name for tensor in model.tensors), "")
    for tensor in sorted(model.tensors, key=lambda one: _order(one.name)):
        if _is_quantised(model, tensor):
            types[tensor.name] = _fitting(chooser.type_of(tensor), tensor.shape[-1])
        else:
            types[tensor.name] = tensor.dtype
    return tuple(types[tensor.name] for tensor in model.tensors)


# All recipes look at the names of one model.
_for_each_recipe = lru_cache(maxsize=8192)


@_for_each_recipe
def _order(name: str) -> tuple[int, str]:
    """By layer, then by name: the order in which layers are counted."""
    match = _LAYER.match(name)
    return int(match[1]) if match else -1, name


def _is_quantised(model: GgufModel, tensor: GgufTensor) -> bool:
    name = tensor.name
    matrix = tuple(tensor.shape)
    while matrix and matrix[0] == 1:  # GGML does not count leading sizes of 1
        matrix = matrix[1:]
    if len(matrix) < 2 or not name.endswith("weight") or name in _STAYS_WHOLE:
        return False
    return not _stays(name, model.architecture)


@_for_each_recipe
def _stays(name: str, architecture: str) -> bool:
    return any(part in name for part in (*_STAYS, *_STAYS_IN.get(architecture, ())))


def _fitting(kind: str, columns: int) -> str:
    if not columns % GGML_TYPES_BY_NAME[kind].block:
        return kind
    smaller = _SMALLER.get(kind, kind)
    return "F16" if columns % GGML_TYPES_BY_NAME[smaller].block else smaller


def _gets_more(layer: int, layers: int) -> bool:
    """The first and the last eighth of the layers, and every third between them."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


class _TypeChooser:
    """The choice for one tensor after the other, in the order of ``_order``: some rules count the
    tensors of a kind that came before."""

    def __init__(self, model: GgufModel, recipe: str, base: str, imatrix: bool) -> None:
        self.model = model
        self.recipe = recipe
        self.base = base
        self.imatrix = imatrix
        names = [tensor.name for tensor in model.tensors]
        self._tied = "output.weight" not in names
        self._all_values = sum(_purpose(name) == "values" for name in names)
        self._seen: Counter[str] = Counter()
        self._shared = model.query_groups >= 4
        self._of_eight = model.experts == 8
        self._falcon = model.architecture == "falcon"

    def type_of(self, tensor: GgufTensor) -> str:
        """Before the fall-back for rows that are no whole blocks."""
        name = tensor.name
        purpose = _purpose(tensor.name)
        before = self._seen[purpose]
        self._seen[purpose] += 1
        if any(part in name for part in _EIGHT_BITS_IN.get(self.model.architecture, ())):
            return "Q8_0"
        if purpose == "head" or (purpose == "table" and self._tied):
            return self._head(tensor)
        if self.recipe == "MXFP4_MOE":
            return self._microscaled(tensor, purpose)
        if purpose == "table":
            return _TABLE_TYPES.get(self.recipe, self.base)
        if self.recipe in _TINY:
            return self._tiny(purpose, before)
        return self._usual(purpose, before, self._layer(before, name)) or self.base

    def _layer(self, before: int, name: str) -> int:
        """With experts the number in the name, else how many of the kind came before."""
        match = _LAYER.match(name) if self.model.experts > 1 else None
        return int(match[1]) if match else before

    def _head(self, tensor: GgufTensor) -> str:
        if self.recipe == "MXFP4_MOE":
            return "Q8_0"
        if self._falcon or tensor.shape[-1] % GGML_TYPES_BY_NAME[self.base].block:
            return "Q8_0"
        if self.recipe in _HEAD_Q5:
            return "Q5_K"
        return "Q8_0" if self.base == "Q8_0" else "Q6_K"

    def _microscaled(self, tensor: GgufTensor, purpose: str) -> str:
        stacked = len(tensor.shape) > 2 and tensor.shape[-3] > 1
        if self.model.architecture == "bailingmoe3":
            stacked = stacked and purpose in ("up", "gate", "down")
        return "MXFP4" if stacked else "Q8_0"

    def _tiny(self, purpose: str, before: int) -> str:
        """Recipes of one and two bits."""
        larger = "IQ3_S" if self.recipe in _TINY_S else "Q2_K"
        if purpose == "values":
            return "Q4_K" if self._shared or self.model.experts >= 4 else larger
        if purpose == "keys" and self._of_eight:
            return "Q4_K"
        if purpose == "down":
            return larger if before < self.model.layers // 8 else self.base
        if purpose == "output":
            if self._of_eight:
                return "Q5_K"
            if self.recipe in ("IQ1_S", "IQ1_M"):
                return "IQ2_XXS"
            return "IQ3_S" if self.recipe in _TINY_S else self.base
        return self.base

    def _usual(self, purpose: str, before: int, layer: int) -> str | None:
        """All other recipes; None for the type that most matrices get."""
        if purpose == "values":
            return self._value(before)
        if purpose == "keys" and self._of_eight:
            return "Q8_0"
        if purpose in ("keys", "queries"):
            return {"IQ3_XS": "IQ3_XXS", "IQ3_XXS": "IQ2_S"}.get(self.recipe)
        if purpose == "output":
            return self._output()
        if purpose == "down":
            return self._down(layer)
        if purpose in ("gate", "up") and self.recipe == "IQ3_XS":
            layers = self.model.layers
            return "IQ3_XXS" if layers // 8 <= layer < 7 * layers // 8 else None
        return None

    def _value(self, before: int) -> str:
        if self._of_eight:
            return "Q8_0"
        shared = self._shared
        more = _gets_more(before, self._all_values)
        dtype = {
            "Q2_K": "Q4_K" if shared else "Q3_K",
            "Q2_K_S": "Q4_K" if shared else None,
            "IQ3_XXS": "Q4_K" if shared else "IQ3_XXS" if self.imatrix else "IQ3_S",
            "IQ3_XS": "Q4_K" if shared else None,
            "IQ3_S": "Q4_K" if shared else None,
            "IQ3_M": "Q4_K",
            "Q3_K_M": "Q5_K" if before < 2 else "Q4_K",
            "Q3_K_L": "Q5_K",
            "IQ4_NL": "Q5_K" if shared else None,
            "IQ4_XS": "Q5_K" if shared else None,
            "Q4_K_M": "Q6_K" if more else None,
            "Q5_K_M": "Q6_K" if more else None,
            "Q4_K_S": "Q5_K" if before < 4 else None,
        }.get(self.recipe) or self.base
        return "Q5_K" if self.model.is_70b and dtype in ("Q3_K", "Q4_K") else dtype

    def _down(self, layer: int) -> str | None:
        layers = self.model.layers
        falcon = self._falcon
        first = layer < layers // 8
        more = _gets_more(layer, layers)
        beginning = layer < layers // 16
        if falcon and self.recipe == "Q4_K_M":
            return "Q6_K" if beginning else "Q5_K" if more else "Q4_K"
        return {
            "Q2_K": "Q3_K",
            "Q2_K_S": "Q4_K" if first else None,
            "IQ3_XXS": None if self.imatrix else "Q4_K" if first else "Q3_K",
            "Q3_K_M": "Q5_K" if beginning else "Q4_K" if more or not falcon else "Q3_K",
            "IQ3_M": "Q4_K" if first or (self._of_eight and more) else None,
            "Q3_K_L": "Q4_K" if falcon else "Q5_K",
            "Q4_K_M": "Q6_K" if more else None,
            "IQ4_NL": "Q5_K" if first and not self.imatrix else None,
            "IQ4_XS": "Q5_K" if first and not self.imatrix else None,
            "Q5_K_M": "Q6_K" if more else None,
            "Q4_K_S": "Q5_K" if first and not falcon else None,
            "Q4_0": "Q4_1" if first and self.imatrix else None,
            "Q5_0": "Q5_1" if first and self.imatrix else None,
        }.get(self.recipe)

    def _output(self) -> str | None:
        if self._falcon:
            return "Q4_K" if self.recipe == "Q3_K_L" else None
        if self._of_eight:
            return "Q5_K" if self.recipe in _OUTPUT_OF_8 else None
        return _OUTPUT_TYPES.get(self.recipe)


@_for_each_recipe
def _purpose(name: str) -> str:
    if name == "output.weight":
        return "head"
    if name in _TABLES:
        return "table"
    return next((purpose for part, purpose in _PURPOSES if part in name), "")


def stored_bytes(tensor: GgufTensor, kind: str) -> int:
    """Bytes of a tensor's data in a type, without padding."""
    return GGML_TYPES_BY_NAME[kind].stored_bytes(tensor.shape)


def padded(sizes: Sequence[int]) -> int:
    """The same in a file: every tensor is padded to 32 bytes (GGUF_DEFAULT_ALIGNMENT)."""
    return sum(-(-size // 32) * 32 for size in sizes)
