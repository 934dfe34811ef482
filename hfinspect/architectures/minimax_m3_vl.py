"""MiniMax-M3 (MiniMax 2026), text and vision. Source: transformers/models/minimax_m3_vl. Sparse
layers pick key blocks by an indexer. The composite is saved in the Hub's spelling (``split``: gate
and up apart, experts one by one), its text tower alone as it is in memory (all stacked)."""

from collections.abc import Sequence
from functools import partial

from ..layers import mixtures as m
from ..layers.blocks import activation, gated_mlp, layer_types, size
from ..layers.composing import joined
from ..layers.decoders import Decoder, grouped, mixed
from ..layers.experts import corrected_router, stacked_experts
from ..layers.heads import register_tower
from ..layers.multimodal import projector
from ..trees import Component, Dim, KeysValues, ModelConfig, builder, config_defaults, register
from ..trees.modules import Buffer, Linear, Module
from .llama import LLAMA

_NAME = "MiniMaxM3VL"
_SPARSE = "minimax_m3_sparse"
_INNER = size("dense_intermediate_size", default=12288)


def _indexed(d: Decoder, c: ModelConfig, *, split: bool) -> Module:
    """Attention that picks blocks of keys; the nested spelling of its sizes wins, as in the config
    class."""
    block = grouped(d, c)
    heads = d.heads(c)
    h = d.width(c)
    older = c.section("sparse_attention_config")
    count = older.dim("sparse_num_index_heads", default=c.dim("index_n_heads", default=4))
    width = older.dim("sparse_index_dim", default=c.dim("index_head_dim", default=128))
    outputs = {"q_proj": count * width, "k_proj": width}
    kv = heads.kv * heads.dim
    parts = {at: Linear(h, out, bias=False, kind="indexer") for at, out in outputs.items()}
    parts |= {at: d.norm(d, c, width) for at in ("q_norm", "k_norm")}
    apart = {f"index_{at}": part for at, part in parts.items()}
    block.adding(**(apart if split else {"indexer": Module(f"{_NAME}Indexer", dict(parts))}))
    block.cache = (KeysValues(kv, kv, heads.kv), KeysValues(width, 0, 1, name="indexer"))
    return block


def _dense(h: Dim, inner: Dim, *, split: bool, kind: str | None = None) -> Module:
    block = gated_mlp(f"{_NAME}DenseMLP", h, inner, kind=kind)
    names = ("gate_proj", "up_proj")
    if split:
        return block
    return joined(block.without("act_fn"), names, "gate_up_proj", kind or "gate_up")


def _moe(d: Decoder, c: ModelConfig, *, split: bool) -> Module:
    counts = m.counts("num_local_experts", "num_experts", default=128, minimum=1)
    h = d.width(c)
    count = counts(c)
    block = m.mixtral(counts, 4, "MLP")(d, c)
    if split:
        bias = Buffer(count, dtype="F32", component=Component.ROUTER)
        block.adding(e_score_correction_bias=bias)
    else:
        used = int(c.dim("num_experts_per_tok", default=4))
        routed = stacked_experts(f"{_NAME}Experts", count, used, h, d.inner(c))
        block.adding(gate=corrected_router(f"{_NAME}TopKRouter", h, count), experts=routed)
    shared = c.dim("shared_intermediate_size", default=3072)
    return block.adding(shared_experts=_dense(h, shared, split=split, kind="shared_expert"))


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    """Lists of words, else older ones of 0 and 1, else the same everywhere."""

    def listed(key: str, usual: str, older: ModelConfig, flags: str, *words: str) -> Sequence[str]:
        if c.has(key) or not older.has(flags):
            return layer_types(c, layers, lambda _: usual, key=key)
        return tuple(words[flag] for flag in older.flags(flags, count=layers))

    full = "full_attention"
    section = c.section("sparse_attention_config")
    attends = listed("layer_types", full, section, "sparse_attention_freq", full, _SPARSE)
    feeds = listed("mlp_layer_types", "sparse", c, "moe_layer_freq", "dense", "sparse")
    return list(zip(attends, feeds, strict=True))


def _decoder(*, split: bool) -> Decoder:
    def layer(d: Decoder, c: ModelConfig, kinds: tuple[str, str]) -> Module:
        mixer = _indexed(d, c, split=split) if kinds[0] == _SPARSE else grouped(d, c)
        apart = split and kinds[1] == "sparse"
        return mixed(d, c, mixer, kinds, mlp="block_sparse_moe" if apart else "mlp")

    return LLAMA.like(
        _NAME,
        **config_defaults("minimax_m3_vl"),
        attention_bias=None,
        qk_norm=True,
        moe=partial(_moe, split=split),
        layer=layer,
        kinds=_kinds,
        rotary=False,
        mlp=lambda d, c: _dense(d.width(c), _INNER(c), split=split),
    )


#: Stacked, as a save of the text tower alone has it, and apart, as the composite's.
_STACKED = _decoder(split=False)
_SPLIT = _decoder(split=True)


def _model(c: ModelConfig) -> Module:
    """A projector goes patch by patch to the text's width, then from a square of patches to one."""
    text = c.section("text_config")
    vision = c.section("vision_config")
    wide = _SPLIT.width(text)
    inner = c.dim("projector_hidden_size", default=6144)
    side = vision.dim("spatial_merge_size", default=2)
    joining = projector(
        f"{_NAME}MultiModalProjector",
        linear_1=Linear(vision.dim("hidden_size", default=1280), inner),
        linear_2=Linear(inner, wide),
        merge_linear_1=Linear(wide * (side * side), inner),
        merge_act=activation("gelu"),
        merge_linear_2=Linear(inner, wide),
    )
    tower = builder(f"{_NAME}VisionModel")(vision)
    words = _SPLIT.named(f"{_NAME}TextModel", text)
    parts = {"vision_tower": tower, "multi_modal_projector": joining, "language_model": words}
    return Module(f"{_NAME}Model", dict(parts))


def _generation(c: ModelConfig) -> Module:
    """The same as the Hub's files spell it; tied where the outer or the inner config says so."""
    model = _model(c)
    text = c.section("text_config")
    tower, single, decoder = (model.inside(name) for name in model.children)
    embeddings = tower.inside("embeddings")
    layers = tower.children.pop("layers")
    embeddings.children = {"patch_embedding": embeddings["proj"]}
    tower.adding(encoder=Module(f"{_NAME}VisionEncoder", layers=layers))
    names = ("linear_1", "act", "linear_2")
    merging = {name: single.children.pop(f"merge_{name}") for name in names}
    tied = c.tied(default=False) or text.tied(default=False)
    head = _SPLIT.words(text, "language_model.model.embed_tokens.weight" if tied else None)
    return Module(
        "MiniMaxM3SparseForConditionalGeneration",
        vision_tower=Module(tower.class_name, vision_model=tower, part="vision"),
        multi_modal_projector=single,
        patch_merge_mlp=projector(single.class_name, **merging),
        language_model=Module(f"{_NAME}ForCausalLM", model=decoder, lm_head=head),
    )


_WHOLE = {"MiniMaxM3SparseForConditionalGeneration": _generation, f"{_NAME}Model": _model}
register("minimax_m3_vl", _WHOLE, category="multimodal")
register_tower("minimax_m3_vl_text", _NAME, partial(_STACKED.named, f"{_NAME}TextModel"))
