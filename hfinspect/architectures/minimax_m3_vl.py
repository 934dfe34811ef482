"""MiniMax-M3 (MiniMax 2026), text and vision. Source: transformers/models/minimax_m3_vl; names of
files: transformers/conversion_mapping.py.

Sparse layers pick key blocks by an indexer; experts with one shared and a correction bias; a ViT
with rotary positions (a trace) and a projector that merges patches after mapping them.  The
composite is saved in the Hub's spelling (``split``: gate and up apart, experts one by one), its
text tower alone as it is in memory (all stacked).
"""

from functools import partial

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, layer_types
from ..layers.decoders import Decoder, grouped, mixed, w_experts
from ..layers.experts import corrected_router, stacked_experts
from ..layers.heads import register_tower
from ..layers.multimodal import projector
from ..trees.catalog import builder, register
from ..trees.keeps import KeysValues
from ..trees.modules import Linear, Module, Parameter
from .llama import LLAMA

_NAME = "MiniMaxM3VL"
_SPARSE = "minimax_m3_sparse"

# ---- text


def _indexed(d: Decoder, c: ModelConfig, *, split: bool) -> Module:
    """Attention that picks blocks of keys; the nested spelling of its sizes wins, as in the config
    class."""
    block, heads, h = grouped(d, c), d.heads(c), d.width(c)
    older = c.section("sparse_attention_config")
    count = older.dim("sparse_num_index_heads", default=c.dim("index_n_heads", default=4))
    width = older.dim("sparse_index_dim", default=c.dim("index_head_dim", default=128))
    parts = {
        "q_proj": Linear(h, count * width, bias=False, kind="indexer"),
        "k_proj": Linear(h, width, bias=False, kind="indexer"),
        "q_norm": d.norm(d, c, width),
        "k_norm": d.norm(d, c, width),
    }
    if split:
        block.children |= {f"index_{name}": part for name, part in parts.items()}
    else:
        block.children["indexer"] = Module(f"{_NAME}Indexer", parts)
    kv = heads.kv * heads.dim
    block.keeps = (KeysValues(kv, kv, heads.kv), KeysValues(width, 0, 1, name="indexer"))
    return block


def _dense(
    d: Decoder, c: ModelConfig, inner: Dim, *, split: bool, kind: str | None = None
) -> Module:
    h = d.width(c)
    if split:
        return gated_mlp(f"{_NAME}DenseMLP", h, inner, kind=kind)
    return Module(
        f"{_NAME}DenseMLP",
        gate_up_proj=Linear(h, inner * 2, bias=False, kind=kind or "gate_up"),
        down_proj=Linear(inner, h, bias=False, kind=kind or "down"),
        component=Component.MLP,
    )


def _moe(d: Decoder, c: ModelConfig, *, split: bool) -> Module:
    h, inner = d.width(c), d.inner(c)
    count = c.count("num_local_experts", "num_experts", default=128, minimum=1)
    per_token = int(c.dim("num_experts_per_tok", default=4))
    shared = c.dim("shared_intermediate_size", default=3072)
    block = w_experts(d, c, count, per_token, expert="MLP")
    gate = corrected_router(f"{_NAME}TopKRouter", h, count)
    if split:
        del gate.children["e_score_correction_bias"]
        block.children["e_score_correction_bias"] = Parameter(
            (count,), role=Role.BUFFER, dtype="F32", component=Component.ROUTER
        )
    else:
        routed = stacked_experts(f"{_NAME}Experts", count, per_token, h, inner)
        block.children["experts"] = routed
    others = _dense(d, c, shared, split=split, kind="shared_expert")
    block.children |= {"gate": gate, "shared_experts": others}
    return block


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    """Lists of words, else older ones of 0 and 1, else the same everywhere."""

    def listed(
        key: str, usual: str, older: ModelConfig, flags: str, words: tuple[str, str]
    ) -> tuple[str, ...]:
        if c.has(key) or not older.has(flags):
            return layer_types(c, layers, lambda _: usual, key=key)
        return tuple(words[flag] for flag in older.flags(flags, count=layers))

    full, section = "full_attention", c.section("sparse_attention_config")
    attends = listed("layer_types", full, section, "sparse_attention_freq", (full, _SPARSE))
    feeds = listed("mlp_layer_types", "sparse", c, "moe_layer_freq", ("dense", "sparse"))
    return list(zip(attends, feeds, strict=True))


def _decoder(*, split: bool) -> Decoder:
    def mlp(d: Decoder, c: ModelConfig) -> Module:
        return _dense(d, c, c.dim("dense_intermediate_size", default=12288), split=split)

    def layer(d: Decoder, c: ModelConfig, kinds: tuple[str, str]) -> Module:
        attends, feeds = kinds
        mixer = _indexed(d, c, split=split) if attends == _SPARSE else grouped(d, c)
        apart = split and feeds == "sparse"
        return mixed(d, c, mixer, feeds, mlp="block_sparse_moe" if apart else "mlp")

    return LLAMA.like(
        _NAME, vocab_size=200064, hidden_size=6144, intermediate_size=3072, num_hidden_layers=60,
        num_attention_heads=64, num_key_value_heads=4, head_dim=128, attention_bias=None,
        qk_norm=True, mlp=mlp, moe=partial(_moe, split=split), layer=layer, kinds=_kinds,
        rotary=False,
    )  # fmt: skip


#: Stacked, as a save of the text tower alone has it, and apart, as the composite's.
_STACKED, _SPLIT = _decoder(split=False), _decoder(split=True)


def text_model(c: ModelConfig) -> Module:
    return _STACKED.named(f"{_NAME}TextModel", c)


# ---- vision


def _vision(c: ModelConfig) -> Module:
    return builder(f"{_NAME}VisionModel")(c.section("vision_config"))


def _nested_vision(c: ModelConfig) -> Module:
    """As the Hub's files spell it."""
    tower = _vision(c)
    embeddings, layers = tower.inside("embeddings"), tower.children.pop("layers")
    embeddings.children = {"patch_embedding": embeddings["proj"]}
    tower.children["encoder"] = Module(f"{_NAME}VisionEncoder", layers=layers)
    return Module(tower.class_name, vision_model=tower, part="vision")


# ---- both


def _projections(c: ModelConfig) -> tuple[dict[str, Module], dict[str, Module]]:
    """Patch by patch to the text's width, then a square of patches to one."""
    text, vision = _SPLIT.width(c.section("text_config")), c.section("vision_config")
    inner = c.dim("projector_hidden_size", default=6144)
    side = vision.dim("spatial_merge_size", default=2)
    seen = Linear(vision.dim("hidden_size", default=1280), inner)
    single = {"linear_1": seen, "linear_2": Linear(inner, text)}
    merged = {
        "linear_1": Linear(text * (side * side), inner),
        "act": activation("gelu"),
        "linear_2": Linear(inner, text),
    }
    return single, merged


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    single, merged = _projections(c)
    # Tied where the outer or the inner config says so.
    tied = c.tied(default=False) or text.tied(default=False)
    to = "language_model.model.embed_tokens.weight" if tied else None
    return Module(
        "MiniMaxM3SparseForConditionalGeneration",
        vision_tower=_nested_vision(c),
        multi_modal_projector=projector(f"{_NAME}MultiModalProjector", **single),
        patch_merge_mlp=projector(f"{_NAME}MultiModalProjector", **merged),
        language_model=Module(
            f"{_NAME}ForCausalLM",
            model=_SPLIT.named(f"{_NAME}TextModel", text),
            lm_head=_SPLIT.words(text, to),
        ),
    )


def model(c: ModelConfig) -> Module:
    single, merged = _projections(c)
    joined = {**single, **{f"merge_{name}": part for name, part in merged.items()}}
    return Module(
        f"{_NAME}Model",
        vision_tower=_vision(c),
        multi_modal_projector=projector(f"{_NAME}MultiModalProjector", **joined),
        language_model=_SPLIT.named(f"{_NAME}TextModel", c.section("text_config")),
    )


register_tower("minimax_m3_vl_text", _NAME, text_model)
register(
    "minimax_m3_vl",
    {
        "MiniMaxM3SparseForConditionalGeneration": conditional_generation,
        f"{_NAME}Model": model,
    },
    category="multimodal",
)
