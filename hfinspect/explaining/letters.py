"""Letters for quantities: H for the hidden size, V for the vocabulary; each for one thing alone."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .polynomials import Quantity


class _Usual(NamedTuple):
    """A letter, what it stands for, and the last parts of config keys that mean this."""

    letter: str
    meaning: str
    keys: tuple[str, ...]


#: The letters of the BERT paper (L, H, A) where it has one. A capital stands for nothing else in
#: any model; ``d`` is a width, ``n`` a number of something, ``c`` channels, ``s`` a size, ``r`` a
#: rank, ``x`` anything else.
_USUAL = (
    _Usual(
        "H",
        "width of the model",
        (
            "hidden_size",
            "n_embd",
            "n_embed",
            "d_model",
            "dim",
            "embed_dim",
            "embedding_dim",
            "emb_dim",
            "width",
            "hidden_dim",
            "model_dim",
            "encoder_embed_dim",
        ),
    ),
    _Usual("H_e", "width of the embedding", ("embedding_size",)),
    _Usual("V", "size of the vocabulary", ("vocab_size", "n_vocab", "vocabulary_size")),
    _Usual(
        "L",
        "layers",
        (
            "num_hidden_layers",
            "n_layer",
            "n_layers",
            "num_layers",
            "encoder_layers",
            "depth",
            "num_encoder_layers",
        ),
    ),
    _Usual("L_d", "layers of the decoder", ("decoder_layers", "num_decoder_layers")),
    _Usual(
        "A",
        "attention heads",
        ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"),
    ),
    _Usual("A_d", "attention heads of the decoder", ("decoder_attention_heads",)),
    _Usual(
        "G",
        "key and value heads",
        ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "multi_query_group_num"),
    ),
    _Usual("d_k", "width of a head", ("head_dim", "d_kv", "kv_channels", "attention_head_dim")),
    _Usual(
        "I",
        "inner width of the MLP",
        (
            "intermediate_size",
            "ffn_dim",
            "n_inner",
            "d_ff",
            "ffn_hidden_size",
            "encoder_ffn_dim",
            "hidden_dim_ff",
            "mlp_dim",
        ),
    ),
    _Usual("I_d", "inner width of the decoder's MLP", ("decoder_ffn_dim",)),
    _Usual(
        "I_e", "inner width of an expert", ("moe_intermediate_size", "expert_intermediate_size")
    ),
    _Usual(
        "I_s",
        "inner width of the shared expert",
        ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
    ),
    _Usual(
        "E",
        "experts per layer",
        ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    ),
    _Usual(
        "E_s",
        "shared experts",
        ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    ),
    _Usual(
        "K",
        "experts per token",
        ("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_top_k"),
    ),
    _Usual(
        "P",
        "positions",
        (
            "max_position_embeddings",
            "n_positions",
            "n_ctx",
            "max_seq_len",
            "max_seq_length",
            "max_source_positions",
        ),
    ),
    _Usual("P_d", "positions of the decoder", ("max_target_positions",)),
    _Usual("T", "token types", ("type_vocab_size",)),
    _Usual("W", "tokens of the sliding window", ("sliding_window", "attention_chunk_size")),
    _Usual("B", "buckets of relative positions", ("relative_attention_num_buckets",)),
    _Usual("M", "mel bands", ("num_mel_bins",)),
    _Usual("r", "rank of the adapter", ("r",)),
    _Usual("r_kv", "rank of the latent of keys and values", ("kv_lora_rank",)),
    _Usual("r_q", "rank of the latent of queries", ("q_lora_rank",)),
    _Usual("r_t", "rank of the time step", ("time_step_rank",)),
    _Usual("d_n", "width of a head without position", ("qk_nope_head_dim",)),
    _Usual("d_r", "width of a head with rotary position", ("qk_rope_head_dim",)),
    _Usual("d_v", "width of a head's value", ("v_head_dim",)),
    _Usual(
        "d_s", "width of the state", ("state_size", "ssm_state_size", "d_state", "mamba_d_state")
    ),
    _Usual("n_l", "labels", ("num_labels", "n_labels")),
    _Usual("n_p", "patches per side", ("patches_per_side",)),
    _Usual("c", "channels", ("num_channels",)),
    _Usual("c_in", "channels of the input", ("in_channels",)),
    _Usual("c_out", "channels of the output", ("out_channels",)),
    _Usual("c_b", "channels of a block", ("block_out_channels",)),
    _Usual("s_p", "side of a patch", ("patch_size",)),
    _Usual("s_i", "side of the image", ("image_size",)),
    _Usual("s_k", "length of the convolution's kernel", ("conv_kernel", "d_conv", "mamba_d_conv")),
)
_BY_KEY = {key: usual for usual in _USUAL for key in usual.keys}

#: Sections of composite configs, as subscripts.
_SECTIONS = {"vision_config": "v", "text_config": "t", "audio_config": "a"}
#: Words of other keys: which letter they call for, and which say no more than the letter does.
_NUMBERS = frozenset({"num", "n", "number"})
_WIDTHS = frozenset({"dim", "dims", "size", "width", "hidden", "rank", "d"})
_CHANNELS = frozenset({"channel", "channels"})
#: A config key; other names are expressions of several.
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*(\[[0-9]+\])?")


def assign(quantities: Iterable[Quantity]) -> dict[Quantity, str]:
    """A letter for each quantity, in order of first appearance. No two share one, whatever case
    it is in."""
    distinct = list(dict.fromkeys(quantities))
    letters: dict[Quantity, str] = {}
    used: set[str] = set()
    # Keys of the text model come first: they are what H and V mean to most readers.
    for quantity in sorted(distinct, key=_is_nested):
        letter = next(name for name in _candidates(quantity) if name.lower() not in used)
        letters[quantity] = letter
        used.add(letter.lower())
    return {quantity: letters[quantity] for quantity in distinct}


def meaning_of(quantity: Quantity) -> str:
    """What a quantity stands for, in words: ``width of the model``, ``vision: layers``."""
    if _are_layers(quantity):
        return quantity.definition or quantity.name
    if not _KEY.fullmatch(quantity.name):
        return quantity.name
    *sections, last = quantity.name.split(".")
    key, index = _indexed(last)
    usual = _BY_KEY.get(key)
    text = usual.meaning if usual else _in_words(key)
    if index:
        text += f", entry {index}"
    section = _section_words(sections)
    return f"{section}: {text}" if section else text


def _section_words(sections: list[str]) -> str:
    words = [section.removesuffix("_config").replace("_", " ") for section in sections]
    return " ".join(word for word in words if word not in ("text", ""))


def _in_words(key: str) -> str:
    """``num_value_heads`` -> ``number of value heads``."""
    words = re.findall(r"[A-Za-z0-9]+", key)
    rest = [word for word in words if word not in _NUMBERS]
    if len(rest) < len(words):
        return f"number of {' '.join(rest)}"
    return " ".join(words) or "a number"


def _are_layers(quantity: Quantity) -> bool:
    """Some of the layers, or a list that no key counts."""
    return quantity.name.startswith(("layer ", "layers "))


def _is_nested(quantity: Quantity) -> bool:
    if quantity.name.startswith("layers "):
        return False
    return "." in quantity.name and not quantity.name.startswith("text_config.")


def _candidates(quantity: Quantity) -> Iterator[str]:
    """Letters from the usual to the certain to be free."""
    if _are_layers(quantity):
        yield from _numbered("L", "", 1)
    if not _KEY.fullmatch(quantity.name):
        yield from _numbered("x", "", 1)
    *sections, last = quantity.name.split(".")
    key, index = _indexed(last)
    usual = _BY_KEY.get(key)
    letter = usual.letter if usual else _coined(key)
    base, _, subscript = letter.partition("_")
    section = _SECTIONS.get(sections[0], _initial(sections[0])) if sections else ""
    if not index:
        yield letter
    yield _with(base, subscript + section + index)
    yield from _numbered(base, f"{subscript}{section}{index}{'x' if index else ''}", 2)


def _coined(key: str) -> str:
    """A letter for a key without a usual one: ``n_vh`` for ``num_value_heads``, a number;
    ``d_ih`` for ``index_head_dim``, a width; ``x_mr`` for ``mlp_ratio``."""
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", key)] or ["x"]
    kinds = (("n", _NUMBERS), ("c", _CHANNELS), ("d", _WIDTHS))
    base = next((letter for letter, some in kinds if some & set(words)), "x")
    dull = _NUMBERS | _WIDTHS | _CHANNELS
    telling = [word for word in words if word not in dull] or words
    return f"{base}_{''.join(word[0] for word in telling[:4])}"


def _numbered(base: str, subscript: str, number: int) -> Iterator[str]:
    while True:
        yield f"{base}_{subscript}{number}"
        number += 1


def _with(base: str, subscript: str) -> str:
    return f"{base}_{subscript}" if subscript else base


def _indexed(key: str) -> tuple[str, str]:
    """``conv_dim[3]`` -> (``conv_dim``, ``3``)."""
    match = re.fullmatch(r"(.*)\[([0-9]+)\]", key)
    return (match[1], match[2]) if match else (key, "")


def _initial(text: str) -> str:
    """The first letter of the last word that has one."""
    words = re.findall(r"[A-Za-z]+", text)
    return words[-1][0].lower() if words else "x"
