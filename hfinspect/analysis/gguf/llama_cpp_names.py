"""The names that llama.cpp gives to the tensors of the catalog's trees.

Source: gguf-py/gguf/tensor_mapping.py and the converters in convert_hf_to_gguf.py of llama.cpp. A
layer's modules are called alike across families, so one table serves nearly all of them
(``llama_cpp_names.json``: name -> paths of the module inside a layer, or outside); a module that is
not in it has no known name, and its tensors are not compared.
"""

import re

from ...core import data_files
from ...core.tensor import TensorSpec

#: Where the norm after the attention is one of its own, not the one before the MLP.
_WITH_POST_NORM = frozenset(
    """gemma2 gemma3 gemma3n gemma4 gemma-embedding olmo2 exaone4 glm4moe gpt-oss seed_oss afmoe
    qwen3next qwen35 qwen35moe""".split()
)

#: What the converters leave out: the heads and poolers of encoders.
_LEFT_OUT = frozenset(
    """pooler cls qa_outputs classifier vocab_transform vocab_layer_norm vocab_projector""".split()
)
_ENCODERS = frozenset({"bert", "nomic-bert", "jina-bert-v2"})

#: llama.cpp's names without a suffix: tensors that are no module's weight.
_BARE = {"ssm_a", "ssm_d"}

#: One tensor -> those that other files of the same model have in its place.
PIECES = {
    "attn_qkv": ("attn_q", "attn_k", "attn_v"),
    "attn_kv_b": ("attn_k_b", "attn_v_b"),
    "ffn_gate_up_exps": ("ffn_gate_exps", "ffn_up_exps"),
}


def _by_path(table: str) -> dict[str, str]:
    """Path of a module, as files on the Hub spell it -> llama.cpp's name for it."""
    names: dict[str, str] = data_files.read(__package__, "llama_cpp_names.json")[table]
    return {path: name for name, paths in names.items() for path in paths.split()}


_LAYER = _by_path("in_a_layer")
#: The same outside the layers; wrappers before these paths are dropped.
_TOP = _by_path("outside")
_NUMBERED = re.compile(r"\.\d+(?=\.|$)")
_SINGLE_EXPERT = re.compile(r"(blk\.\d+\.ffn_(?:gate|up|down))\.\d+(\.weight|\.bias)")


def gguf_name(spec: TensorSpec, architecture: str) -> str | None:
    """The tensor of a GGUF file (``general.architecture`` as given) that holds this one, alone or
    with others; None if its name is not known."""
    if architecture in _T5_ARCHITECTURES:
        return _t5_name(spec.name)
    path, suffix = _path_and_suffix(spec)
    if spec.layer is None:
        segments = path.split(".")
        tails = (".".join(segments[start:]) for start in range(len(segments)))
        stem = next((_TOP[tail] for tail in tails if tail in _TOP), None)
        return None if stem is None else f"{stem}{suffix}"
    stem = _LAYER.get(path)
    if stem is None:
        return None
    if path == "post_attention_layernorm" and architecture in _WITH_POST_NORM:
        stem = "post_attention_norm"
    return f"blk.{spec.layer}.{stem}" + ("" if stem in _BARE else suffix)


#: T5 and its encoder alone, whose layers have numbered parts: 0 is the attention, 1 the cross
#: attention of the decoder, the last the MLP.
_T5_ARCHITECTURES = frozenset({"t5", "t5encoder"})
_T5_LAYER = re.compile(r"(enc|dec)oder\.block\.(\d+)\.layer\.(\d)\.([\w.]+)\.weight")
_IN_T5 = {
    **{f"SelfAttention.{kind}": f"attn_{kind}" for kind in "qkvo"},
    **{f"EncDecAttention.{kind}": f"cross_attn_{kind}" for kind in "qkvo"},
    "SelfAttention.relative_attention_bias": "attn_rel_b",
    "DenseReluDense.wi": "ffn_up",
    "DenseReluDense.wi_0": "ffn_gate",
    "DenseReluDense.wi_1": "ffn_up",
    "DenseReluDense.wo": "ffn_down",
}
_T5_NORMS = {"0": "attn_norm", "enc1": "ffn_norm", "dec1": "cross_attn_norm", "dec2": "ffn_norm"}
_OUTSIDE_T5 = {
    "shared.weight": "token_embd.weight",
    "encoder.embed_tokens.weight": "token_embd.weight",
    "decoder.embed_tokens.weight": "token_embd.weight",
    "encoder.final_layer_norm.weight": "enc.output_norm.weight",
    "decoder.final_layer_norm.weight": "dec.output_norm.weight",
    "lm_head.weight": "output.weight",
}


def _t5_name(name: str) -> str | None:
    match = _T5_LAYER.fullmatch(name)
    if match is None:
        return _OUTSIDE_T5.get(name)
    side, layer, part, path = match.groups()
    stem = _IN_T5.get(path)
    if path == "layer_norm":
        stem = _T5_NORMS.get(part) or _T5_NORMS.get(side + part)
    return None if stem is None else f"{side}.blk.{layer}.{stem}.weight"


def is_left_out(spec: TensorSpec, architecture: str) -> bool:
    """Whether the converters drop a tensor, so that its absence says nothing."""
    segments = spec.name.split(".")[:2]
    if architecture in _ENCODERS and segments[0] == "lm_head":
        return True
    if architecture == "openelm":  # its classifier is the head, which no GGUF file has apart
        return False
    if architecture == "jais" and "relative_pe" in segments:  # a key-value
        return True
    return not _LEFT_OUT.isdisjoint(segments)


def merged_expert(name: str) -> str:
    """``blk.0.ffn_up.7.weight``, as files of 2023 have it -> ``blk.0.ffn_up_exps.weight``."""
    return _SINGLE_EXPERT.sub(r"\1_exps\2", name)


def _path_and_suffix(spec: TensorSpec) -> tuple[str, str]:
    """The module's path below its layer, its numbers left out; and ``.weight`` or ``.bias``."""
    name = spec.name
    if spec.layer is not None and spec.stack is not None:
        name = name.removeprefix(f"{spec.stack}.{spec.layer}.")
    path, dot, last = name.rpartition(".")
    if last in ("weight", "bias") and dot:
        return _NUMBERED.sub("", path), f".{last}"
    if last.endswith("_bias"):
        return _NUMBERED.sub("", name.removesuffix("_bias")), ".bias"
    return _NUMBERED.sub("", name), ".weight"
