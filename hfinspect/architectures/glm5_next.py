"""GLM-5-Next (Zhipu 2026; transformers/models/glm5_next). File names are those of the first release
(conversion_mapping.py)."""

from ..layers import mixtures as m
from ..layers.blocks import hyper_connections, layer_types
from ..layers.decoders import Decoder, mixed
from ..layers.latent_decoders import latent
from ..layers.layer_kinds import side_by_side, words
from ..layers.multimodal import register_worded, text_section
from ..trees import KeysValues, ModelConfig, Module, RMSNorm, Weight, builder, config_defaults
from .kimi_linear import delta_attention


def _linear_attention(d: Decoder, c: ModelConfig) -> Module:
    """Kimi's, whose decay is a number a head and whose norm has the config's epsilon."""
    order = ("f_a", "f_b", "b", "g_a", "g_b", "dt_bias", "A_log")
    block = delta_attention(d, c, heads=64, kind="gate", order=order)
    head = block.inside("f_b_proj").tensor().shape[1]
    heads = block.tensor("A_log").shape[2]
    eps = c.number("rms_norm_eps", default=d.rms_norm_eps)
    norm = RMSNorm(head, eps=eps, class_name=f"{d.name}RMSNormGated")
    return block.adding(A_log=Weight(heads), o_norm=norm).called(f"{d.name}LinearAttention")


def _indexed_attention(d: Decoder, c: ModelConfig, *, indexed: bool) -> Module:
    """``indexed``: the layer has an indexer; others use what an earlier one chose."""
    block = latent(seeks=32 if indexed else None, plain=256, rotary=0, value=256)(d, c)
    if "q_a_proj" not in block.children:
        raise c.error("q_lora_rank", None, "a rank")
    if indexed:
        dim = c.dim("index_head_dim", default=128)
        pooled = c.dim("index_kpool", default=16)
        ape = Weight(pooled, dim)
        gate = Weight(dim, d.width(c))
        seeks = block.inside("indexer")
        seeks.adding(index_kpool_compress_ape=ape, index_kpool_compress_gate=gate)
        # The key, its gate and whether the pool is full.
        seeks.cache = (KeysValues(dim * 2 + 1, 0, heads=1, name="indexer"),)
    return block


def _indexer_types(_d: Decoder, c: ModelConfig, layers: int) -> tuple[str, ...]:
    """full or shared for each layer; older configs give a pattern of letters or a step."""
    pattern = c.raw("index_topk_pattern")
    if not c.has("indexer_types") and pattern is not None:
        letters = {"F": "full", "S": "shared"}
        listed = list(pattern) if isinstance(pattern, (str, list)) else []
        if len(listed) < layers:
            raise c.error("index_topk_pattern", pattern, f"one for each of {layers} layers")
        return tuple(letters.get(word, str(word)) for word in listed[:layers])
    step = max(int(c.dim("index_topk_freq", default=1, minimum=0)), 1)
    skipped = int(c.dim("index_skip_topk_offset", default=2, minimum=0))
    usual = ["shared" if max(i - skipped + 1, 0) % step else "full" for i in range(layers)]
    return layer_types(c, layers, usual.__getitem__, key="indexer_types")


def _layer(d: Decoder, c: ModelConfig, kinds: tuple[str, str, str]) -> Module:
    mixes, mlp, choosing = kinds
    linear = mixes == "linear_attention"
    indexed = choosing != "shared"
    mixer = _linear_attention(d, c) if linear else _indexed_attention(d, c, indexed=indexed)
    block = mixed(d, c, mixer, "dense" if mlp == "dense" else "sparse")
    return block.adding(**hyper_connections(c, d.width(c)))


_TEXT = Decoder(
    "Glm5NextText",
    **config_defaults("glm5_next"),
    layer=_layer,
    rotary=False,
    kinds=side_by_side(
        words(lambda _c, i: "indexed_attention" if i % 4 == 3 else "linear_attention"),
        words(lambda _c, i: "dense" if i < 3 else "sparse", key="mlp_layer_types"),
        _indexer_types,
    ),
    moe=m.sparse(
        "MoE",
        m.DEEPSEEK,
        used=8,
        inner=2048,
        count=m.counts("n_routed_experts", "num_local_experts", default=288, minimum=1),
        shared=m.several("n_shared_experts", default=1, minimum=1),
    ),
)
_PARTS = {
    "visual": lambda c: builder("Glm5NextVisionModel")(c.section("vision_config")),
    "language_model": lambda c: _TEXT.model(text_section(c)),
}
register_worded("glm5_next", "Glm5Next", _PARTS, tied=False, alone=_TEXT.model)
