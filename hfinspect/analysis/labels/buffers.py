"""Which tensors hold no parameters: what a name and its neighbours show.

A file does not say which of its tensors a model trains. Tables of rotation, masks, counters and
running statistics have names of their own; a frozen batch norm is known by the counter that it
lacks.  That nothing else is taken for a buffer is tested on every class of transformers
(``tests/analysis/test_real_modules.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

#: Last segments that hold no parameters, each seen in files on the Hub or in what transformers
#: saves.
_LEAVES = frozenset(
    """inv_freq masked_bias position_ids token_type_ids running_mean running_var
    num_batches_tracked cos_cached sin_cached relative_position_index relative_coords_table
    causal_mask attention_mask embed_positions_sinusoid original_inv_freq rope_freqs mask
    dft_mat_seq dft_mat_hidden codebook_used pos_idx_to_embed summary_idxs boundaries
    freqs frequencies phases inv_timescales
    _float_tensor""".split()
    # What a router adds to its scores, moved by a rule and not by a gradient; fixed choices.
    + "e_score_correction_bias router_bias expert_bias balancing_biases tid2eid".split()
    # Codebooks that follow a running mean of what they code.
    + "inited initialized cluster_size cluster_usage embed_avg embed_sum".split()
    # Quantisation while training (I-BERT) and ranges that activations are cut to.
    + """weight_integer bias_integer fc_scaling_factor weight_scaling_factor act_scaling_factor
    x_min x_max input_min input_max output_min output_max""".split()
    # Statistics of a data set.
    + """global_mean global_invstd emb_mean emb_std norm_mean norm_std latent_mean latent_std
    data_mean data_std mel_basis hann_window forward_basis inverse_basis
    std_scale std_bias latent_stats_num_updates""".split()
    # Constants that a module keeps: a head's bias that is zero, lightning attention's decay, how
    # many points a deformable attention looks at, Gemma 4's factor of a layer, weights of a loss,
    # which token an amino acid is.
    + """af2_to_esm final_logits_bias zero_k_bias diagonal_decay key_decay query_decay slope_rate
    num_points_scale n_points_scale layer_scalar empty_weight attn_mask_probs""".split()
)

#: Last segments that are buffers in some modules only, by the module's name.
_IN_MODULES = {
    "codebook": {"embed"},
    "act_fn": {"beta", "eps"},  # xIELU's, whose alphas are parameters
    "layernorm": {"shift"},  # I-BERT's
    "rotary_emb": {"alpha"},
    "lerope": {"alpha"},
    "embed_positions": {"weights"},  # FSMT's sines
    "pos_embed": {"pos_embed"},
    "patch_embed": {"pos_embedding"},
    "vocoder": {"mean", "scale"},
    "downsample": {"filter"},  # of waves, against aliasing
    "upsample": {"filter"},
    "shared_image_embedding": {"positional_embedding"},  # Segment Anything's random frequencies
    "shared_embedding": {"positional_embedding"},
}

#: Modules of GGUF whose one tensor is a buffer: rope_freqs.weight, exp_probs_b.bias.
_GGUF_MODULES = frozenset({"rope_freqs", "rope_factors_long", "rope_factors_short", "exp_probs_b"})

#: Dtypes of no parameter: indexes, counters and masks. Narrower integers may be packed weights.
BUFFER_DTYPES = frozenset({"I64", "BOOL"})


def is_buffer(words: Sequence[str], *, is_frozen: bool, is_routing: bool) -> bool:
    """Of a name's lower-case segments. ``is_frozen``: the module has running statistics and does
    not count its batches, or the tensor is a table of sines; ``is_routing``: it stands next to
    experts."""
    leaf, module = words[-1], words[-2] if len(words) > 1 else ""
    if leaf in _LEAVES or module in _GGUF_MODULES or leaf in _IN_MODULES.get(module, ()):
        return True
    if is_frozen:
        return True
    # DeepSeek's files name the correction so: a router's matrix has no bias.
    return is_routing and module == "gate" and leaf == "bias"
