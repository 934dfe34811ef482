"""Labels from names: by their words, and by the other names and shapes of a checkpoint.

That they are those of the trees is tested in ``tests/architectures/test_agreement.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.analysis.labels.by_name import labels_of, layer_of
from hfinspect.analysis.labels.context import labeller

Shapes = Mapping[str, tuple[int, ...]]


def told(shapes: Shapes) -> dict[str, str]:
    label = labeller(shapes.items())
    return {name: str(label(name).component) for name in shapes}


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("model.layers.0.cross_attn_layer_norm.weight", "norm"),
        ("itm_head.weight", "head"),
        ("encoder.layers.3.self_attn.gate_proj.weight", "attention"),
        ("blocks.0.feed_forward.key.weight", "mlp"),
        ("layers.0.mlp.router.classifier.weight", "router"),
        ("layers.0.mlp.gate.weight", "router"),
        ("layers.0.linear_attn.q_proj.weight", "ssm"),
        ("image_to_text_projection.dense.weight", "projector"),
        ("mlp1.1.weight", "projector"),
        ("head.conv1.weight", "head"),
        ("cross_attn_token_to_image.out.weight", "attention"),
        ("layers.0.hc_attn_fn", "other"),
        ("layers.0.ff_proj.weight", "mlp"),
        ("layers.0.attn_proj.weight", "attention"),
        ("vision.proj_mlp.fc1.weight", "projector"),
        ("vision.blocks.0.mlp.fc1.weight", "mlp"),
        ("latent_attention_model.latents", "embedding"),
        ("queries.query_768.weight", "embedding"),
        ("features.0.weight", "other"),
        ("linear.weight", "head"),
        ("glb_GN", "other"),
        ("mask_head.gn1.weight", "norm"),
        ("cls.predictions.decoder.weight", "head"),
        ("decoder.lstm.weight_ih_l0", "other"),
        ("decoder.layers.0.ca_kcontent_proj.weight", "attention"),
        ("layers.0.attention.self.conv_kernel_layer.weight", "attention"),
        ("layers.0.self_attention.experts.input_linear.weight", "attention"),
        ("conv_encoder.layers.0.blocks.0.output.dense.weight", "mlp"),
        ("transformer_blocks.0.attn_norm.linear.weight", "norm"),
        ("layers.0.input_layernorm.W_down.weight", "norm"),
        ("layers.0.second_sub_layer.key_net.weight", "attention"),
        ("layers.0.third_sub_layer.dense_in.weight", "mlp"),
        ("detr_decoder.reference_points.weight", "embedding"),
        ("layers.0.self_attn.distance_embedding.weight", "attention"),
        ("model.decoder.output_projection.weight", "head"),
        ("layers.0.something.weight", "other"),
        ("", "other"),
    ],
)
def test_words(name: str, component: str) -> None:
    assert str(labels_of(name).component) == component


def test_a_text_s_bare_positions_are_sines() -> None:
    names = ("position_embedding", "position_ids", "token_embedding.weight")
    text = {f"text.embeddings.{name}": (64, 8) for name in names}
    image = {"vision.embeddings.position_embedding": (16, 8)}
    label = labeller([*text.items(), *image.items()])
    assert str(label("text.embeddings.position_embedding").role) == "buffer"
    assert str(label("vision.embeddings.position_embedding").role) == "parameter"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("quantizer.layers.0.codebook.embed", "buffer"),
        ("quantizer.layers.0.codebook.embed_avg", "buffer"),
        ("quantizer.layers.0.codebook.weight", "parameter"),
        ("embeddings.word_embeddings.weight_integer", "buffer"),
        ("layers.0.self_attn.slope_rate", "buffer"),
        ("layers.0.mlp.act_fn.beta", "buffer"),
        ("layers.0.mlp.act_fn.alpha_p", "parameter"),
        ("layers.0.ffn.gate.tid2eid", "buffer"),
        ("final_logits_bias", "buffer"),
        ("encoder_embedding.global_mean", "buffer"),
    ],
)
def test_buffers_by_name(name: str, role: str) -> None:
    assert str(labels_of(name).role) == role


def test_a_batch_norm_that_counts_no_batches_is_frozen() -> None:
    norm: Shapes = {
        f"bn.{leaf}": (8,) for leaf in ("weight", "bias", "running_mean", "running_var")
    }
    frozen = labeller(norm.items())
    trained = labeller([*norm.items(), ("bn.num_batches_tracked", ())])
    assert {str(frozen(name).role) for name in norm} == {"buffer"}
    assert str(trained("bn.weight").role) == "parameter"


def test_the_bias_of_a_gate_next_to_experts_is_its_correction() -> None:
    experts = ("layers.0.ffn.experts.0.w1.weight", (8, 8))
    names: Shapes = {"layers.0.ffn.gate.weight": (4, 8), "layers.0.ffn.gate.bias": (4,)}
    routed = labeller([experts, *names.items()])
    alone = labeller(names.items())
    assert [str(routed(name).role) for name in names] == ["parameter", "buffer"]
    assert [str(alone(name).role) for name in names] == ["parameter", "parameter"]


def test_lightning_attention_is_ssm_with_and_without_its_decay() -> None:
    names: Shapes = {
        "layers.0.self_attn.qkv_proj.weight": (24, 8),
        "layers.0.self_attn.output_gate.weight": (8, 8),
        "layers.0.self_attn.norm.weight": (8,),
    }
    assert list(told(names).values()) == ["ssm", "ssm", "norm"]


def test_what_is_in_a_layer_is_no_part_of_what_the_layers_are_in() -> None:
    assert str(labels_of("audio_embed.layers.0.fc1.weight").component) == "mlp"
    assert str(labels_of("connector.layers.0.fc1.weight").component) == "projector"


def test_a_weight_of_one_dimension_is_a_norms_and_so_is_its_bias() -> None:
    shapes: Shapes = {
        "visual_projection.0.weight": (8, 8),
        "visual_projection.0.bias": (8,),
        "visual_projection.1.weight": (8,),
        "visual_projection.1.bias": (8,),
    }
    assert list(told(shapes).values()) == ["projector", "projector", "norm", "norm"]


def test_a_filter_whose_name_says_nothing_is_a_convolution() -> None:
    assert told({"ups.0.0.weight": (8, 4, 3), "ups.0.0.bias": (4,)}) == {
        "ups.0.0.weight": "conv",
        "ups.0.0.bias": "conv",
    }
    assert told({"ups.0.0.weight": (8, 4)}) == {"ups.0.0.weight": "other"}


def test_a_decay_makes_a_mixer_recurrent_whatever_it_is_called() -> None:
    """Kimi's linear attention and its softmax attention are both ``self_attn``."""
    shapes: Shapes = {
        "layers.0.self_attn.A_log": (4,),
        "layers.0.self_attn.q_proj.weight": (8, 8),
        "layers.0.self_attn.q_conv1d.weight": (8, 1, 4),
        "layers.0.self_attn.o_norm.weight": (8,),
        "layers.1.self_attn.q_proj.weight": (8, 8),
    }
    assert list(told(shapes).values()) == ["ssm", "ssm", "ssm", "norm", "attention"]


def test_what_stands_beside_q_k_and_v_is_attentions() -> None:
    beside: Shapes = {"blocks.0.wqkv.weight": (24, 8), "blocks.0.wo.weight": (8, 8)}
    assert told(beside)["blocks.0.wo.weight"] == "attention"
    assert told({"blocks.0.wo.weight": (8, 8)})["blocks.0.wo.weight"] == "mlp"


def test_a_gate_beside_experts_is_a_router() -> None:
    shapes: Shapes = {
        "layers.0.mixer.experts.0.up_proj.weight": (8, 8),
        "layers.0.mixer.gate.weight": (4, 8),
    }
    assert told(shapes)["layers.0.mixer.gate.weight"] == "router"


def test_what_stands_beside_a_classifier_is_of_the_head() -> None:
    shapes: Shapes = {
        "wav2vec2.encoder.layers.0.attention.q_proj.weight": (8, 8),
        "projector.weight": (4, 8),
    }
    assert told(shapes)["projector.weight"] == "projector"
    assert told({**shapes, "classifier.weight": (2, 4)})["projector.weight"] == "head"


def test_the_one_matrix_shaped_as_the_tokens_table_is_the_head() -> None:
    shapes: Shapes = {
        "layers.0.wte.weight": (99, 8),
        "layers.1.mlp.fc1.weight": (32, 8),
        "layers.1.linear.weight": (8, 8),
        "layers.2.linear.weight": (99, 8),
    }
    # Names that differ in numbers only are labelled alike.
    assert told(shapes)["layers.2.linear.weight"] == "head"
    assert told({**shapes, "ff_up.weight": (99, 8)})["layers.2.linear.weight"] == "other"
    assert told({**shapes, "layers.0.wte.weight": (98, 8)})["layers.2.linear.weight"] == "other"


def test_parametrized_projections_are_still_projections() -> None:
    shapes: Shapes = {
        "layers.0.mixer.Wqkv.parametrizations.weight.original": (24, 8),
        "layers.0.mixer.out_proj.parametrizations.weight.original": (8, 8),
        "layers.0.mixer.out_proj.parametrizations.weight.0.lora_A": (5, 4, 8),
    }
    assert set(told(shapes).values()) == {"attention"}


def test_a_list_that_holds_attention_and_mlp_is_one_of_layers() -> None:
    shapes: Shapes = {
        "audio.conformer.2.attention.q_proj.weight": (8, 8),
        "audio.conformer.2.ffw_layer_1.weight": (8, 8),
        "audio.tables.0.weight": (8, 8),
    }
    label = labeller(shapes.items())
    places = [layer_of(name, label(name)) for name in shapes]
    assert places == [("audio.conformer", 2), ("audio.conformer", 2), (None, None)]


def test_lists_side_by_side_are_parts_of_the_same_layers() -> None:
    """XLM's: ``attentions.1``, ``ffns.1`` and ``layer_norm1.1`` make layer 1."""
    shapes: Shapes = {
        "transformer.attentions.1.q_lin.weight": (8, 8),
        "transformer.ffns.1.lin1.weight": (8, 8),
        "transformer.layer_norm1.1.weight": (8,),
    }
    label = labeller(shapes.items())
    assert [layer_of(name, label(name))[1] for name in shapes] == [1, 1, 1]


def test_no_layers_of_one_linear_each() -> None:
    assert labels_of("bbox_predictor.layers.0.weight").position is None
    assert labels_of("layers.0.norm.weight").position == 1


_segments = st.lists(
    st.sampled_from(["layers", "0", "12", "mlp", "gate", "", "weight", "A_log", "²", "conv1"])
    | st.text(max_size=5),
    max_size=6,
)
_names = _segments.map(".".join)
_shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@given(st.dictionaries(_names, _shapes, max_size=8), _names)
def test_any_names_and_shapes(shapes: dict[str, tuple[int, ...]], stranger: str) -> None:
    label = labeller(shapes.items())
    for name in (*shapes, stranger):
        stack, layer = layer_of(name, label(name))
        assert (stack is None) == (layer is None)
        if stack is not None:
            assert name.startswith(stack)


@given(_segments, st.integers(0, 9999))
def test_numbers_make_no_difference(segments: list[str], number: int) -> None:
    first = ".".join(["layers", "0", *segments])
    assert labels_of(first) == labels_of(".".join(["layers", str(number), *segments]))
