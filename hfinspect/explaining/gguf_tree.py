"""The modules of a GGUF file, with sizes that know the file's own keys.

A GGUF file has no config.json and names tensors as llama.cpp does. Its key-values give the sizes,
and its tensors give the shapes. ``_AXES`` says which sizes make which axis of which tensor. An axis
that no such product equals stays a plain number, so that the parts sum up to what the headers hold.

Source: gguf-py/gguf/constants.py (names of keys and tensors) and the shapes that src/models/*.cpp
of llama.cpp checks.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ..analysis.gguf.own_facts import gguf_facts
from ..core.components import Component, Role
from ..core.dims import Dim
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..trees.prediction import Prediction
from .derivation import Derivation
from .header_tree import tree_of_headers

#: What a size is called in configs -> what follows the architecture in the file's key. The names of
#: configs choose the letters and the words of a derivation, the keys stand in its table of symbols.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "hidden_size": ("embedding_length",),
    "num_hidden_layers": ("block_count",),
    "num_attention_heads": ("attention.head_count",),
    "num_key_value_heads": ("attention.head_count_kv",),
    "head_dim": ("attention.key_length_mla", "attention.key_length"),
    "v_head_dim": ("attention.value_length_mla", "attention.value_length"),
    "intermediate_size": ("feed_forward_length",),
    "max_position_embeddings": ("context_length",),
    "num_local_experts": ("expert_count",),
    "num_experts_per_tok": ("expert_used_count",),
    "n_shared_experts": ("expert_shared_count",),
    "moe_intermediate_size": ("expert_feed_forward_length",),
    "shared_expert_intermediate_size": ("expert_shared_feed_forward_length",),
    "q_lora_rank": ("attention.q_lora_rank",),
    "kv_lora_rank": ("attention.kv_lora_rank",),
    "qk_rope_head_dim": ("rope.dimension_count",),
    "ssm_inner_size": ("ssm.inner_size",),
    "ssm_state_size": ("ssm.state_size",),
    "time_step_rank": ("ssm.time_step_rank",),
    "conv_kernel": ("ssm.conv_kernel", "shortconv.l_cache"),
    "ssm_groups": ("ssm.group_count",),
}

#: Letters of ``_AXES``.
_LETTERS: Final[Mapping[str, str]] = {
    "L": "num_hidden_layers",
    "H": "hidden_size",
    "V": "vocab_size",
    "A": "num_attention_heads",
    "G": "num_key_value_heads",
    "k": "head_dim",
    "v": "v_head_dim",
    "I": "intermediate_size",
    "P": "max_position_embeddings",
    "E": "num_local_experts",
    "S": "n_shared_experts",
    "e": "moe_intermediate_size",
    "s": "shared_expert_intermediate_size",
    "q": "q_lora_rank",
    "c": "kv_lora_rank",
    "r": "qk_rope_head_dim",
    "d": "ssm_inner_size",
    "n": "ssm_state_size",
    "t": "time_step_rank",
    "w": "conv_kernel",
    "g": "ssm_groups",
}

#: Formulas of one axis; the first that has the axis's size is taken.
_Alternatives: TypeAlias = tuple[str, ...]
#: Tensor (without layer and ``.weight``) -> its axes, row-major. A bias has the first axis alone.
_AXES: Final[Mapping[str, tuple[_Alternatives, ...]]] = {
    "token_embd": (("V",), ("H",)),
    "output": (("V",), ("H",)),
    "position_embd": (("P",), ("H",)),
    "attn_q": (("A*k",), ("H",)),
    "attn_k": (("G*k",), ("H",)),
    "attn_v": (("G*v", "G*k"), ("H",)),
    "attn_qkv": (("A*k+2*G*k", "3*H"), ("H",)),
    "attn_output": (("H",), ("A*v", "A*k")),
    "attn_gate": (("A*v", "A*k"), ("H",)),
    "attn_sinks": (("A",),),
    "attn_q_norm": (("k", "H", "A*k"),),
    "attn_k_norm": (("k", "H", "G*k"),),
    "attn_q_a": (("q",), ("H",)),
    "attn_q_a_norm": (("q",),),
    "attn_q_b": (("A*k",), ("q",)),
    "attn_kv_a_mqa": (("c+r",), ("H",)),
    "attn_kv_a_norm": (("c",),),
    "attn_kv_b": (("A*k-A*r+A*v",), ("c",)),
    "attn_k_b": (("A",), ("c",), ("k-r",)),
    "attn_v_b": (("A",), ("v",), ("c",)),
    "ffn_gate": (("I",), ("H",)),
    "ffn_up": (("I", "2*I"), ("H",)),
    "ffn_down": (("H",), ("I",)),
    "ffn_gate_inp": (("E",), ("H",)),
    "ffn_gate_exps": (("E",), ("e", "I"), ("H",)),
    "ffn_up_exps": (("E",), ("e", "I"), ("H",)),
    "ffn_gate_up_exps": (("E",), ("2*e", "2*I"), ("H",)),
    "ffn_down_exps": (("E",), ("H",), ("e", "I")),
    "ffn_gate_inp_shexp": (("H",),),
    "ffn_gate_shexp": (("s", "S*e", "e"), ("H",)),
    "ffn_up_shexp": (("s", "S*e", "e"), ("H",)),
    "ffn_down_shexp": (("H",), ("s", "S*e", "e")),
    "exp_probs_b": (("E",),),
    "ssm_in": (("2*d",), ("H",)),
    "ssm_conv1d": (("d",), ("w",)),
    "ssm_x": (("t+2*n",), ("d",)),
    "ssm_dt": (("d",), ("t",)),
    "ssm_a": (("d",), ("n",)),
    "ssm_d": (("d",),),
    "ssm_out": (("H",), ("d",)),
    "ssm_norm": (("d", "n"),),
    "shortconv.conv": (("H",), ("w",)),
    "shortconv.in_proj": (("3*H",), ("H",)),
    "shortconv.out_proj": (("H",), ("H",)),
}
#: Projections of the attention -> what they do.
_KINDS: Final[Mapping[str, str]] = {
    "attn_q": "query",
    "attn_k": "key",
    "attn_v": "value",
    "attn_qkv": "qkv",
    "attn_q_a": "query_down",
    "attn_q_b": "query_up",
    "attn_kv_a_mqa": "kv_down",
    "attn_kv_b": "kv_up",
    "attn_k_b": "kv_up",
    "attn_v_b": "kv_up",
    "attn_output": "output",
}
_TERM: Final = re.compile(r"([+-]?)([^+-]+)")
_VECTOR: Final = (("H", "k"),)  # of a norm that the table does not name


def gguf_derivation(inspection: Inspection) -> Derivation | None:
    """The derivation of a GGUF file from its key-values and headers.

    None where it is no GGUF file of a model, or where not every tensor could be read and counted.
    """
    countable = inspection.holds_all_files and inspection.parameters is not None
    if inspection.format != "gguf" or not countable or not inspection.tensors:
        return None
    sizes = _DeclaredSizes(inspection)
    root = tree_of_headers(
        "GGUF",
        inspection,
        shape=lambda tensor: _shape(tensor, sizes),
        kind=lambda tensor: _KINDS.get(_module_of(tensor), tensor.kind),
        layers=sizes.at("L", None),
    )
    architecture = str(inspection.metadata.get("general.architecture") or "unknown")
    prediction = Prediction(architecture, architecture, root)
    return Derivation(prediction, sizes.config, of_headers=True, keys=sizes.keys)


class _DeclaredSizes:
    """Sizes of the key-values: ``config`` by their names in configs, ``keys`` by those in the
    file."""

    def __init__(self, inspection: Inspection) -> None:
        metadata = inspection.metadata
        architecture = metadata.get("general.architecture")
        self.config: dict[str, Any] = {}
        self.keys: dict[str, str] = {}
        self._lists: dict[str, list[Any]] = {}
        for name, keys in _KEYS.items():
            for key in (f"{architecture}.{ending}" for ending in keys):
                self._take(name, key, metadata.get(key))
        facts = gguf_facts(metadata)
        if facts.vocabulary is not None:
            self._take("vocab_size", facts.keys["vocabulary"], facts.vocabulary)
        self._derive()
        # What says how positions are encoded, in a config's words.
        if any(str(key).startswith(f"{architecture}.rope.") for key in metadata):
            self.config["rope_scaling"] = True
        if metadata.get(f"{architecture}.attention.max_alibi_bias"):
            self.config["alibi"] = True

    def _take(self, name: str, key: str, value: object) -> None:
        if name in self.config or name in self._lists:
            return
        if type(value) is int and value > 0:
            self.config[name] = value
            self.keys[name] = key
        elif isinstance(value, list):
            self._lists[name] = value

    def _derive(self) -> None:
        """What llama.cpp takes where the file has no such key: as many key and value heads as
        heads, and heads that share the width evenly."""
        heads = self.config.get("num_attention_heads")
        width = self.config.get("hidden_size")
        lists = self._lists
        if heads and "num_key_value_heads" not in {*self.config, *lists}:
            self._alias = {"num_key_value_heads": "num_attention_heads"}
        else:
            self._alias = {}
        self._head_dim = width // heads if heads and width and width % heads == 0 else None

    def at(self, letter: str, layer: int | None) -> int | None:
        """A size as a Dim that knows its key; a plain number where it differs by layer."""
        name = _LETTERS[letter]
        name = self._alias.get(name, name)
        if name in self.config:
            return Dim(self.config[name], name)
        if name in self._lists:
            values = self._lists[name]
            value = values[layer] if layer is not None and layer < len(values) else None
            return value if type(value) is int and value >= 0 else None
        if name in ("head_dim", "v_head_dim") and self._head_dim is not None:
            width = Dim(self.config["hidden_size"], "hidden_size")
            return width // Dim(self.config["num_attention_heads"], "num_attention_heads")
        return None

    def axis(self, size: int, alternatives: _Alternatives, layer: int | None) -> int:
        """The first alternative that has the size, as a Dim; the bare number where none has."""
        for text in alternatives:
            value = self._sum(text, layer)
            if value is not None and value == size:
                return value
        return size

    def _sum(self, text: str, layer: int | None) -> int | None:
        total: int | None = None
        for sign, term in _TERM.findall(text):
            product = self._product(term, layer)
            if product is None:
                return None
            if total is None:
                total = product
            else:
                total = total - product if sign == "-" else total + product
        return total

    def _product(self, text: str, layer: int | None) -> int | None:
        product: int | None = None
        for factor in text.split("*"):
            value = int(factor) if factor.isdecimal() else self.at(factor, layer)
            if value is None:
                return None
            product = value if product is None else product * value
        return product


def _module_of(tensor: TensorInfo) -> str:
    """``attn_q`` of ``blk.7.attn_q.weight``."""
    segments = tensor.name.split(".")
    if tensor.stack is not None:
        segments = segments[tensor.stack.count(".") + 2 :]
    return ".".join(segments[:-1] if segments[-1] in ("weight", "bias") else segments)


def _shape(tensor: TensorInfo, sizes: _DeclaredSizes) -> tuple[int, ...]:
    if tensor.role is Role.PARAMETER and tensor.parameters != tensor.elements:
        return (tensor.parameters or 0,)  # packed: what it stands for
    name = _module_of(tensor)
    axes = _AXES.get(name, _VECTOR if tensor.component is Component.NORM else ())
    if tensor.name.endswith(".bias") and name in _AXES:
        axes = axes[: len(tensor.shape)]
    if len(axes) != len(tensor.shape):
        return tensor.shape
    return tuple(
        sizes.axis(size, axis, tensor.layer) for size, axis in zip(tensor.shape, axes, strict=True)
    )
