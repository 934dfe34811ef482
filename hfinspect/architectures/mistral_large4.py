"""Mistral Large 4 (Mistral AI 2026). Source of shapes: transformers/models/mistral_large4.

Pixtral's tower and a decoder of latent, sparse attention whose queries have no latent; a layer may
read the latent of an earlier one, and layers without rotary positions keep a narrower row. Files
have the names of Mistral's own code; a text model alone has those of transformers in part.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import mixtures as m
from ..layers.blocks import size
from ..layers.composing import respelled
from ..layers.decoders import Decoder, norms_called
from ..layers.experts import experts, w_expert
from ..layers.heads import lm_head
from ..layers.latent import Latent, indexer, latent_sizes
from ..layers.latent_decoders import dense_first, expert_count
from ..layers.multimodal import nested, tower_width, two_layer_projector
from ..trees.catalog import auto_model, register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Buffer, LayerNorm, Linear, Module, RMSNorm, Weight
from .glm_moe_dsa import indexer_types
from .llama import LLAMA

#: What MistralLarge4Config makes of an absent vision section.
VISION = {
    "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 30,
    "num_attention_heads": 16, "patch_size": 14, "image_size": 1540, "hidden_act": "silu",
}  # fmt: skip
#: A whole file's names of what a text model, or Pixtral, calls otherwise.
_OWN = {"o_proj": "wo", "gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}
_TOWER = {**_OWN, "q_proj": "wq", "k_proj": "wk", "v_proj": "wv"}

#: Experts of the layer, whether it has an indexer, rotary positions, and a latent of its own.
Kind = tuple[str, bool, bool, bool]


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> Sequence[Kind]:
    mlps = dense_first(1, listed=True)(d, c, layers)
    seeking = [kind == "full" for kind in indexer_types(d, c, layers)]
    every = int(c.dim("no_rope_layer_interval", default=4))
    rotary = [int((i + 1) % every != 0) for i in range(layers)]
    turned = c.dims("no_rope_layers", default=rotary, minimum=0)
    if len(turned) < layers:
        raise c.miscounted("no_rope_layers", len(turned), f"one for each of {layers}")
    read = c.dims("kv_source_layers", default=range(layers), minimum=0, count=layers)
    if any(at > i or read[at] != at for i, at in enumerate(read)):
        raise c.error(
            "kv_source_layers", list(map(int, read)), f"for each of {layers} layers its own number"
            " or that of an earlier one which has its own",
        )  # fmt: skip
    return [(mlps[i], seeking[i], bool(turned[i]), read[i] == i) for i in range(layers)]


def _scaling(heads: Dim) -> Module:
    return Module("MistralLarge4TextSoftmaxScaling", s=Weight(heads), b=Weight(heads))


def _indexer(c: ModelConfig, h: Dim, s: Latent) -> Module:
    """DeepSeek-V3.2's, which reads the hidden states in place of the query's latent."""
    block = indexer(c, "MistralLarge4Text", h, replace(s, query_rank=h), heads=32)
    count, norm = c.dim("index_n_heads", default=32), LayerNorm(h, eps=1e-6)
    return block.adding(q_input_norm=norm, ssmax_scaling=_scaling(count))


def _attention(d: Decoder, c: ModelConfig, kind: Kind) -> Module:
    """The latent (keys) and the rotary part of the one key head (values) are what is kept."""
    h, bias = d.width(c), c.flag("attention_bias", default=False)
    _, seeks, turns, owns = kind
    s = latent_sizes(c, heads=64, query_rank=None, plain=64)
    rotary, plain = (s.rotary, s.plain) if turns else (Dim(0), s.plain + s.rotary)
    row = KeysValues(s.kv_rank, rotary, heads=1, latent=True)
    return Module(
        "MistralLarge4TextAttention",
        wkv_a_with_mqa=Linear(h, s.kv_rank + rotary, bias=bias, kind="kv_down") if owns else None,
        kv_a_norm=d.norm(d, c, s.kv_rank) if owns else None,
        wkv_b=Linear(s.kv_rank, s.heads * (plain + s.value), bias=False, kind="kv_up"),
        o_proj=Linear(s.heads * s.value, h, bias=bias, kind="output"),
        indexer=_indexer(c, h, s) if seeks else None,
        wq=Linear(h, s.heads * (s.plain + s.rotary), bias=False, kind="query"),
        ssmax_scaling=_scaling(s.heads),
        component=Component.ATTENTION,
        keeps=(row,) if owns else (),
    )


def _experts(x: m.Mixture) -> Module:
    each = w_expert("MistralLarge4TextMLP", x.width, x.inner)
    return experts(x.count, x.used, each, class_name="MistralLarge4TextExperts")


_moe = m.sparse(
    "MoE", {**m.DEEPSEEK, "experts": _experts, "gate": m.scores("TopkRouter")},
    count=lambda c: expert_count(c, 128, rerouted=True), shared=m.deepseek_shared,
    used=size("num_experts_per_tok", default=4), inner=size("moe_intermediate_size", default=6144),
)  # fmt: skip


def _layer(d: Decoder, c: ModelConfig, kind: Kind) -> Module:
    mlp = _moe(d, c).children if kind[0] == "sparse" else {"feed_forward": d.mlp(d, c)}
    norms = d.norms(c, "attention_norm", "ffn_norm")
    return Module(f"{d.name}DecoderLayer", {"attention": _attention(d, c, kind), **mlp, **norms})


TEXT = LLAMA.like(
    "MistralLarge4Text", vocab_size=204800, hidden_size=6144, intermediate_size=24576,
    num_hidden_layers=72, num_attention_heads=64, rms_norm_eps=1e-5, mlp_bias=None, kinds=_kinds,
    norm=norms_called("MistralLarge4RMSNorm"), layer=_layer,
)  # fmt: skip


def text_model(c: ModelConfig) -> Module:
    model = TEXT.model(c)
    scaling = c.section("rope_parameters")
    turned = c.dim("qk_rope_head_dim", default=64, minimum=0)
    share = scaling.number("partial_rotary_factor", default=1.0)
    half = (turned if share == 1 else Dim(int(turned * share))) // 2
    model["rotary_emb"].children["alpha"] = Buffer(half)  # type: ignore[union-attr]
    return model


def _projector(c: ModelConfig, width: Dim, hidden: Dim) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    bias = c.flag("multimodal_projector_bias", default=False)
    block = two_layer_projector("MistralLarge4MultiModalProjector", c, width, hidden, bias=bias)
    merged = Linear(width * side * side, width, bias=False)
    block.children = {
        "norm": RMSNorm(width, class_name="MistralLarge4RMSNorm"),
        "patch_merger": Module("MistralLarge4PatchMerger", merging_layer=merged),
        **block.children,
    }
    return block


def model(c: ModelConfig) -> Module:
    vision, text = nested(c, "vision_config", **VISION).of_type("pixtral"), c.section("text_config")
    tower = auto_model(vision, default_type="pixtral", part="vision")
    return Module(
        "MistralLarge4Model",
        vision_tower=respelled(tower, _TOWER),
        multi_modal_projector=_projector(c, tower_width(tower), TEXT.width(text)),
        language_model=respelled(text_model(text), _OWN),
    )


def generation(c: ModelConfig) -> Module:
    """The same parts as Mistral's own code names them, the text model's at the root."""
    text, whole = c.section("text_config"), model(c).children
    tower, projector, decoder = (at for at in whole.values() if isinstance(at, Module))
    joined = respelled(projector, {"linear_1": "w_in", "linear_2": "w_out"}).children
    norm, merger = joined.pop("norm"), joined.pop("patch_merger")
    for part in (norm, merger):
        assert isinstance(part, Module)
        part.part, part.component = "projector", part.component or Component.PROJECTOR
    vocab = TEXT.size(text, "vocab_size")
    head = lm_head(c, TEXT.width(text), vocab, tied_to="tok_embeddings.weight", tied_default=False)
    names = {"embed_tokens": "tok_embeddings", "rotary_emb": "lerope"}

    return Module(
        "MistralLarge4ForConditionalGeneration",
        {
            "output": head,
            **{names.get(name, name): part for name, part in decoder.children.items()},
            "vision_language_adapter": Module(
                projector.class_name, joined, part="projector", component=Component.PROJECTOR
            ),
            "pre_mm_projector_norm": norm,
            "patch_merger": merger,
            "vision_encoder": tower,
        },
    )


register_part("mistral_large4_text", "MistralLarge4TextModel", text_model, "text decoder")
register(
    "mistral_large4",
    {"MistralLarge4ForConditionalGeneration": generation, "MistralLarge4Model": model},
    category="multimodal",
)
