"""BigBird-Pegasus (Zaheer et al. 2020).

Source of shapes: transformers/models/bigbird_pegasus/modeling_bigbird_pegasus.py.
Pegasus whose encoder attends in blocks, under BERT's names; projections have no biases unless
``use_bias``. A norm ends each stack, although its name says embedding.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from .blocks import activation
from .heads import classifier
from .modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module
from .registry import register


def _decoder_attention(d: Dim, *, bias: bool) -> Module:
    return Module(
        "BigBirdPegasusDecoderAttention",
        k_proj=Linear(d, d, bias=bias, kind="key"),
        v_proj=Linear(d, d, bias=bias, kind="value"),
        q_proj=Linear(d, d, bias=bias, kind="query"),
        out_proj=Linear(d, d, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def _encoder_attention(c: ModelConfig, d: Dim, *, bias: bool) -> Module:
    sparse = c.text("attention_type", default="block_sparse") == "block_sparse"
    projections = Module(
        f"BigBirdPegasus{'BlockSparse' if sparse else 'Self'}Attention",
        query=Linear(d, d, bias=bias, kind="query"),
        key=Linear(d, d, bias=bias, kind="key"),
        value=Linear(d, d, bias=bias, kind="value"),
    )
    return Module(
        "BigBirdPegasusEncoderAttention",
        {"self": projections, "output": Linear(d, d, bias=bias, kind="output")},
        component=Component.ATTENTION,
    )


def _width(c: ModelConfig) -> Dim:
    return c.dim("d_model", "hidden_size", default=1024)


def _mlp(c: ModelConfig, d: Dim, inner: Dim) -> dict[str, Module]:
    return {
        "activation_fn": activation(c.text("activation_function", default="gelu_new")),
        "fc1": Linear(d, inner, component=Component.MLP, kind="up"),
        "fc2": Linear(inner, d, component=Component.MLP, kind="down"),
        "final_layer_norm": LayerNorm(d),
    }


def encoder_layer(c: ModelConfig) -> Module:
    d, bias = _width(c), c.flag("use_bias", default=False)
    return Module(
        "BigBirdPegasusEncoderLayer",
        {
            "self_attn": _encoder_attention(c, d, bias=bias),
            "self_attn_layer_norm": LayerNorm(d),
            **_mlp(c, d, c.dim("encoder_ffn_dim", default=4096)),
        },
    )


def decoder_layer(c: ModelConfig) -> Module:
    d, bias = _width(c), c.flag("use_bias", default=False)
    return Module(
        "BigBirdPegasusDecoderLayer",
        {
            "self_attn": _decoder_attention(d, bias=bias),
            "self_attn_layer_norm": LayerNorm(d),
            "encoder_attn": _decoder_attention(d, bias=bias),
            "encoder_attn_layer_norm": LayerNorm(d),
            **_mlp(c, d, c.dim("decoder_ffn_dim", default=4096)),
        },
    )


def _words(c: ModelConfig, *, tied_to: str | None = None) -> Module:
    return Embedding(
        c.dim("vocab_size", default=96103),
        _width(c),
        class_name="BigBirdPegasusScaledWordEmbedding",
        tied_to=tied_to,
    )


def stack(c: ModelConfig, side: str, layers: Layers, tied_to: str | None = None) -> Module:
    positions = c.dim("max_position_embeddings", default=4096)
    return Module(
        f"BigBirdPegasus{side}",
        embed_tokens=_words(c, tied_to=tied_to),
        embed_positions=Embedding(
            positions,
            _width(c),
            kind="position",
            class_name="BigBirdPegasusLearnedPositionalEmbedding",
        ),
        layers=layers,
        layernorm_embedding=LayerNorm(_width(c)),
    )


def decoder(c: ModelConfig, tied_to: str | None = None) -> Module:
    layers = Layers.of(c.count("decoder_layers", default=16), decoder_layer(c))
    return stack(c, "Decoder", layers, tied_to)


def model(c: ModelConfig, *, at: str = "") -> Module:
    table = f"{at}shared.weight" if c.tied() else None
    count = c.count("encoder_layers", "num_hidden_layers", default=16)
    layers = Layers.of(count, encoder_layer(c))
    return Module(
        "BigBirdPegasusModel",
        shared=_words(c),
        encoder=stack(c, "Encoder", layers, table),
        decoder=decoder(c, table),
    )


def _head(c: ModelConfig, table: str | None) -> Module:
    return Linear(
        _width(c),
        c.dim("vocab_size", default=96103),
        bias=False,
        tied_to=table if c.tied() else None,
        component=Component.HEAD,
        kind="lm_head",
    )


def conditional_generation(c: ModelConfig) -> Module:
    return Module(
        "BigBirdPegasusForConditionalGeneration",
        final_logits_bias=Buffer(exact(1), c.dim("vocab_size", default=96103), kind="lm_head"),
        model=model(c, at="model."),
        lm_head=_head(c, "model.shared.weight"),
    )


def causal(c: ModelConfig) -> Module:
    # The class names nothing to tie.
    wrapper = Module("BigBirdPegasusDecoderWrapper", decoder=decoder(c))
    return Module("BigBirdPegasusForCausalLM", model=wrapper, lm_head=_head(c, None))


def sequence(c: ModelConfig) -> Module:
    d = _width(c)
    head = Module(
        "BigBirdPegasusClassificationHead",
        dense=Linear(d, d),
        dropout=Dropout(c.number("classifier_dropout", default=0.0)),
        out_proj=Linear(d, c.num_labels),
        component=Component.HEAD,
        kind="classifier",
    )
    name = "BigBirdPegasusForSequenceClassification"
    return Module(name, model=model(c, at="model."), classification_head=head)


def answers(c: ModelConfig) -> Module:
    outputs = classifier(_width(c), 2)
    name = "BigBirdPegasusForQuestionAnswering"
    return Module(name, model=model(c, at="model."), qa_outputs=outputs)


register(
    "bigbird_pegasus",
    {
        "BigBirdPegasusForConditionalGeneration": conditional_generation,
        "BigBirdPegasusModel": model,
        "BigBirdPegasusForCausalLM": causal,
        "BigBirdPegasusForSequenceClassification": sequence,
        "BigBirdPegasusForQuestionAnswering": answers,
    },
    base="BigBirdPegasusModel",
    base_prefix="model",
    category="encoder-decoder",
)
