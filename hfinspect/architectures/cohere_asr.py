"""Cohere's transcription model (2026): Canary's form under NeMo's names. Sources:
transformers/models/cohere_asr and transformers/conversion_mapping.py."""

from ..layers.blocks import grouped_heads
from ..layers.composing import respelled_classes
from ..layers.heads import to_words
from ..trees import Component, Linear, ModelConfig, Module, Weight, auto_model, register_pair
from ..trees.config_defaults import config_defaults
from .canary import DECODER, decoder

_NAME = "CohereAsr"
#: What the config class lays under the section of the encoder.
_ENCODER = config_defaults("cohere_asr")
_NETS = {
    "q_proj": "query_net",
    "k_proj": "key_net",
    "v_proj": "value_net",
    "o_proj": "out_projection",
}
#: Class name -> attribute -> how files spell it.
_SPELLED = {
    "ParakeetEncoder": {"subsampling": "pre_encode"},
    "ParakeetEncoderSubsamplingConv2D": {"layers": "conv", "linear": "out"},
    "ParakeetEncoderConvolutionModule": {"norm": "batch_norm"},
    "ParakeetEncoderAttention": {
        "q_proj": "linear_q",
        "k_proj": "linear_k",
        "v_proj": "linear_v",
        "o_proj": "linear_out",
        "relative_k_proj": "linear_pos",
        "bias_u": "pos_bias_u",
        "bias_v": "pos_bias_v",
    },
    f"{_NAME}DecoderLayer": {
        "self_attn": "first_sub_layer",
        "encoder_attn": "second_sub_layer",
        "mlp": "third_sub_layer",
        "input_layernorm": "layer_norm_1",
        "post_attention_layernorm": "layer_norm_2",
        "final_layernorm": "layer_norm_3",
    },
    f"{_NAME}SelfAttention": _NETS,
    f"{_NAME}CrossAttention": _NETS,
    f"{_NAME}DecoderMLP": {"fc1": "dense_in", "fc2": "dense_out"},
}


def model(c: ModelConfig) -> Module:
    c = c.with_defaults(**DECODER)
    h = c.dim("hidden_size")
    to = Component.EMBEDDING
    sound = c.section("encoder_config").with_defaults(**_ENCODER).of_type("parakeet_encoder")
    heard = auto_model(sound, default_type="parakeet_encoder")
    heard.inside("subsampling", "linear").component = to
    built = decoder(_NAME, c, grouped_heads(c, h))
    places = Weight(c.dim("max_position_embeddings"), h)
    position = Module("Embedding", pos_enc=places, component=to, kind="position")
    tables = {"token_embedding": built["embed_tokens"], "position_embedding": position}
    embedding = Module("Embeddings", tables, layer_norm=built["embedding_layernorm"])
    inner = Module(built.class_name, layers=built["layers"], final_layer_norm=built["norm"])
    joined = Module(built.class_name, _embedding=embedding, _decoder=inner)
    return Module(
        f"{_NAME}Model",
        encoder=respelled_classes(heard, _SPELLED),
        encoder_decoder_proj=Linear(sound.dim("hidden_size"), h, component=Component.PROJECTOR),
        transf_decoder=respelled_classes(joined, _SPELLED),
    )


def generation(c: ModelConfig) -> Module:
    c = c.with_defaults(**DECODER)
    to = "model.transf_decoder._embedding.token_embedding.weight"
    tied = to if c.tied(default=False) else None
    head = to_words(c.dim("hidden_size"), c.dim("vocab_size"), tied, bias=True)
    softmax = Module("TokenClassifierHead", mlp=Module("MultiLayerPerceptron", layer0=head))
    return Module(f"{_NAME}ForConditionalGeneration", model=model(c), log_softmax=softmax)


register_pair("cohere_asr", _NAME, generation, model, "encoder-decoder")
