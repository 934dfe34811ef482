"""MiniMax-M3 (MiniMax 2026), text and vision. Source: transformers/models/minimax_m3_vl; names of
files: transformers/conversion_mapping.py.

Sparse layers pick key blocks by an indexer; experts with one shared and a correction bias; a ViT
with rotary positions and a projector that merges patches after mapping them.  The composite is
saved in the Hub's spelling (``split``: gate and up apart, experts one by one), its text tower
alone as it is in memory (all stacked).
"""

from collections.abc import Callable, Sequence
from functools import partial

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import (
    Heads,
    activation,
    gated_mlp,
    grouped_attention,
    layer_types,
    rms_norms,
    size,
)
from ..layers.experts import corrected_router, experts
from ..layers.heads import causal_lm, lm_head
from ..layers.vision import clip_layer
from ..trees.catalog import register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import (
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    Weight,
)

_NAME = "MiniMaxM3VL"
_SPARSE = "minimax_m3_sparse"

# ---- text


_hidden = size("hidden_size", default=6144)
_norm = rms_norms(f"{_NAME}RMSNorm", 1e-6)


def _index_sizes(c: ModelConfig) -> tuple[Dim, Dim]:
    """Heads and width of the indexer; the nested spelling wins, as in the config class."""
    older = c.section("sparse_attention_config")
    heads = c.dim("index_n_heads", default=4)
    width = c.dim("index_head_dim", default=128)
    return (
        older.dim("sparse_num_index_heads", default=heads),
        older.dim("sparse_index_dim", default=width),
    )


def attention(c: ModelConfig, kind: str, *, split: bool) -> Module:
    h = _hidden(c)
    heads = Heads(
        c.dim("num_attention_heads", default=64),
        c.dim("num_key_value_heads", default=4),
        c.dim("head_dim", default=128),
    )
    block = grouped_attention(
        f"{_NAME}Attention",
        h,
        heads,
        norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
    )
    if kind != _SPARSE:
        return block
    count, width = _index_sizes(c)
    parts = {
        "q_proj": Linear(h, count * width, bias=False, kind="indexer"),
        "k_proj": Linear(h, width, bias=False, kind="indexer"),
        "q_norm": _norm(c, width),
        "k_norm": _norm(c, width),
    }
    kv = heads.kv * heads.dim
    block.keeps = (
        KeysValues(kv, kv, heads=heads.kv),
        KeysValues(width, 0, heads=1, name="indexer"),
    )
    if split:
        block.children |= {f"index_{name}": part for name, part in parts.items()}
    else:
        block.children["indexer"] = Module(f"{_NAME}Indexer", parts)
    return block


def dense(c: ModelConfig, inner: Dim, *, split: bool, kind: str | None = None) -> Module:
    h = _hidden(c)
    if split:
        return gated_mlp(f"{_NAME}DenseMLP", h, inner, kind=kind)
    return Module(
        f"{_NAME}DenseMLP",
        gate_up_proj=Linear(h, inner * 2, bias=False, kind=kind or "gate_up"),
        down_proj=Linear(inner, h, bias=False, kind=kind or "down"),
        component=Component.MLP,
    )


def sparse(c: ModelConfig, *, split: bool) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    count = c.count("num_local_experts", "num_experts", default=128, minimum=1)
    per_token = int(c.dim("num_experts_per_tok", default=4))
    shared = c.dim("shared_intermediate_size", default=3072)
    gate = corrected_router(f"{_NAME}TopKRouter", h, count)
    parts: dict[str, Module | Parameter] = {
        "gate": gate,
        "shared_experts": dense(c, shared, split=split, kind="shared_expert"),
    }
    if split:
        del gate.children["e_score_correction_bias"]
        parts["e_score_correction_bias"] = Parameter(
            (count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER
        )
        expert = Module(
            f"{_NAME}MLP",
            w1=Linear(h, inner, bias=False),
            w2=Linear(inner, h, bias=False),
            w3=Linear(h, inner, bias=False),
        )
        parts["experts"] = experts(count, per_token, expert)
    else:
        parts["experts"] = Module(
            f"{_NAME}Experts",
            gate_up_proj=Weight(count, inner * 2, h),
            down_proj=Weight(count, h, inner),
            kind="expert",
            active=(min(per_token, int(count)), int(count)),
        )
    return Module(f"{_NAME}SparseMoeBlock", parts, component=Component.MLP)


def layer(c: ModelConfig, kind: str, mlp_kind: str, *, split: bool) -> Module:
    h = _hidden(c)
    if mlp_kind == "sparse":
        name, mlp = "block_sparse_moe" if split else "mlp", sparse(c, split=split)
    else:
        inner = c.dim("dense_intermediate_size", default=12288)
        name, mlp = "mlp", dense(c, inner, split=split)
    return Module(
        f"{_NAME}DecoderLayer",
        {
            "self_attn": attention(c, kind, split=split),
            name: mlp,
            "input_layernorm": _norm(c, h),
            "post_attention_layernorm": _norm(c, h),
        },
    )


def _by_frequency(
    c: ModelConfig, older: ModelConfig, flags: str, words: tuple[str, str], usual: str, key: str
) -> Callable[[int], Sequence[str]]:
    """The list under ``key``, else a word per 0 or 1 under ``flags``, else ``usual`` everywhere."""

    def read(layers: int) -> Sequence[str]:
        if c.has(key) or not older.has(flags):
            return layer_types(c, layers, lambda _: usual, key=key)
        found = [words[flag] for flag in older.flags(flags)]
        if len(found) != layers:
            raise older.error(flags, f"{len(found)} entries", f"one for each of {layers} layers")
        return found

    return read


def text_model(c: ModelConfig, *, split: bool = False) -> Module:
    count = int(c.count("num_hidden_layers", default=60))
    attentions = _by_frequency(
        c, c.section("sparse_attention_config"), "sparse_attention_freq",
        ("full_attention", _SPARSE), "full_attention", "layer_types",
    )(count)  # fmt: skip
    mlps = _by_frequency(
        c, c, "moe_layer_freq", ("dense", "sparse"), "sparse", "mlp_layer_types"
    )(count)  # fmt: skip
    described = list(zip(attentions, mlps, strict=True))
    distinct = {entry: layer(c, *entry, split=split) for entry in dict.fromkeys(described)}
    return Module(
        f"{_NAME}TextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=200064), _hidden(c)),
        layers=Layers(distinct[entry] for entry in described),
        norm=_norm(c, _hidden(c)),
    )


# ---- vision


_width = size("hidden_size", default=1280)


def vision_model(c: ModelConfig, *, split: bool = False) -> Module:
    h, eps = _width(c), c.number("layer_norm_eps", default=1e-5)
    patch = c.dim("patch_size", default=14)
    cube = (c.dim("temporal_patch_size", default=2), patch, patch)
    channels = c.dim("num_channels", default=3)
    act, inner = c.text("hidden_act", default="gelu"), c.dim("intermediate_size", default=5120)
    block = clip_layer(f"{_NAME}Vision", h, inner, eps=eps, act=act)
    layers = Layers.of(c.count("num_hidden_layers", default=32), block)
    patches = Conv(
        channels, h, cube, dims=3, stride=cube, bias=False, component=Component.EMBEDDING,
        kind="patch",
    )  # fmt: skip
    norm = LayerNorm(h, eps=eps)
    if split:
        inside = Module(
            f"{_NAME}VisionModel",
            embeddings=Module(f"{_NAME}VisionEmbeddings", patch_embedding=patches),
            pre_layrnorm=norm,
            encoder=Module(f"{_NAME}VisionEncoder", layers=layers),
        )
        return Module(f"{_NAME}VisionModel", vision_model=inside, part="vision")
    return Module(
        f"{_NAME}VisionModel",
        embeddings=Module(f"{_NAME}VisionEmbeddings", proj=patches),
        pre_layrnorm=norm,
        layers=layers,
        part="vision",
    )


# ---- both


def _projections(c: ModelConfig) -> tuple[dict[str, Module], dict[str, Module]]:
    """Patch by patch to the text's width, then a square of patches to one."""
    text, vision = _hidden(c.section("text_config")), c.section("vision_config")
    inner = c.dim("projector_hidden_size", default=6144)
    side = vision.dim("spatial_merge_size", default=2)
    single = {"linear_1": Linear(_width(vision), inner), "linear_2": Linear(inner, text)}
    merged = {
        "linear_1": Linear(text * (side * side), inner),
        "act": activation("gelu"),
        "linear_2": Linear(inner, text),
    }
    return single, merged


def _projector(children: dict[str, Module]) -> Module:
    return Module(
        f"{_NAME}MultiModalProjector", children, component=Component.PROJECTOR, part="projector"
    )


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    single, merged = _projections(c)
    # Tied where the outer or the inner config says so.
    tied = c.tied(default=False) or text.tied(default=False)
    head = lm_head(
        ModelConfig({}),
        _hidden(text),
        text.dim("vocab_size", default=200064),
        tied_to="language_model.model.embed_tokens.weight",
        tied_default=tied,
    )
    return Module(
        "MiniMaxM3SparseForConditionalGeneration",
        vision_tower=vision_model(c.section("vision_config"), split=True),
        multi_modal_projector=_projector(single),
        patch_merge_mlp=_projector(merged),
        language_model=Module(
            f"{_NAME}ForCausalLM", model=text_model(text, split=True), lm_head=head
        ),
    )


def model(c: ModelConfig) -> Module:
    single, merged = _projections(c)
    return Module(
        f"{_NAME}Model",
        vision_tower=vision_model(c.section("vision_config")),
        multi_modal_projector=_projector(
            {**single, **{f"merge_{name}": part for name, part in merged.items()}}
        ),
        language_model=text_model(c.section("text_config"), split=True),
    )


register(
    "minimax_m3_vl_text",
    {
        f"{_NAME}ForCausalLM": causal_lm(f"{_NAME}ForCausalLM", text_model),
        f"{_NAME}TextModel": text_model,
    },
    base_prefix="model",
    category="text decoder",
)

register_part(
    "minimax_m3_vl_vision", f"{_NAME}VisionModel", partial(vision_model, split=False), "vision"
)

register(
    "minimax_m3_vl",
    {
        "MiniMaxM3SparseForConditionalGeneration": conditional_generation,
        f"{_NAME}Model": model,
    },
    category="multimodal",
)
