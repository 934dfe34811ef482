"""GLM-5-Next (Zhipu 2026). Source of shapes: transformers/models/glm5_next.

GLM-OCR's tower (a trace) before a decoder of which three layers in four mix linearly, with short
convolutions, a decay and gates, and the others have latent attention without positions, read
through an indexer.  Hyper-connections join several streams around every attention and MLP. File
names are those of the first release (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import convolved_projections, hyper_connection, layer_types
from ..layers.decoders import Decoder, mixed
from ..layers.latent import indexer, latent_attention, latent_sizes
from ..layers.layer_kinds import mixture, side_by_side, words
from ..layers.multimodal import register_worded, text_section
from ..trees.catalog import builder, register_part
from ..trees.keeps import KeysValues, State
from ..trees.modules import Linear, Module, RMSNorm, Weight
from .llama import LLAMA

_NAME = "Glm5Next"
_LINEAR, _INDEXED = "linear_attention", "indexed_attention"


def _linear_attention(d: Decoder, c: ModelConfig) -> Module:
    """Keys, values and queries of one width, each through a convolution; decay and output gate
    through narrow projections."""
    own = c.section("linear_attn_config")
    head = own.dim("head_dim", default=c.dim("linear_head_dim", default=128))
    heads = own.dim("num_heads", default=c.dim("linear_num_heads", default=64))
    kernel = own.dim("short_conv_kernel_size", default=c.dim("linear_conv_kernel_dim", default=4))
    h, width = d.width(c), heads * head
    eps, narrow, wide = c.number("rms_norm_eps", default=d.rms_norm_eps), (h, head), (head, width)
    gates = {
        "f_a_proj": narrow, "f_b_proj": wide, "b_proj": (h, heads), "g_a_proj": narrow,
        "g_b_proj": wide,
    }  # fmt: skip
    return Module(
        f"{d.name}LinearAttention",
        {
            **convolved_projections(h, width, kernel),
            **{name: Linear(*sizes, False, kind="gate") for name, sizes in gates.items()},
            "dt_bias": Weight(width),
            "A_log": Weight(heads),
            "o_norm": RMSNorm(head, eps=eps, class_name=f"{d.name}RMSNormGated"),
            "o_proj": Linear(width, h, bias=False, kind="output"),
        },
        component=Component.SSM,
        keeps=(State("recurrent", (width, head), "F32"),),
    )


def _indexed_attention(d: Decoder, c: ModelConfig, *, own: bool) -> Module:
    """``own``: the layer has an indexer; others use what an earlier one chose."""
    h, sizes = d.width(c), latent_sizes(c, heads=64, plain=256, rotary=0, value=256)
    if sizes.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    block = latent_attention(d.name, h, sizes, bias=c.flag("attention_bias", default=False))
    if own:
        dim, pooled = c.dim("index_head_dim", default=128), c.dim("index_kpool", default=16)
        seeks = indexer(c, d.name, h, sizes, heads=32)
        seeks.children["index_kpool_compress_ape"] = Weight(pooled, dim)
        seeks.children["index_kpool_compress_gate"] = Weight(dim, h)
        # The key, its gate and whether the pool is full.
        seeks.keeps = (KeysValues(dim * 2 + 1, 0, heads=1, name="indexer"),)
        block.children["indexer"] = seeks
    return block


def _indexer_types(c: ModelConfig, layers: int) -> tuple[str, ...]:
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
    usual = ["shared" if max(i - skipped + 1, 0) % step else "full" for i in range(layers)]
    return layer_types(c, layers, usual.__getitem__, key="indexer_types")


# ---- decoder


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=2048)
    count = c.count("n_routed_experts", "num_local_experts", default=288, minimum=1)
    shared = inner * c.count("n_shared_experts", default=1, minimum=1)
    return mixture(d, c, inner, count, c.dim("num_experts_per_tok", default=8), shared)


def _layer(d: Decoder, c: ModelConfig, kinds: tuple[str, str, str]) -> Module:
    mixes, mlp, choosing = kinds
    mixer = (
        _linear_attention(d, c)
        if mixes == _LINEAR
        else _indexed_attention(d, c, own=choosing != "shared")
    )
    block = mixed(d, c, mixer, "dense" if mlp == "dense" else "sparse")
    for half in ("attn", "ffn"):
        block.children |= hyper_connection(c, d.width(c), half)
    return block


_KINDS = side_by_side(
    words(lambda _c, i: _INDEXED if i % 4 == 3 else _LINEAR),
    words(lambda _c, i: "dense" if i < 3 else "sparse", key="mlp_layer_types"),
    lambda _d, c, layers: _indexer_types(c, layers),
)
_TEXT = LLAMA.like(
    f"{_NAME}Text", vocab_size=154880, intermediate_size=12288, num_hidden_layers=45,
    rms_norm_eps=1e-5, mlp_bias=None, moe=_moe, layer=_layer, kinds=_KINDS, rotary=False,
)  # fmt: skip


# ---- together


def base(c: ModelConfig) -> Module:
    visual = builder(f"{_NAME}VisionModel")(c.section("vision_config"))
    return Module(f"{_NAME}Model", visual=visual, language_model=_TEXT.model(text_section(c)))


register_worded("glm5_next", _NAME, base, tied=False)
register_part("glm5_next_text", f"{_TEXT.name}Model", _TEXT.model, "text decoder")
