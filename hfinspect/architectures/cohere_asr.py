"""Cohere's transcription model (2026). Source of shapes: transformers/models/cohere_asr.

Canary's form (canary.py), with learned positions and a projection of what the encoder heard. Files
keep the names of NeMo. Source: transformers/conversion_mapping.py.
"""

from dataclasses import replace

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import grouped_heads
from ..layers.composing import respelled_classes
from ..layers.heads import to_words
from ..trees.catalog import auto_model, register_pair
from ..trees.keeps import KeysValues
from ..trees.modules import Linear, Module, Weight, each_module
from .canary import completed, decoder

_NAME = "CohereAsr"
#: What the config class lays under the section of the encoder.
_ENCODER = {"hidden_size": 1280, "num_hidden_layers": 48, "num_mel_bins": 128,
            "intermediate_size": 5120}  # fmt: skip
_PROJECTIONS = {
    "q_proj": "query_net", "k_proj": "key_net", "v_proj": "value_net", "o_proj": "out_projection",
}  # fmt: skip
#: Class name -> attribute -> how files spell it.
_SPELLED = {
    "ParakeetEncoder": {"subsampling": "pre_encode"},
    "ParakeetEncoderSubsamplingConv2D": {"layers": "conv", "linear": "out"},
    "ParakeetEncoderConvolutionModule": {"norm": "batch_norm"},
    "ParakeetEncoderAttention": {
        "q_proj": "linear_q", "k_proj": "linear_k", "v_proj": "linear_v", "o_proj": "linear_out",
        "relative_k_proj": "linear_pos", "bias_u": "pos_bias_u", "bias_v": "pos_bias_v",
    },
    f"{_NAME}DecoderLayer": {
        "self_attn": "first_sub_layer", "encoder_attn": "second_sub_layer",
        "mlp": "third_sub_layer", "input_layernorm": "layer_norm_1",
        "post_attention_layernorm": "layer_norm_2", "final_layernorm": "layer_norm_3",
    },
    f"{_NAME}SelfAttention": _PROJECTIONS,
    f"{_NAME}CrossAttention": _PROJECTIONS,
    f"{_NAME}DecoderMLP": {"fc1": "dense_in", "fc2": "dense_out"},
}  # fmt: skip


def _spelled(root: Module) -> Module:
    """``root`` with the attributes of files. What the class name said of attention to the encoder
    is said by what it keeps."""
    for module in each_module(root):
        if module.class_name == "ParakeetEncoderSubsamplingConv2D":
            module.inside("linear").component = Component.EMBEDDING
        if module.class_name == f"{_NAME}CrossAttention":
            module.keeps = tuple(
                replace(item, cross=True)
                for item in module.keeps or ()
                if isinstance(item, KeysValues)
            )
    return respelled_classes(root, _SPELLED)


def model(c: ModelConfig) -> Module:
    c = completed(c)
    sound = c.section("encoder_config").with_defaults(**_ENCODER).of_type("parakeet_encoder")
    h = c.dim("hidden_size")
    built = decoder(_NAME, c, grouped_heads(c, h))
    table = Weight(c.dim("max_position_embeddings"), h, kind="position")
    embedding = Module(
        "Embeddings",
        token_embedding=built["embed_tokens"],
        position_embedding=Module(
            "Embedding", pos_enc=table, component=Component.EMBEDDING, kind="position"
        ),
        layer_norm=built["embedding_layernorm"],
    )
    inner = Module(f"{_NAME}Decoder", layers=built["layers"], final_layer_norm=built["norm"])
    heard = sound.dim("hidden_size")
    return Module(
        f"{_NAME}Model",
        encoder=_spelled(auto_model(sound, default_type="parakeet_encoder")),
        encoder_decoder_proj=Linear(heard, h, component=Component.PROJECTOR),
        transf_decoder=Module(f"{_NAME}Decoder", _embedding=embedding, _decoder=_spelled(inner)),
    )


def generation(c: ModelConfig) -> Module:
    c = completed(c)
    to = "model.transf_decoder._embedding.token_embedding.weight"
    tied = to if c.tied(default=False) else None
    head = to_words(c.dim("hidden_size"), c.dim("vocab_size"), tied, bias=True)
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=model(c),
        log_softmax=Module("TokenClassifierHead", mlp=Module("MultiLayerPerceptron", layer0=head)),
    )


register_pair("cohere_asr", _NAME, generation, model, "encoder-decoder")
