"""T5 (Raffel et al. 2019) and T5 v1.1. Source: transformers/models/t5/modeling_t5.py.

One embedding serves encoder, decoder and (transformers 5: always) the LM head. Positions are
relative: a small table in the first layer of each stack. Linear layers have no biases.
v1.1 (``feed_forward_proj`` gated) has two input matrices in the MLP.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import classifier, dense_classifier, to_words
from ..trees.catalog import Builder, register
from ..trees.modules import Dropout, Embedding, Layers, Linear, Module, ModuleList, RMSNorm


def _width(c: ModelConfig) -> Dim:
    return c.dim("d_model", "hidden_size", default=512)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _width(c), eps=c.number("layer_norm_epsilon", default=1e-6), class_name="T5LayerNorm"
    )


def attention(c: ModelConfig, *, positions: bool, saved: bool = True) -> Module:
    """``positions``: with a table of relative ones; not ``saved``, as only files hold it."""
    d = _width(c)
    heads = c.dim("num_heads", "num_attention_heads", default=8)
    inner = heads * c.dim("d_kv", "head_dim", default=64)
    buckets = c.dim("relative_attention_num_buckets", default=32)
    relative = Embedding(
        buckets, heads, component=Component.ATTENTION, kind="relative_position", saved=saved
    )
    return Module(
        "T5Attention",
        q=Linear(d, inner, bias=False, kind="query"),
        k=Linear(d, inner, bias=False, kind="key"),
        v=Linear(d, inner, bias=False, kind="value"),
        o=Linear(inner, d, bias=False, kind="output"),
        relative_attention_bias=relative if positions else None,
        component=Component.ATTENTION,
    )


def feed_forward(c: ModelConfig) -> Module:
    d, inner = _width(c), c.dim("d_ff", default=2048)
    form = c.text("feed_forward_proj", default="relu") or "relu"
    gated = c.flag("is_gated_act", default=form.split("-")[0] == "gated")
    act = "gelu_new" if form == "gated-gelu" else form.split("-")[-1]
    return Module(
        "T5DenseGatedActDense" if gated else "T5DenseActDense",
        wi_0=Linear(d, inner, bias=False, kind="gate") if gated else None,
        wi_1=Linear(d, inner, bias=False, kind="up") if gated else None,
        wi=None if gated else Linear(d, inner, bias=False, kind="up"),
        wo=Linear(inner, d, bias=False, kind="down"),
        dropout=Dropout(c.number("dropout_rate", default=0.1)),
        act=activation(act),
        component=Component.MLP,
    )


def block(c: ModelConfig, *, decoder: bool, positions: bool) -> Module:
    """Attention, with ``decoder`` attention to the encoder's output, and an MLP."""

    def normed(class_name: str, name: str, part: Module) -> Module:
        dropout = Dropout(c.number("dropout_rate", default=0.1))
        return Module(class_name, {name: part, "layer_norm": _norm(c), "dropout": dropout})

    own = attention(c, positions=positions)
    parts = [normed("T5LayerSelfAttention", "SelfAttention", own)]
    if decoder:
        # The first T5's files have a table here too, which nothing reads.
        across = attention(c, positions=positions, saved=False)
        parts.append(normed("T5LayerCrossAttention", "EncDecAttention", across))
    parts.append(normed("T5LayerFF", "DenseReluDense", feed_forward(c)))
    return Module("T5Block", layer=ModuleList(parts))


def encoder_decodes(c: ModelConfig) -> bool:
    """Whether the encoder alone has cross-attention, which a class without a decoder leaves to
    ``is_decoder``."""
    return c.flag("is_decoder", default=False)


def stack(
    c: ModelConfig, *, decoder: bool, tied_to: str = "shared.weight", layers: Dim | None = None
) -> Module:
    """``layers`` where they are not those of the side."""
    if layers is None and decoder:  # The config class takes no other spelling into account here.
        layers = c.count("num_decoder_layers", default=c.fields.count("num_layers", default=6))
    elif layers is None:
        layers = encoder_layers(c)
    first = block(c, decoder=decoder, positions=True)
    rest = block(c, decoder=decoder, positions=False)
    blocks = Layers([first, *[rest] * (int(layers) - 1)] if layers else [])
    # A StaticCache has as many layers as the encoder.
    blocks.static = not decoder or int(layers) <= int(encoder_layers(c))
    return Module(
        "T5Stack",
        embed_tokens=table(c, tied_to=tied_to),
        block=blocks,
        final_layer_norm=_norm(c),
        dropout=Dropout(c.number("dropout_rate", default=0.1)),
    )


def encoder_layers(c: ModelConfig) -> Dim:
    return c.count("num_layers", default=6)


def _vocab(c: ModelConfig) -> Dim:
    return c.dim("vocab_size", default=32128)


def table(c: ModelConfig, *, tied_to: str | None = None) -> Module:
    """The words' embeddings, V·D."""
    return Embedding(_vocab(c), _width(c), tied_to=tied_to)


def model(c: ModelConfig, *, at: str = "") -> Module:
    return Module(
        "T5Model",
        shared=table(c),
        encoder=stack(c, decoder=False, tied_to=f"{at}shared.weight"),
        decoder=stack(c, decoder=True, tied_to=f"{at}shared.weight"),
    )


def encoder_model(c: ModelConfig, *, at: str = "") -> Module:
    encoder = stack(
        c, decoder=encoder_decodes(c), tied_to=f"{at}shared.weight", layers=encoder_layers(c)
    )
    return Module("T5EncoderModel", shared=table(c), encoder=encoder)


def conditional_generation(c: ModelConfig) -> Module:
    # The class ties the head whatever tie_word_embeddings says (configuration_t5.py).
    head = to_words(_width(c), _vocab(c), "shared.weight")
    return Module("T5ForConditionalGeneration", {**model(c).children, "lm_head": head})


def sequence_classification(c: ModelConfig) -> Module:
    d = _width(c)
    between = Dropout(c.number("classifier_dropout", default=0.0))
    head = dense_classifier("T5ClassificationHead", d, d, c.num_labels, between)
    base = model(c, at="transformer.")
    return Module("T5ForSequenceClassification", transformer=base, classification_head=head)


def token_classification(c: ModelConfig) -> Module:
    return Module(
        "T5ForTokenClassification",
        transformer=encoder_model(c, at="transformer."),
        dropout=Dropout(c.number("classifier_dropout", default=0.0)),
        classifier=classifier(_width(c), c.num_labels),
    )


def question_answering(c: ModelConfig) -> Module:
    outputs = classifier(_width(c), c.num_labels)
    return Module("T5ForQuestionAnswering", {**model(c).children, "qa_outputs": outputs})


#: Other spellings of T5's keys, for families with defaults of their own.
SYNONYMS = {"hidden_size": "d_model", "num_attention_heads": "num_heads", "head_dim": "d_kv"}

CLASSES: dict[str, Builder] = {
    "T5ForConditionalGeneration": conditional_generation,
    "T5Model": model,
    "T5EncoderModel": encoder_model,
    "T5ForSequenceClassification": sequence_classification,
    "T5ForTokenClassification": token_classification,
    "T5ForQuestionAnswering": question_answering,
}

register(
    "t5",
    # What the first files call it: t5-3b, t5-11b and what was trained from them.
    {**CLASSES, "T5WithLMHeadModel": conditional_generation},
    category="encoder-decoder",
)
