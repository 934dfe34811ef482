"""w2v-BERT 2.0 (Seamless Communication 2023): Conformer layers over mel features. Source:
transformers/models/wav2vec2_bert. Positions are distances or sines in each layer, or rotary."""

from functools import partial

from ..layers import conformers, speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees import Activation, Conv, Dim, Dropout, Embedding, Layers, ModelConfig, Module
from ..trees.config_defaults import config_defaults

_NAME = "Wav2Vec2Bert"
_attention = partial(conformers.speech_attention, dropout=0.0)
_DEFAULTS = {**speech.DEFAULTS, **config_defaults("wav2vec2_bert")}


def _model(_s: Speech, c: ModelConfig) -> Module:
    convolution = conformers.speech_convolution(c, _NAME, depthwise_layer_norm=speech.norm(c))
    h = hidden(c)
    key = "position_embeddings_type"
    drop = c.number("attention_dropout", default=0.0)
    positions = c.text(key, default=None if c.says(key) else "relative_key")
    attend = _attention(c, _NAME, h, relative=positions == "relative")
    if positions == "relative_key":
        left = c.dim("left_max_position_embeddings", default=64, minimum=0)
        right = c.dim("right_max_position_embeddings", default=8, minimum=0)
        sizes = left + right + 1, h // c.dim("num_attention_heads")
        table = Embedding(*sizes, component=None, kind="relative_position")
        attend.adding(distance_embedding=table)
    parts = {"self_attn_dropout": Dropout(drop), "self_attn": attend}
    block = conformers.speech_block(c, _NAME, convolution, **parts)
    features = c.dim("feature_projection_input_dim", default=160)
    between = c.flag("use_intermediate_ffn_before_adapter", default=False)

    def adapter(wide: Dim) -> Module:
        """Strided convolutions that shorten the sequence, before attention and in what it skips."""
        conv = Conv(wide, 2 * wide, c.dim("adapter_kernel_size", default=3), dims=1)
        act = c.text("adapter_act", default="relu")
        return Module(
            f"{_NAME}AdapterLayer",
            residual_layer_norm=speech.norm(c, wide),
            residual_conv=conv,
            activation=Activation("GLU", "dim=1"),
            self_attn_layer_norm=speech.norm(c, wide),
            self_attn_conv=conv,
            self_attn=_attention(c, _NAME, wide, relative=False),
            ffn_layer_norm=speech.norm(c, wide),
            ffn=speech.feed_forward(c, _NAME, width=wide, act=act),
        )

    return Module(
        f"{_NAME}Model",
        masked_spec_embed=speech.masked_spec_embed(c),
        feature_projection=speech.feature_projection(c, _NAME, inputs=features),
        encoder=Module(f"{_NAME}Encoder", layers=Layers.of(c.count("num_hidden_layers"), block)),
        adapter=speech.length_adapter(c, _NAME, adapter, count=1),
        intermediate_ffn=speech.feed_forward(c, _NAME, act="relu") if between else None,
        part="audio",
    )


Speech(_NAME, "wav2vec2_bert", _DEFAULTS, make_model=_model).register("wav2vec2-bert")
