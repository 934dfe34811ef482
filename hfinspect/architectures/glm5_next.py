"""GLM-5-Next (Zhipu 2026). Source of shapes: transformers/models/glm5_next.

GLM-OCR's tower (a trace) before a decoder of which three layers in four mix linearly, with short
convolutions, a decay and gates, and the others have latent attention without positions, read
through an indexer.  Hyper-connections join several streams around every attention and MLP. File
names are those of the first release (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, layer_types
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.latent import latent_attention, latent_sizes
from ..trees.catalog import builder, register_pair, register_part
from ..trees.keeps import KeysValues, State
from ..trees.modules import (
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    Weight,
)
from .glm4v import composite

_NAME = "Glm5Next"
_TEXT = f"{_NAME}Text"
_LINEAR, _INDEXED = "linear_attention", "indexed_attention"


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim, name: str = f"{_TEXT}RMSNorm") -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name=name)


# ---- mixers


def linear_attention(c: ModelConfig) -> Module:
    """Keys, values and queries of one width, each through a convolution; decay and output gate
    through narrow projections."""
    own = c.section("linear_attn_config")
    head = own.dim("head_dim", default=c.dim("linear_head_dim", default=128))
    heads = own.dim("num_heads", default=c.dim("linear_num_heads", default=64))
    kernel = own.dim("short_conv_kernel_size", default=c.dim("linear_conv_kernel_dim", default=4))
    h, width = _hidden(c), heads * head

    def convolution() -> Module:
        return Conv(width, width, kernel, dims=1, groups=width, bias=False)

    return Module(
        f"{_TEXT}LinearAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(h, width, bias=False, kind="key"),
        v_proj=Linear(h, width, bias=False, kind="value"),
        q_conv1d=_mixing(convolution()),
        k_conv1d=_mixing(convolution()),
        v_conv1d=_mixing(convolution()),
        f_a_proj=Linear(h, head, bias=False, kind="gate"),
        f_b_proj=Linear(head, width, bias=False, kind="gate"),
        dt_bias=Weight(width),
        A_log=Weight(heads),
        b_proj=Linear(h, heads, bias=False, kind="gate"),
        g_a_proj=Linear(h, head, bias=False, kind="gate"),
        g_b_proj=Linear(head, width, bias=False, kind="gate"),
        o_norm=_norm(c, head, f"{_TEXT}RMSNormGated"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        component=Component.SSM,
        keeps=(State("recurrent", (width, head), "F32"),),
    )


def _mixing(convolution: Module) -> Module:
    convolution.component = Component.SSM
    return convolution


def indexer(c: ModelConfig, rank: Dim) -> Module:
    heads, dim = c.dim("index_n_heads", default=32), c.dim("index_head_dim", default=128)
    h, pooled = _hidden(c), c.dim("index_kpool", default=16)
    return Module(
        f"{_TEXT}Indexer",
        wq_b=Linear(rank, heads * dim, bias=False),
        wk=Linear(h, dim, bias=False),
        k_norm=LayerNorm(dim, eps=1e-6),
        weights_proj=Linear(h, heads, bias=False),
        index_kpool_compress_ape=Weight(pooled, dim),
        index_kpool_compress_gate=Weight(dim, h),
        kind="indexer",
        # The key, its gate and whether the pool is full.
        keeps=(KeysValues(dim * 2 + 1, 0, heads=1, name="indexer"),),
    )


def indexed_attention(c: ModelConfig, *, own: bool) -> Module:
    """``own``: the layer has an indexer; others use what an earlier one chose."""
    sizes = latent_sizes(c, heads=64, plain=256, rotary=0, value=256)
    if sizes.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    bias = c.flag("attention_bias", default=False)
    block = latent_attention(_TEXT, _hidden(c), sizes, bias=bias)
    if own:
        block.children["indexer"] = indexer(c, sizes.query_rank)
    return block


def indexer_types(c: ModelConfig, layers: int) -> tuple[str, ...]:
    """full or shared for each layer; older configs give a pattern of letters or a step."""
    pattern = c.raw("index_topk_pattern")
    if not c.has("indexer_types") and pattern is not None:
        words = {"F": "full", "S": "shared"}
        listed = list(pattern) if isinstance(pattern, (str, list)) else []
        found = tuple(words.get(word, str(word)) for word in listed)
        if len(found) < layers:
            raise c.error("index_topk_pattern", pattern, f"one for each of {layers} layers")
        return found[:layers]
    step = max(int(c.dim("index_topk_freq", default=1, minimum=0)), 1)
    skipped = int(c.dim("index_skip_topk_offset", default=2, minimum=0))
    return layer_types(
        c,
        layers,
        lambda i: "shared" if max(i - skipped + 1, 0) % step else "full",
        key="indexer_types",
    )


# ---- decoder


def _connection(c: ModelConfig, name: str) -> dict[str, Parameter]:
    """How the streams are mixed before and after a part: (2 + m)·m combinations of m streams."""
    streams = c.dim("hc_mult", default=4)
    rows = (2 + streams) * streams
    return {
        f"hc_{name}_fn": Weight(rows, streams * _hidden(c)),
        f"hc_{name}_base": Weight(rows),
        f"hc_{name}_scale": Weight(3),
    }


def _mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        return gated_mlp(f"{_TEXT}MLP", h, c.dim("intermediate_size", default=12288), act=act)
    inner = c.dim("moe_intermediate_size", default=2048)
    count = c.count("n_routed_experts", "num_local_experts", default=288, minimum=1)
    return routed_and_shared(
        _TEXT,
        h,
        inner,
        count=count,
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=inner * c.count("n_shared_experts", default=1, minimum=1),
        gate=corrected_router(f"{_TEXT}TopkRouter", h, count),
        act=act,
    )


def layer(c: ModelConfig, kind: str, mlp: str, choosing: str) -> Module:
    linear = kind == _LINEAR
    mixer = linear_attention(c) if linear else indexed_attention(c, own=choosing != "shared")
    return Module(
        f"{_TEXT}DecoderLayer",
        {
            "self_attn": mixer,
            "mlp": _mlp(c, mlp),
            "input_layernorm": _norm(c, _hidden(c)),
            "post_attention_layernorm": _norm(c, _hidden(c)),
            **_connection(c, "attn"),
            **_connection(c, "ffn"),
        },
    )


def text_model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=45))
    kinds = layer_types(c, count, lambda i: _INDEXED if i % 4 == 3 else _LINEAR)
    mlps = layer_types(c, count, lambda i: "dense" if i < 3 else "sparse", key="mlp_layer_types")
    described = list(zip(kinds, mlps, indexer_types(c, count), strict=True))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    return Module(
        f"{_TEXT}Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=154880), _hidden(c)),
        layers=Layers(distinct[entry] for entry in described),
        norm=_norm(c, _hidden(c)),
    )


# ---- together


def base(c: ModelConfig) -> Module:
    text = c.section("text_config") if c.has("text_config") else c
    return Module(
        f"{_NAME}Model",
        visual=builder(f"{_NAME}VisionModel")(c.section("vision_config")),
        language_model=text_model(text),
    )


def generation(c: ModelConfig) -> Module:
    tied = c.tied(default=False)
    return composite(f"{_NAME}ForConditionalGeneration", base(c), tied=tied)


register_pair("glm5_next", _NAME, generation, base, "multimodal")
register_part("glm5_next_text", f"{_TEXT}Model", text_model, "text decoder")
