"""What a tensor's name says of itself, for models that the catalog doesn't know.

Whole name segments are looked up in one table, from the last to the first; the first that is known
decides, and ``other`` is an honest answer.  Nothing is matched by substring or regular expression.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..core.components import Component, Role

_E, _A, _M, _N, _H = (
    Component.EMBEDDING, Component.ATTENTION, Component.MLP, Component.NORM, Component.HEAD,
)  # fmt: skip
_R, _S, _C, _P = Component.ROUTER, Component.SSM, Component.CONV, Component.PROJECTOR

_WORDS: dict[Component, str] = {
    _E: """embed_tokens wte wpe tok_embeddings token_embd word_embeddings word_embedding shared
        embeddings embedding embed embed_in embed_positions position_embeddings position_embedding
        token_type_embeddings token_type_embd position_embd position_embeddings_layer pos_embed
        patch_embed patch_embedding patch_embeddings tokens_embed positions_embed wpe wte
        embed_out_tokens cls_token class_embedding mask_token distillation_token time_embedding
        time_embed time_text_embed add_embedding positional_embedding pos_embedding w word_emb
        class_embed_tokens x_embedder embed_tokens_per_layer position_embeds
        token_embedding mask_emb r_w_bias_embedding entity_embeddings x_position_embeddings
        y_position_embeddings h_position_embeddings w_position_embeddings lang_embeddings
        position_embedding_type code_embed feature_projection masked_spec_embed project_in
        project_out
        embeddings_project embedding_hidden_mapping_in segment_embedding input_embedding
        per_layer_model_projection per_layer_input_gate position_embedding_table
        patch_embedder img_temporal_embedding positional_embedding_vlm patch_conv img_in
        time_proj
        token_types per_layer_token_embd class_embd patch_embd pos_embd img_break boi eoi
        image_begin image_end image_newline view_seperator pos_embd_k soft_emb
        char_embeddings input_embeds_layer position_embeds_layer""",
    _A: """self_attn self_attention attn attention selfattention encdecattention cross_attn
        crossattention cross_attention encoder_attn attn1 attn2 multi_head_attention mha
        attentions q_proj k_proj v_proj o_proj qkv_proj qkv q_lin k_lin v_lin out_lin c_attn
        query key value query_key_value wqkv wq wk wv w_pack to_q to_k to_v to_out
        q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj in_proj_weight in_proj_bias rel_attn
        attn_q attn_k attn_v attn_qkv attn_output attn_kv_a_mqa attn_kv_b attn_q_a attn_q_b
        attn_k_b attn_v_b sinks attn_sinks relative_attention_bias add_q_proj add_k_proj
        add_v_proj to_add_out r_w_bias r_r_bias r_s_bias seg_embed self_attn_output indexer
        multi_head_attn image_attn
        self_att transientglobalselfattention localselfattention rel_pos_bias
        rel_pos_x_bias rel_pos_y_bias rel_embeddings project_q project_k project_v
        attn_rot_embd attn_gate cross_attn_q cross_attn_k cross_attn_v cross_attn_o attn_o
        attn_rel_b cross_attn_rel_b attn_out vis_attn_qkv vis_attn_output attn_k_rel
        attn_rel_pos_emb self_attn_q self_attn_k self_attn_v self_attn_out cross_attn_out
        per_dim_scale per_dim_k_scale linear_pos pos_bias_u pos_bias_v pos_h pos_w attn_kv
        attn_compressor
        v_head""",
    _M: """mlp ffn feed_forward feedforward dense_h_to_4h dense_4h_to_h fc1 fc2 lin1 lin2
        gate_proj up_proj down_proj gate_up_proj c_fc densereludense intermediate w1 w2 w3
        ffn_up ffn_gate ffn_down ffn_up_exps ffn_gate_exps ffn_down_exps ffn_gate_up_exps
        ffn_up_shexp ffn_gate_shexp ffn_down_shexp experts shared_expert shared_experts
        block_sparse_moe moe ff ff_context wi wi_0 wi_1 shared_mlp ffn_output channel_mixing
        expert feed_forward_chunk mlp_block linear_fc1 linear_fc2 proj_mlp ff_layer
        full_layer full_layer_layer_norm_ffn gate_up_proj_blocks gate_up_proj_scales
        ffn1 ffn2 output_dense intermediate_dense adapter_layer ffw_layer_start
        ffw_layer_end ffw_layer_1 ffw_layer_2 feed_forward1 feed_forward2 txt_mlp img_mlp
        intermediate_ffn fc1_latent_proj fc2_latent_proj
        ffn_gate_chexps ffn_down_chexps ffn_up_chexps ffn_latent_down ffn_latent_up vis_gate
        vis_down vis_up ffn_up_1 ffn_gate_1 ffn_down_1 inp_gate laurel_l laurel_r
        channel_mix_key channel_mix_receptance channel_mix_value channel_mix_lerp_k
        channel_mix_lerp_r altup_proj altup_unembd_proj altup_correct_coef altup_correct_scale
        altup_predict_coef""",
    _R: """router ffn_gate_inp ffn_gate_inp_shexp shared_expert_gate gate_moe exp_probs_b
        e_score_correction_bias
        modality_router router_gate expert_bias
        altup_router""",
    _S: """mixer ssm mamba a_log d dt_proj x_proj dt_bias ssm_in ssm_out ssm_conv1d ssm_dt ssm_a
        ssm_d ssm_x linear_attn time_mixing recurrent_block rglru time_mix short_conv
        temporal_block rg_lru
        ssm_alpha ssm_ba ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_f_b ssm_beta ssm_g_a
        ssm_g_b time_mix_w0 time_mix_w1 time_mix_w2 time_mix_a0 time_mix_a1 time_mix_a2
        time_mix_v0 time_mix_v1 time_mix_v2 time_mix_g1 time_mix_g2 time_mix_k_k time_mix_k_a
        time_mix_r_k time_mix_lerp_x time_mix_lerp_k time_mix_lerp_v time_mix_lerp_r
        time_mix_lerp_g time_mix_lerp_fused time_mix_lerp_w time_mix_first time_mix_decay
        time_mix_decay_w1 time_mix_decay_w2 time_mix_key time_mix_value time_mix_receptance
        time_mix_gate time_mix_output""",
    _C: """conv conv_in conv_out conv1 conv2 conv_shortcut conv1d conv2d resnets
        downsamplers upsamplers quant_conv post_quant_conv convs pos_conv_embed conv_layers
        feature_extractor conv_module stem depthwise_conv pointwise_conv1 pointwise_conv2
        downsampling_layer dwconv pwconv1 pwconv2
        lconv1d depthwise_conv1d depthwise pointwise key_conv_attn_layer conv_kernel_layer
        conv_out_layer convolution subsample_conv_projection controlnet_down_blocks
        controlnet_cond_embedding conv3 conv4 vit_downsampler1 vit_downsampler2
        residual_conv self_attn_conv
        shortconv conv_stem convnext dw pw1 pw2 conv_dw conv_pw1 conv_pw2 peg neck net_2 net_3
        conv_post conv_pre nin_shortcut conv_dds post_conv_dds convs_dilated
        convs_pointwise subsampling resblocks conv_proj wavenet prenet""",
    _P: """multi_modal_projector mm_projector projector connector merger modality_projection
        visual_projection text_projection aligner image_projection vision_projection
        embed_vision embed_audio vision_language_adapter proj_out_vision
        deepstack_merger_list enc_to_dec_proj encoder_hid_proj context_embedder txt_in
        controlnet_mid_block vit_large_projector vision_adapter
        per_layer_model_proj dense_2 dense_3 input_projection a_input_projection patch_merger
        proj_query proj_linear eh_proj embd_to_logits""",
    _N: """norm norm1 norm2 norm3 ln_1 ln_2 ln_f ln_3 layernorm layer_norm input_layernorm
        post_attention_layernorm pre_feedforward_layernorm post_feedforward_layernorm
        final_layer_norm final_layernorm self_attn_layer_norm encoder_attn_layer_norm
        layernorm_embedding word_embeddings_layernorm emb_norm rmsnorm rms_norm q_norm k_norm
        kv_norm q_a_layernorm kv_a_layernorm q_layernorm k_layernorm query_layernorm
        key_layernorm attn_norm attn_norm_2 ffn_norm output_norm token_embd_norm attn_q_norm
        attn_k_norm attn_q_a_norm attn_kv_a_norm attn_sub_norm ffn_sub_norm post_attention_norm
        post_ffw_norm attention_norm norm_f layer_norm1 layer_norm2 layer_norm_1 layer_norm_2
        layernorm_before layernorm_after pre_layrnorm pre_layernorm post_layernorm norm_1 norm_2
        norm_3 sa_layer_norm output_layer_norm batch_norm bn bn1 bn2 bn3 group_norm gamma_norm
        norm_q norm_k norm_added_q norm_added_k norm_out ln_pre ln_post ln_1_norm attn_layer_norm
        ssm_norm attn_ln ffn_ln ln0 ln1 ln2 ln_out pre_ln post_ln mlp_ln ln_attn ln_mlp
        input_norm post_norm pre_norm final_norm full_layer_layer_norm encoder_layer_norm
        pre_attention_layernorm post_mlp_layernorm post_self_attn_layernorm kv_layernorm
        norm_kv norm_context post_attn_norm pre_attn_norm ln_q attention_layernorm ffn_layernorm
        embedding_norm operator_norm temporal_pre_norm channel_pre_norm layernorm_1 layernorm_2
        dt_layernorm b_layernorm c_layernorm post_attention_rmsnorm pre_mlp_layernorm
        input_layer_norm post_attention_layer_norm mlp_layer_norm layernorm1 layernorm2
        ln_cross_attn ln_kv q_ln k_ln output_layernorm token_layernorm hidden_layernorm
        pre_ff_layernorm post_per_layer_input_norm pre_self_attn_layernorm conv_norm
        pre_layer_norm feedforward_layernorm grn layernorm_before_attention
        layernorm_before_ffn post_laurel_norm router_norm per_layer_projection_norm
        norm_post_attn norm_pre_attn pre_feedforward_layernorm_2
        post_feedforward_layernorm_1 post_feedforward_layernorm_2 input_latents_norm
        input_context_norm mlp_norm normalization post_cross_attn_layernorm
        pre_cross_attn_layernorm ffn1_layer_norm ffn2_layer_norm depthwise_layer_norm
        mm_soft_emb_norm emb_layer_norm_after post_layer_norm layernorm_post layernorm_pre
        norm0 global_input_layer_norm groupnorm emb_ln txt_norm image_norm text_norm
        proj_layer_norm ffn_layer_norm residual_layer_norm img_mod txt_mod norm4
        conv_norm_out vocab_layer_norm norm1_context layer_norms layer_norm_emb
        attn_output_norm pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2 ffn_norm_exps
        layer_output_norm per_layer_proj_norm altup_router_norm laurel_post_norm ssm_dt_norm
        ssm_b_norm ssm_c_norm time_mix_ln cross_attn_norm norm_embd attn_out_norm attn_post_norm
        ffn_post_norm soft_emb_norm hard_emb_norm post_fc_norm position_embd_norm layer_pre_norm
        attn_pre_norm ffn_norm_1 ffn_post_norm_1 norm_pre norm_mid norm_conv proj_norm
        self_attn_norm enorm hnorm shared_head_norm layer_output_scale
        post_norm1 post_norm2 attention_layer_norm feedforward_layer_norm index_q_norm
        index_k_norm norm_mlstm post_ffn_norm hc_norm attn_norms norms_1 norms_2
        layernorm_final embeddings_layer_norm ff_layer_norm feed_forward_layer_norm""",
    _H: """lm_head embed_out classifier score qa_outputs pooler predictions cls head
        lm_prediction_head mc_head classification_head output_layer vocab_transform
        vocab_projector generator_predictions generator_lm_head
        final_logits_bias seq_relationship sop_classifier mask_predictions pre_classifier
        qa_classifier nsp_head mlm_head bbox_predictor class_labels_classifier ctc_head
        codebook_head project_hid project_q quantizer pooling_layer sequence_summary logits_proj
        start_logits end_logits answer_class decode_head segmentation_head box_head class_head
        bbox_embed discriminator_predictions lm_loss multiple_choice_head output_projection
        v_head
        tdnn objective cls_classifier distillation_classifier contact_head layer_weights
        proj_out_head
        enc_ctc_out enc_ctc_out_mid shared_head_head""",
}

#: Segments that decide only where nothing stronger does.
_WEAK: dict[str, Component] = {
    "gate": _R, "output": _M, "dense": _M, "c_proj": _M, "proj": _P, "out_proj": _A,
    "mask_token": _E, "proj_out": _H, "decoder": _H, "relative_position_bias": _A, "rel_pos": _A,
    "linear": _P, "wo": _M,
}  # fmt: skip

_TABLE = {word: component for component, words in _WORDS.items() for word in words.split()}

#: Components whose parts would by themselves be something else.
_WHOLES = {_S: {_C}, _P: {_A, _M, _C}}

#: Last segments that hold no parameters: rotary tables, causal masks, position counters, running
#: statistics. Each has been seen in files on the Hub.
_BUFFERS = frozenset(
    """inv_freq masked_bias position_ids token_type_ids running_mean running_var
    num_batches_tracked cos_cached sin_cached relative_position_index relative_coords_table
    causal_mask attention_mask embed_positions_sinusoid original_inv_freq rope_freqs mask
    e_score_correction_bias
    _float_tensor""".split()
)

#: Modules of GGUF whose one tensor is a buffer: rope_freqs.weight, exp_probs_b.bias.
_BUFFER_MODULES = frozenset(
    {"rope_freqs", "rope_factors_long", "rope_factors_short", "exp_probs_b"}
)

_PARTS = {
    "vision": """vision_tower vision_model visual image_encoder vision_encoder vision vit
        image_tower v v_enc""",
    "audio": "audio_tower audio_model audio_encoder speech_encoder audio a",
    "projector": """multi_modal_projector mm_projector connector projector visual_projection
        modality_projection vision_language_adapter aligner embed_vision embed_audio mm merger
        mlp1""",
}
_PART_TABLE = {word: part for part, words in _PARTS.items() for word in words.split()}

#: Lists whose members people call layers (not experts, not the parts of an MLP).
_LAYER_LISTS = frozenset(
    """layers h blocks block blk layer resblocks transformer_blocks single_transformer_blocks stages
    down_blocks up_blocks encoder_layers decoder_layers mtp_layers transformer_layers
    albert_layer_groups attentions_layers""".split()
)

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


class NameLabels(NamedTuple):
    """Labels told from a name. ``position`` is the index of the segment that numbers the layer."""

    component: Component
    role: Role
    part: str
    position: int | None


def labels_of(name: str) -> NameLabels:
    """Labels of a tensor by its name alone; equal for names that differ in numbers only."""
    return _of_template(_NUMBER.sub("0", name))


def layer_of(name: str, labels: NameLabels) -> tuple[str | None, int | None]:
    """``(stack, layer)``: ``("model.layers", 7)`` for ``model.layers.7.mlp.up_proj.weight``."""
    if labels.position is None:
        return None, None
    segments = name.split(".")
    number = segments[labels.position]
    # Longer numbers are no layers but somebody's idea of a joke (and int() would be slow).
    if len(number) > 6:
        return None, None
    return ".".join(segments[: labels.position]), int(number)


@lru_cache(maxsize=50_000)
def _of_template(template: str) -> NameLabels:
    segments = template.split(".")
    lowered = [segment.lower() for segment in segments]
    component = _component(lowered)
    is_buffer = lowered[-1] in _BUFFERS or not _BUFFER_MODULES.isdisjoint(lowered[-2:-1])
    role = Role.BUFFER if is_buffer else Role.PARAMETER
    part = next((_PART_TABLE[word] for word in lowered[:3] if word in _PART_TABLE), "text")
    return NameLabels(component, role, part, _layer_position(lowered))


def _component(words: list[str]) -> Component:
    if words in (["output", "weight"], ["output", "bias"], ["output"]):
        return _H  # GGUF's and the original Llama's LM head
    # The last segment says which tensor of a module it is; it counts only where it is known.
    known = [_TABLE[word] for word in reversed(words) if word in _TABLE]
    if known:
        first = known[0]
        if first is _M and "gate" in words:
            return _R  # "mlp.gate" is a router: the weaker word below the stronger one
        # A mixer's convolution and a connector's layers belong to what they are part of.
        for whole, parts in _WHOLES.items():
            if first in parts and whole in known:
                return whole
        return first
    return next((_WEAK[word] for word in reversed(words) if word in _WEAK), Component.OTHER)


def _layer_position(words: list[str]) -> int | None:
    """The first number under a list that people call layers."""
    for i, word in enumerate(words):
        if word == "0" and i > 0 and words[i - 1] in _LAYER_LISTS:
            return i
    return None
