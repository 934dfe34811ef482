"""Letters for quantities: H for the hidden size, V for the vocabulary, each only once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .polynomials import Quantity

#: Last part of a config key -> letter. The letters of the BERT paper (L, H, A) where it has one.
_LETTERS = {
    **dict.fromkeys(
        "hidden_size n_embd n_embed d_model dim embed_dim embedding_dim emb_dim width "
        "hidden_dim model_dim encoder_embed_dim".split(), "H",
    ),
    **dict.fromkeys("vocab_size n_vocab vocabulary_size".split(), "V"),
    **dict.fromkeys(
        "num_hidden_layers n_layer n_layers num_layers encoder_layers depth "
        "num_encoder_layers".split(), "L",
    ),
    **dict.fromkeys("decoder_layers num_decoder_layers".split(), "L_d"),
    **dict.fromkeys(
        "num_attention_heads n_head n_heads num_heads encoder_attention_heads".split(), "A"
    ),
    **dict.fromkeys(["decoder_attention_heads"], "A_d"),
    **dict.fromkeys("num_key_value_heads num_kv_heads n_head_kv kv_n_heads".split(), "G"),
    **dict.fromkeys("head_dim d_kv kv_channels attention_head_dim".split(), "d_k"),
    **dict.fromkeys(
        "intermediate_size ffn_dim n_inner d_ff ffn_hidden_size encoder_ffn_dim "
        "hidden_dim_ff mlp_dim".split(), "I",
    ),
    **dict.fromkeys(["decoder_ffn_dim"], "I_d"),
    **dict.fromkeys("moe_intermediate_size expert_intermediate_size".split(), "I_e"),
    **dict.fromkeys("shared_expert_intermediate_size".split(), "I_s"),
    **dict.fromkeys(
        "num_local_experts num_experts n_routed_experts moe_num_experts".split(), "E"
    ),
    **dict.fromkeys("n_shared_experts num_shared_experts moe_num_shared_experts".split(), "E_s"),
    **dict.fromkeys("num_experts_per_tok num_experts_per_token moe_k moe_top_k".split(), "K"),
    **dict.fromkeys(
        "max_position_embeddings n_positions n_ctx max_seq_len max_seq_length "
        "max_source_positions".split(), "P",
    ),
    **dict.fromkeys(["max_target_positions"], "P_d"),
    **dict.fromkeys("type_vocab_size".split(), "T"),
    **dict.fromkeys("num_labels n_labels".split(), "C"),
    "kv_lora_rank": "r_kv", "q_lora_rank": "r_q", "qk_nope_head_dim": "d_n",
    "qk_rope_head_dim": "d_r", "v_head_dim": "d_v", "embedding_size": "D",
    "relative_attention_num_buckets": "B", "patch_size": "p", "num_channels": "c",
    "image_size": "s", "num_mel_bins": "M", "state_size": "N", "conv_kernel": "k",
    "time_step_rank": "R", "patches_per_side": "n",
}  # fmt: skip

#: Sections of composite configs, as subscripts.
_SECTIONS = {"vision_config": "v", "text_config": "t", "audio_config": "a"}


def assign(quantities: Iterable[Quantity]) -> dict[Quantity, str]:
    """A letter for each quantity, in order of first appearance. No two share one."""
    wanted = list(dict.fromkeys(quantities))
    letters: dict[Quantity, str] = {}
    taken: set[str] = set()
    # Keys of the text model come first: they are what H and V mean to most readers.
    for quantity in sorted(wanted, key=_is_nested):
        letter = next(name for name in _candidates(quantity) if name not in taken)
        letters[quantity] = letter
        taken.add(letter)
    return {quantity: letters[quantity] for quantity in wanted}


def _is_nested(quantity: Quantity) -> bool:
    if quantity.name.startswith("layers "):
        return False
    return "." in quantity.name and not quantity.name.startswith("text_config.")


def _candidates(quantity: Quantity) -> Iterator[str]:
    """Letters from the usual to the certain to be free."""
    if quantity.name.startswith(
        ("layer ", "layers ")
    ):  # some of the layers, or a list that no key counts
        yield from _numbered("L", "", 1)
    *sections, last = quantity.name.split(".")
    key, index = _indexed(last)
    usual = _LETTERS.get(key)
    letter = usual or _initial(key)
    base, _, subscript = letter.partition("_")
    section = _SECTIONS.get(sections[0], _initial(sections[0]).lower()) if sections else ""
    if not index:
        yield letter
        if not usual and not section:
            yield letter.swapcase()
    yield _with(base, subscript + section + index)
    yield from _numbered(base, f"{subscript}{section}{index}{'x' if index else ''}", 2)


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
    """The first letter of the last word that has one, as a capital."""
    words = re.findall(r"[A-Za-z]+", text)
    return words[-1][0].upper() if words else "X"
