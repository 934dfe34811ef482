"""The names that llama.cpp gives to the tensors of the catalog's trees.

Source: gguf-py/gguf/tensor_mapping.py and the converters in convert_hf_to_gguf.py of llama.cpp. A
layer's modules are called alike across families, so one table serves nearly all of them; a module
that is not in it has no known name, and its tensors are not compared.
"""

import re

from ...core.tensor import TensorSpec

#: llama.cpp's name -> paths of the module inside a layer, as files on the Hub spell them.
_IN_A_LAYER = {
    "attn_norm": """input_layernorm ln_1 ln_mlp norm norm_1 operator_norm attention_layernorm
        ln1 attention_norm attn_norm norm_attn_norm.norm_1""",
    "attn_norm_2": "ln_attn",
    "attn_qkv": """attn.c_attn attn.Wqkv attn.qkv_proj norm_attn_norm.attn.Wqkv
        attention.query_key_value
        self_attention.query_key_value self_attn.qkv_proj self_attn.query_key_value
        self_attn.W_pack attention.wqkv linear_attn.in_proj_qkv""",
    "attn_q": """self_attn.q_proj attention.self.query attn.q_proj attn.attention.q_proj
        mixer.q_proj attention.q_lin""",
    "attn_k": """self_attn.k_proj attention.self.key attn.k_proj attn.attention.k_proj
        mixer.k_proj attention.k_lin""",
    "attn_v": """self_attn.v_proj attention.self.value attn.v_proj attn.attention.v_proj
        mixer.v_proj attention.v_lin""",
    "attn_output": """self_attn.o_proj self_attn.dense self_attn.out_proj self_attention.dense
        attention.dense attention.output.dense attention.wo attn.c_proj attn.out_proj
        attn.attention.out_proj mixer.o_proj attention.out_lin attn.Wo
        norm_attn_norm.attn.out_proj""",
    "attn_gate": "linear_attn.in_proj_z self_attn.gate_proj self_attn.g_proj",
    "attn_output_norm": "attention.output.LayerNorm sa_layer_norm norm_attn_norm.norm_2",
    "attn_q_norm": """self_attn.q_norm self_attn.q_layernorm self_attn.query_layernorm
        self_attn.q_layernorm.norms attn.q_norm""",
    "attn_k_norm": """self_attn.k_norm self_attn.k_layernorm self_attn.key_layernorm
        self_attn.k_layernorm.norms attn.k_norm""",
    "attn_q_a": "self_attn.q_a_proj",
    "attn_q_a_norm": "self_attn.q_a_layernorm",
    "attn_q_b": "self_attn.q_b_proj",
    "attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa",
    "attn_kv_a_norm": "self_attn.kv_a_layernorm",
    "attn_kv_b": "self_attn.kv_b_proj",
    "attn_sinks": "self_attn.sinks",
    "attn_sub_norm": "self_attn.attn_sub_norm",
    "post_attention_norm": "post_self_attn_layernorm",
    "ffn_norm": """post_attention_layernorm pre_feedforward_layernorm ln_2 norm_2 ffn_norm ln2
        feedforward_layernorm pre_ff_layernorm mlp_norm pre_mlp_layernorm""",
    "post_ffw_norm": "post_feedforward_layernorm post_mlp_layernorm",
    "layer_output_norm": "output.LayerNorm output_layer_norm",
    "ffn_gate": """mlp.gate_proj feed_forward.gate_proj feed_forward.w1 mlp.w2
        mlp.c_fc_0 mlp.c_fc2 block_sparse_moe.gate_proj""",
    "ffn_up": """mlp.up_proj mlp.gate_up_proj mlp.c_fc mlp.fc1 mlp.fc_in mlp.dense_h_to_4h
        mlp.c_fc_1 mlp.w1 ffn.up_proj feed_forward.up_proj feed_forward.w3 intermediate.dense
        mixer.up_proj ffn.lin1 mlp.Wi
        block_sparse_moe.up_proj""",
    "ffn_down": """mlp.down_proj mlp.c_proj mlp.fc2 mlp.fc_out mlp.dense_4h_to_h ffn.down_proj
        feed_forward.down_proj feed_forward.w2 output.dense mixer.down_proj ffn.lin2 mlp.Wo
        ffn.proj_2 block_sparse_moe.down_proj""",
    "ffn_sub_norm": "mlp.ffn_sub_norm",
    "ffn_gate_inp": """mlp.gate mlp.router block_sparse_moe.gate block_sparse_moe.router.layer
        mlp.gate.wg feed_forward.router mlp.router.gate feed_forward.gate mixer.gate router.proj
        ffn.router.layer""",
    "exp_probs_b": """mlp.gate.e_score_correction mlp.moe_statics.e_score_correction mlp.expert
        block_sparse_moe.e_score_correction feed_forward.expert mlp.experts.e_score_correction
        mixer.gate.e_score_correction mlp.e_score_correction
        block_sparse_moe.gate.e_score_correction""",
    "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
    "ffn_gate_exps": """mlp.experts.gate_proj block_sparse_moe.experts.w1
        feed_forward.experts.gate_proj feed_forward.experts.w1 ffn.experts.mlp.w1""",
    "ffn_up_exps": """mlp.experts.up_proj block_sparse_moe.experts.w3
        feed_forward.experts.up_proj feed_forward.experts.w3 mixer.experts.up_proj
        ffn.experts.mlp.v1""",
    "ffn_down_exps": """mlp.experts.down_proj block_sparse_moe.experts.w2
        block_sparse_moe.output_linear feed_forward.experts.down_proj feed_forward.experts.w2
        mixer.experts.down_proj experts.down_proj ffn.experts.mlp.w2""",
    "ffn_gate_up_exps": """mlp.experts.gate_up_proj block_sparse_moe.input_linear
        feed_forward.experts.gate_up_proj experts.gate_up_proj""",
    **{
        f"ffn_{kind}_shexp": f"""mlp.shared_expert.{kind}_proj mlp.shared_experts.{kind}_proj
            mlp.shared_mlp.{kind}_proj feed_forward.shared_expert.{kind}_proj
            mixer.shared_experts.{kind}_proj block_sparse_moe.shared_experts.{kind}_proj"""
        for kind in ("gate", "up", "down")
    },
    "indexer.attn_q_b": "self_attn.indexer.wq_b",
    "indexer.attn_k": "self_attn.indexer.wk",
    "indexer.k_norm": "self_attn.indexer.k_norm",
    "indexer.proj": "self_attn.indexer.weights_proj",
    "inp_gate": "per_layer_input_gate",
    "proj": "per_layer_projection",
    "post_norm": "post_per_layer_input_norm",
    "layer_output_scale": "layer_scalar",
    "altup_correct_scale": "altup.correct_output_scale",
    "altup_correct_coef": "altup.correction_coefs",
    "altup_predict_coef": "altup.prediction_coefs",
    "altup_router": "altup.modality_router",
    "altup_router_norm": "altup.router_norm",
    "laurel_l": "laurel.linear_left",
    "laurel_r": "laurel.linear_right",
    "laurel_post_norm": "laurel.post_laurel_norm",
    "ssm_in": "mixer.in_proj mamba.in_proj",
    "ssm_conv1d": "mixer.conv1d mamba.conv1d linear_attn.conv1d",
    "ssm_x": "mixer.x_proj mamba.x_proj",
    **{f"ssm_conv1d_{kind}": f"self_attn.{kind}_conv1d" for kind in "qkv"},
    **{f"ssm_{gate}": f"self_attn.{gate}_proj" for gate in ("f_a", "f_b", "g_a", "g_b")},
    "ssm_dt": "mixer.dt_proj mamba.dt_proj linear_attn.dt mixer.dt mamba.dt self_attn.dt",
    "ssm_a": "mixer.A_log mamba.A_log linear_attn.A_log self_attn.A_log",
    "ssm_d": "mixer.D mamba.D",
    "ssm_out": "mixer.out_proj mamba.out_proj linear_attn.out_proj",
    "ssm_norm": "linear_attn.norm mixer.norm mamba.norm self_attn.o_norm",
    "ssm_ba": "linear_attn.in_proj_ba",
    "ssm_alpha": "linear_attn.in_proj_a",
    "ssm_beta": "linear_attn.in_proj_b self_attn.b_proj",
    "ssm_dt_norm": "mamba.dt_layernorm",
    "ssm_b_norm": "mamba.b_layernorm",
    "ssm_c_norm": "mamba.c_layernorm",
    "shortconv.conv": "conv.conv",
    "shortconv.in_proj": "conv.in_proj",
    "shortconv.out_proj": "conv.out_proj",
}

#: The same outside the layers; wrappers before these paths are dropped.
_OUTSIDE = {
    "token_embd": """embed_tokens word_embeddings wte embed_in tok_embeddings
        token_embeddings embeddings.word_embeddings backbone.embeddings""",
    "position_embd": "wpe embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": """word_embeddings_layernorm embeddings.LayerNorm embedding_norm
        embeddings.norm""",
    "output_norm": "norm ln_f norm_f final_layernorm final_layer_norm final_norm",
    "per_layer_token_embd": "embed_tokens_per_layer",
    "per_layer_model_proj": "per_layer_model_projection",
    "per_layer_proj_norm": "per_layer_projection_norm",
    "altup_proj": "altup_projections",
    "altup_unembd_proj": "altup_unembed_projections",
    "output": "lm_head embed_out output output_layer",
}

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

_LAYER = {path: name for name, paths in _IN_A_LAYER.items() for path in paths.split()}
_TOP = {path: name for name, paths in _OUTSIDE.items() for path in paths.split()}
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
    own = _IN_T5.get(path)
    if path == "layer_norm":
        own = _T5_NORMS.get(part) or _T5_NORMS.get(side + part)
    return None if own is None else f"{side}.blk.{layer}.{own}.weight"


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
