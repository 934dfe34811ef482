"""The vocabulary of tensor names: which words say which component.

A segment of a name is looked up whole first (``wte``, ``q_proj``) and then by the words that it is
made of: ``cross_attn_layer_norm`` is a norm, ``itm_head`` a head. Whole segments are listed only
where their words don't say it, and only terms that models share or a format defines (GGUF).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...core.components import Component

_E, _A, _M, _N, _H = (
    Component.EMBEDDING,
    Component.ATTENTION,
    Component.MLP,
    Component.NORM,
    Component.HEAD,
)
_R, _S, _C, _P, _O = (
    Component.ROUTER,
    Component.SSM,
    Component.CONV,
    Component.PROJECTOR,
    Component.OTHER,
)


def _table(words: dict[Component, str]) -> dict[str, Component]:
    return {word: component for component, text in words.items() for word in text.split()}


#: Modules and tensors that are named by the whole segment.
_MODULES: Final = _table(
    {
        _E: """wte wpe shared feature_projection input_linear bos_latent
        ple project_in project_out
        per_layer_model_projection patch_conv patch_projection patchifier img_in time_proj
        img_break boi eoi image_begin image_end image_sep image_newline view_seperator prenet
        distilled_guidance_layer query_feat query_768_resolution query_1024_resolution
        reference_points denoising_class_embed prompt_ctx boxes_direct_project boxes_pool_project
        boxes_pos_enc_project memory_temporal_positional_encoding no_object_pointer
        no_memory_positional_encoding patterns pre_encode recycle_disto""",
        _A: """encdecattention mha sinks attn_sinks indexer transientglobalselfattention
        localselfattention
        r_w_bias r_r_bias r_s_bias seg_embed rel_embeddings per_dim_scale per_dim_k_scale
        linear_pos pos_h pos_w transformer_in conv_kernel_layer conv_out_layer pe_k
        distance_embedding box_rpb_embed_x box_rpb_embed_y gateway token_mixer message_fc assign
        ipa pair_to_sequence""",
        _M: """feedforward shared_expert shared_experts channel_mixing densereludense full_layer
        full_layer_layer_norm_ffn ffw_layer_start ffw_layer_end ffw_layer_1 ffw_layer_2
        fc1_latent_proj fc2_latent_proj adapter_layer vis_gate vis_down vis_up inp_gate
        laurel_l laurel_r per_layer_input_gate per_layer_projection angle_resnet""",
        _R: """ffn_gate_inp ffn_gate_inp_shexp shared_expert_gate gate_moe exp_probs_b
        e_score_correction_bias expert_bias""",
        _S: """ssm_conv1d ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v linear_attn time_mixing time_mix
        recurrent_block rglru short_conv""",
        _C: """pos_conv_embed feature_extractor stem depthwise pointwise channelwise dw pw1 pw2 peg
        neck net_2 net_3 shortconv subsample_conv_projection controlnet_down_blocks
        nin_shortcut controlnet_cond_embedding key_conv_attn_layer wavenet projection_in
        projection_context projection_out fuse_image_with_low_res motion_encoder
        face_encoder resnet_head""",
        _P: """connector aligner embed_vision embed_audio enc_to_dec_proj encoder_hid_proj
        context_embedder txt_in controlnet_mid_block per_layer_model_proj dense_2 dense_3
        patch_merge_mlp perceive encoder_to_decoder proj_query query_updater task_project
        proj_linear eh_proj
        embd_to_logits spatial_perceiver encoder_input_proj decoder_input_proj fc_encoder
        out_mid
        cross_modal_text_transform cross_modal_image_transform
        esm_s_mlp trunk2sm_s trunk2sm_z""",
        _N: "img_mod txt_mod layer_output_scale lab",
        _O: "loss_weighting lstm gru rnn sequence_to_pair",
        _H: """flow_net out_eos embed_out score qa_outputs cls output_layer vocab_projector
        seq_relationship project_hid pooling_layer sequence_summary answer_class bbox_embed lm_loss
        output_projection objective layer_weights bbox_predictor output_weights
        output_bias reg_conf class_embed parameter_projection embedding_proj_layer
        mask_embedder task_mlp query_scale structure_generator
        class_predictor decoder_global_pointer decoder_roor_global_pointer matchability
        token_confidence first_hidden_to_hidden single_hidden_to_spks""",
    }
)

#: Parts of an attention, an MLP or a mixer. They belong to the module that they stand in, if that
#: says what it is (``self_attn.gate_proj``, ``feed_forward.key``); by themselves they say so much.
PROJECTIONS: Final = _table(
    {
        _A: """q_proj k_proj v_proj o_proj qkv_proj qkv q_lin k_lin v_lin out_lin c_attn query key
        value query_key_value wqkv wq wk wv w_pack to_q to_k to_v to_out to_qkv q_head k_head
        q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj in_proj_weight in_proj_bias
        query_net key_net value_net out_projection queries_keys_values keys_values
        ca_qcontent_proj ca_qpos_proj ca_kcontent_proj ca_kpos_proj ca_v_proj ca_qpos_sine_proj
        sa_qcontent_proj sa_qpos_proj sa_kcontent_proj sa_kpos_proj sa_v_proj
        project_k project_v add_q_proj add_k_proj add_v_proj to_add_out""",
        _M: """dense_h_to_4h dense_4h_to_h fc1 fc2 lin1 lin2 gate_proj up_proj down_proj
        gate_up_proj gate_up_proj_blocks gate_up_proj_scales c_fc intermediate
        intermediate_dense output_dense dense_in dense_out linear1 linear2 linear_up linear_down
        w1 w2 w3 wi wi_0 wi_1 linear_fc1 linear_fc2 experts expert""",
        _S: "mixer temporal_block a_log d dt_proj x_proj dt_bias",
        _H: "v_head project_q",
    }
)

#: Segments that decide only where nothing stronger does.
_WEAK: Final = {
    "gate": _R,
    "output": _M,
    "dense": _M,
    "c_proj": _M,
    "out_proj": _A,
    "proj_out": _H,
    "rel_pos": _A,
    "wo": _M,
    "w": _E,
    "projection": _P,
    "fc": _P,
}

#: What a word of a segment says, the last one first: the end of a compound decides, as in English
#: (``token_embedding_projection`` is a projection).
_NOUNS: Final = _table(
    {
        _E: """embedding embeddings embed embeds embd emb embs embedder embedders token tokens
        latents position positions quantizer guidance""",
        _A: "attn attention attentions att selfattention crossattention kv qkv",
        _M: "mlp mlps ffn ffns moe ff forward",
        _R: "router",
        _O: "snake",
        _S: "ssm mamba mlstm slstm deltanet retention rwkv lru",
        _C: """conv convs deconv convolution convolutions conv1d lconv1d conv2d conv3d sconv dwconv
        pwconv resnet resnets downsample downsampler downsamplers downsampling upsample upsampler
        upsamplers upsampling resample downscaler downscalers upscaler upscalers subsampling
        subsampler""",
        _P: "mm projector projectors projection projections resampler merger aligner connector",
        _H: """head heads classifier classifiers classification predictions logits pooler
        score transform pred unembed ctc clf postnet linker""",
    }
)

#: Nouns that say too little where they stand alone.
_BARE: Final = frozenset({"projection", "projections", "token", "classification", "text_mapper"})

#: Words that make any segment a norm, wherever in it they stand, as does one that ends in -norm.
_NORMS: Final = frozenset({"norms", "ln", "bn", "grn", "normalization"})

#: With a bias, attention's table of relative positions or what makes it.
_POSITIONS: Final = frozenset({"position", "pos", "relative", "rel"})

#: Ways around the layers (AltUp, hyper-connections, scales and gates of the residual), of no group
#: whatever they go around: as any word of a segment, as one of its last two.
_AROUND: Final = frozenset({"hc", "altup"})
_AROUND_AT_END: Final = frozenset({"residual", "res", "hyper"})

#: A projection, mapper or adapter of one of these is one between modalities.
_MODALITIES: Final = frozenset(
    "vision visual image img video audio speech text txt clip mm modality".split()
)
_ANY_PROJECTION: Final = frozenset({"proj", "projection", "mapper"})
_BRIDGES: Final = _ANY_PROJECTION | {"adapter"}

#: Compounds that end so are learned tokens: ``query_768``, ``object_queries``, ``coord_features``.
_LEARNED: Final = ("query", "queries", "features")

#: First words that hold for all that begins with them, as a projection's name does (RWKV's).
_BEGINNINGS: Final = {"time_mix_": _S, "channel_mix_": _M}


@lru_cache(maxsize=20_000)
def module_word(segment: str) -> Component | None:
    """What a lower-case segment says as the name of a module, whole or by its words."""
    known = _MODULES.get(segment)
    if known is not None:
        return known
    if segment in PROJECTIONS or segment in _BARE:
        return None
    words = [word.rstrip("0123456789") for word in segment.split("_")]
    if words[0] == "gn" or any(word in _NORMS or word.endswith("norm") for word in words):
        return _N
    if not _BRIDGES.isdisjoint(words) and not _MODALITIES.isdisjoint(words):
        return _P
    nouns = [_NOUNS[word] for word in reversed(words) if word in _NOUNS]
    if "bias" in words and not _POSITIONS.isdisjoint(words):
        return _A
    around = _AROUND.intersection(words) or _AROUND_AT_END.intersection(words[-2:])
    if around and not {_C, _R}.intersection(nouns):
        return _O
    if words[-2:] == ["layer", "scale"]:
        return _O
    if words[-1] == "model" and nouns[:1] in ([_A], [_M]):
        return None  # "latent_attention_model" has more than attention
    if words[-1] == "weights" and nouns[:1] == [_E]:
        return _O  # "concept_embeds_weights": thresholds
    if words[-1] == "proj" and nouns[:1] not in ([_H], [_C]):
        return None
    if _MODULES.get("_".join(words[-2:])) is _H:
        return _H
    # "cross_attn_token_to_image", "rel_attn_embed"
    return _A if nouns[:1] == [_E] and _A in nouns else next(iter(nouns), None)


@lru_cache(maxsize=20_000)
def projection_word(segment: str) -> Component | None:
    """What a lower-case segment says as the name of a module's part."""
    for beginning, component in _BEGINNINGS.items():
        if segment.startswith(beginning):
            return component
    known = PROJECTIONS.get(segment)
    if known is None and segment.endswith("_proj"):
        nouns = [_NOUNS[word] for word in segment.split("_") if word in _NOUNS]
        return nouns[-1] if nouns and nouns[-1] in (_A, _M) else None  # "ff_proj", "attn_proj"
    return known


@lru_cache(maxsize=20_000)
def weak_word(segment: str) -> Component | None:
    """What a segment says if nothing else in the name says more."""
    known = _WEAK.get(segment)
    words = [word.rstrip("0123456789") for word in segment.split("_")]
    if known is None and not _ANY_PROJECTION.isdisjoint(words):
        return _P
    if known is None and len(words) > 1 and segment.rstrip("_0123456789").endswith(_LEARNED):
        return _E
    return known
