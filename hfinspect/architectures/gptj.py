"""GPT-J (Wang & Komatsuzaki 2021). Source of shapes: transformers/models/gptj/modeling_gptj.py.

Attention (no biases) and MLP stand side by side behind one norm; positions are rotary; the LM head
has a bias. Older files also hold each layer's causal mask (one byte an element) and the value that
masks.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import causal_lm, classifier, sequence_classification
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module


def hidden(c: ModelConfig) -> Dim:
    return c.dim("n_embd", "hidden_size", default=4096)


def norm(c: ModelConfig) -> Module:
    return LayerNorm(hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def attention(c: ModelConfig) -> Module:
    h = hidden(c)
    n = c.dim("n_positions", "max_position_embeddings", default=2048)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=16), "n_embd", "n_head")
    return Module(
        "GPTJAttention",
        attn_dropout=Dropout(c.number("attn_pdrop", default=0.0)),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
        k_proj=Linear(h, h, bias=False, kind="key"),
        v_proj=Linear(h, h, bias=False, kind="value"),
        q_proj=Linear(h, h, bias=False, kind="query"),
        out_proj=Linear(h, h, bias=False, kind="output"),
        bias=Buffer(1, 1, n, n, dtype="U8", saved=False),
        masked_bias=Buffer(dtype="F32", saved=False),
        component=Component.ATTENTION,
    )


def mlp(c: ModelConfig, class_name: str) -> Module:
    h = hidden(c)
    inner = c.dim("n_inner", default=4 * h)
    return Module(
        class_name,
        fc_in=Linear(h, inner, kind="up"),
        fc_out=Linear(inner, h, kind="down"),
        act=activation(c.text("activation_function", default="gelu_new")),
        dropout=Dropout(c.number("resid_pdrop", default=0.0)),
        component=Component.MLP,
    )


def model(c: ModelConfig) -> Module:
    block = Module("GPTJBlock", ln_1=norm(c), attn=attention(c), mlp=mlp(c, "GPTJMLP"))
    return Module(
        "GPTJModel",
        wte=Embedding(c.dim("vocab_size", default=50400), hidden(c)),
        drop=Dropout(c.number("embd_pdrop", default=0.0)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=28), block),
        ln_f=norm(c),
    )


def question_answering(c: ModelConfig) -> Module:
    """As many outputs as labels: two by default, for start and end."""
    return Module(
        "GPTJForQuestionAnswering",
        transformer=model(c),
        qa_outputs=classifier(hidden(c), c.num_labels),
    )


language_model = causal_lm(
    "GPTJForCausalLM", model, prefix="transformer", embedding="wte", bias=True
)

register(
    "gptj",
    {
        "GPTJForCausalLM": language_model,
        "GPTJModel": model,
        "GPTJForSequenceClassification": sequence_classification(
            "GPTJForSequenceClassification", model, prefix="transformer", hidden=hidden
        ),
        "GPTJForQuestionAnswering": question_answering,
    },
    base="GPTJModel",
    base_prefix="transformer",
    category="text decoder",
)
