"""CodeGen (Nijkamp et al. 2022). Source of shapes: transformers/models/codegen/modeling_codegen.py.

GPT-J with q, k and v in one matrix. Older files hold each layer's causal mask.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Buffer, Dropout, Embedding, Layers, Linear, Module
from .gptj import hidden, mlp, norm


def attention(c: ModelConfig) -> Module:
    h = hidden(c)
    n = c.dim("n_positions", "max_position_embeddings", default=2048)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=16), "n_embd", "n_head")
    return Module(
        "CodeGenAttention",
        attn_dropout=Dropout(c.number("attn_pdrop", default=0.0)),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
        qkv_proj=Linear(h, h * 3, bias=False, kind="qkv"),
        out_proj=Linear(h, h, bias=False, kind="output"),
        causal_mask=Buffer(1, 1, n, n, dtype="U8", saved=False),
        component=Component.ATTENTION,
    )


def model(c: ModelConfig) -> Module:
    block = Module("CodeGenBlock", ln_1=norm(c), attn=attention(c), mlp=mlp(c, "CodeGenMLP"))
    return Module(
        "CodeGenModel",
        wte=Embedding(c.dim("vocab_size", default=50400), hidden(c)),
        drop=Dropout(c.number("embd_pdrop", default=0.0)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=28), block),
        ln_f=norm(c),
    )


register(
    "codegen",
    {
        "CodeGenForCausalLM": causal_lm(
            "CodeGenForCausalLM", model, prefix="transformer", embedding="wte", bias=True
        ),
        "CodeGenModel": model,
    },
    base="CodeGenModel",
    base_prefix="transformer",
    category="text decoder",
)
