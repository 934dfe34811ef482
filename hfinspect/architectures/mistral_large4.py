"""Mistral Large 4 (Mistral AI 2026; transformers/models/mistral_large4). Latent, sparse attention
whose queries have no latent. Files have the names of Mistral's own code; a text model alone has
those of transformers in part."""

from dataclasses import replace

from ..core.library_versions import REVISED
from ..layers import mixtures as m
from ..layers.composing import respelled
from ..layers.decoders import Decoder, norms_called
from ..layers.latent import indexer, latent_sizes
from ..layers.latent_decoders import dense_first, expert_count
from ..layers.multimodal import as_projector, tower_width
from ..trees import Component, Dim, KeysValues, ModelConfig, auto_model, register, register_part
from ..trees.config_defaults import config_defaults
from ..trees.modules import Buffer, LayerNorm, Linear, Module, Weight
from .glm_moe_dsa import indexer_types
from .mistral3 import MISTRAL3

#: What MistralLarge4Config makes of an absent vision section.
VISION = config_defaults("mistral_large4")
#: A whole file's names of what a text model, or Pixtral, calls otherwise.
_OWN = {"o_proj": "wo", "gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}
_TOWER = {**_OWN, "q_proj": "wq", "k_proj": "wk", "v_proj": "wv"}
#: Experts of the layer, whether it has an indexer, rotary positions, and a latent of its own.
LayerKind = tuple[str, bool, bool, bool]


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> list[LayerKind]:
    mlps = dense_first(1, listed=True)(d, c, layers)
    seeking = [kind == "full" for kind in indexer_types(d, c, layers)]
    every = int(c.dim("no_rope_layer_interval", default=4))
    rotary = [int((i + 1) % every != 0) for i in range(layers)]
    turned = c.dims("no_rope_layers", default=rotary, minimum=0, least=layers)
    read = c.dims("kv_source_layers", default=range(layers), minimum=0, count=layers)
    if any(at > i or read[at] != at for i, at in enumerate(read)):
        expected = "for each layer its own number or that of an earlier one which has its own"
        raise c.error("kv_source_layers", list(map(int, read)), expected)
    return [(mlps[i], seeking[i], bool(turned[i]), read[i] == i) for i in range(layers)]


def _scaling(heads: Dim) -> Module:
    return Module("MistralLarge4TextSoftmaxScaling", s=Weight(heads), b=Weight(heads))


def _attention(d: Decoder, c: ModelConfig, kind: LayerKind) -> Module:
    """The latent (keys) and the rotary part of the one key head (values) are what is kept. The
    indexer is DeepSeek-V3.2's, which reads the hidden states in place of the query's latent."""
    h = d.width(c)
    bias = c.flag("attention_bias", default=False)
    _, seeks, turns, owns = kind
    s = latent_sizes(c, heads=64, query_rank=None, plain=64)
    rotary, plain = (s.rotary, s.plain) if turns else (Dim(0), s.plain + s.rotary)
    row = KeysValues(s.kv_rank, rotary, heads=1, latent=True)
    seeker = None
    if seeks:
        seeker = indexer(c, d.name, h, replace(s, query_rank=h), heads=32)
        scaling = _scaling(c.dim("index_n_heads", default=32))
        seeker.adding(q_input_norm=LayerNorm(h, eps=1e-6), ssmax_scaling=scaling)
    return Module(
        "MistralLarge4TextAttention",
        wkv_a_with_mqa=Linear(h, s.kv_rank + rotary, bias=bias, kind="kv_down") if owns else None,
        kv_a_norm=d.norm(d, c, s.kv_rank) if owns else None,
        wkv_b=Linear(s.kv_rank, s.heads * (plain + s.value), bias=False, kind="kv_up"),
        o_proj=Linear(s.heads * s.value, h, bias=bias, kind="output"),
        indexer=seeker,
        wq=Linear(h, s.heads * (s.plain + s.rotary), bias=False, kind="query"),
        ssmax_scaling=_scaling(s.heads),
        component=Component.ATTENTION,
        cache=(row,) if owns else (),
    )


_EXPERTS = {"experts": m.lettered(act=False, of="Experts"), "gate": m.scores("TopkRouter")}
_moe = m.sparse(
    "MoE",
    {**m.DEEPSEEK, **_EXPERTS},
    count=lambda c: expert_count(c, 128, rerouted=True),
    used=4,
    inner=6144,
    shared=m.deepseek_shared,
)


def _layer(d: Decoder, c: ModelConfig, kind: LayerKind) -> Module:
    mlp = _moe(d, c).children if kind[0] == "sparse" else {"feed_forward": d.mlp(d, c)}
    norms = d.norms(c, "attention_norm", "ffn_norm")
    return Module(f"{d.name}DecoderLayer", {"attention": _attention(d, c, kind), **mlp, **norms})


TEXT = Decoder(
    "MistralLarge4Text",
    **config_defaults("mistral_large4.decoder"),
    kinds=_kinds,
    norm=norms_called("MistralLarge4RMSNorm"),
    layer=_layer,
)


def _text(c: ModelConfig) -> Module:
    model = TEXT.model(c)
    turned = c.dim("qk_rope_head_dim", default=64, minimum=0)
    share = c.section("rope_parameters").number("partial_rotary_factor", default=1.0)
    half = (turned if share == 1 else Dim(int(turned * share))) // 2
    # A buffer until the release REVISED, in files of the same name and shape.
    alpha = (
        Buffer(half)
        if c.saved_between("0", REVISED)
        else Weight(half, component=Component.EMBEDDING)
    )
    model.inside("rotary_emb").adding(alpha=alpha)
    return model


def _model(c: ModelConfig) -> Module:
    vision = c.section("vision_config", default=VISION)
    text = c.section("text_config")
    tower = auto_model(vision.of_type("pixtral"), default_type="pixtral", part="vision")
    family = MISTRAL3.like("MistralLarge4")
    width = tower_width(tower)
    projector = MISTRAL3.projector(family, c, width, TEXT.width(text))
    parts = {"vision_tower": respelled(tower, _TOWER), "multi_modal_projector": projector}
    return Module("MistralLarge4Model", {**parts, "language_model": respelled(_text(text), _OWN)})


def _generation(c: ModelConfig) -> Module:
    """The same parts as Mistral's own code names them, the text model's at the root."""
    text = c.section("text_config")
    root = _model(c)
    linears = {"linear_1": "w_in", "linear_2": "w_out"}
    joined = respelled(root.inside("multi_modal_projector"), linears)
    norm = joined.inside("norm")
    merger = joined.inside("patch_merger")
    norm.part = "projector"
    tied_to = "tok_embeddings.weight" if c.tied(default=False) else None
    names = {"embed_tokens": "tok_embeddings", "rotary_emb": "lerope"}
    decoder = respelled(root.inside("language_model"), names)
    return Module(
        "MistralLarge4ForConditionalGeneration",
        {"output": TEXT.words(text, tied_to), **decoder.children},
        vision_language_adapter=joined.without("norm", "patch_merger"),
        pre_mm_projector_norm=norm,
        patch_merger=as_projector(merger),
        vision_encoder=root.inside("vision_tower"),
    )


register_part("mistral_large4_text", "MistralLarge4TextModel", _text, "text decoder")
_CLASSES = {"MistralLarge4ForConditionalGeneration": _generation, "MistralLarge4Model": _model}
register("mistral_large4", _CLASSES, category="multimodal")
