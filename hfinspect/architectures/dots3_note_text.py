"""dots3.note's text model (rednote 2026; transformers/models/dots3_note). Latent attention with a
gate per head; layers with a sliding window have sizes of their own (``swa_...`` in older configs,
``per_layer_config`` in newer ones), the others a sparse indexer."""

from ..layers import mixtures as m
from ..layers.blocks import layer_overrides, layer_types
from ..layers.composing import renamed
from ..layers.decoders import Decoder, mixed, norms_called
from ..layers.heads import register_tower
from ..layers.latent import Latent, indexer, latent_attention, latent_sizes
from ..trees import Dim, Linear, ModelConfig, Module, WindowsOf, config_defaults

#: Names of the sizes that layers with a sliding window have of their own, and their defaults.
_SLIDING = config_defaults("dots3_note_text")
#: Experts are listed once for each distinct kind of layer; published models have three.
_MAX_DISTINCT = 32


def _types(c: ModelConfig, count: int) -> list[str]:
    """indexed, full or sliding; ``use_dsa`` swaps the first two, but in a saved config, which lists
    the types as they are: only an older one has the switch."""
    names = ("indexed_attention", "full_attention")
    sparse = not c.has("use_dsa") or c.flag("use_dsa", default=True)
    full, rest = names if sparse else names[::-1]
    windows = c.flag("use_sliding_window", default=True)
    types = layer_types(
        c, count, lambda i: full if not windows or i < 2 or i % 4 == 1 else "sliding_attention"
    )
    final = c.has("per_layer_config") and not c.has("use_dsa")
    return [full if kind == rest and not final else kind for kind in types]


def _sizes(c: ModelConfig, i: int, kind: str) -> Latent:
    if c.has("per_layer_config"):
        c = ModelConfig({**c.values, **layer_overrides(c, i).values}, c.path)
    elif kind == "sliding_attention":
        read = (c.dim(f"swa_{key}", default=value) for key, value in _SLIDING.items())
        heads, query, key_value, head, plain, value = read
        if plain >= head:
            raise c.error("swa_qk_nope_head_dim", int(plain), f"less than the head's {head}")
        rotary = c.dim("swa_qk_rope_head_dim", default=head - plain)
        return Latent(heads, query, key_value, plain, rotary, value)
    return latent_sizes(c, heads=128, query_rank=1024)


def _layer(d: Decoder, c: ModelConfig, kind: tuple[Latent, str, str]) -> Module:
    (s, attends, mlp) = kind
    h = d.width(c)
    if s.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    bias = c.flag("attention_bias", default=False)
    seeks = None
    block = renamed(latent_attention("Dots3Note", h, s, bias=bias), "Dots3NoteA", "Dots3NoteTextA")
    if attends == "indexed_attention":  # the norm of its keys runs in float32
        seeks = indexer(c, d.name, h, s, heads=64, dtype="F32")
    gate = Linear(h, s.heads, bias=False, kind="gate")
    norm = d.norm(d, c, s.rotary)
    block.adding(k_rope_only_layernorm=norm, g_proj=gate, indexer=seeks)
    return mixed(d, c, block, mlp)


def _mlps(c: ModelConfig, count: int) -> tuple[str, ...]:
    key = "moe_layer_freq"
    first = c.count("first_k_dense_replace", default=1)
    if isinstance(c.raw(key), (list, tuple)):
        sparse = c.flags(key, count=count)
    else:
        step = c.dim(key, default=1)
        sparse = tuple(i % step == 0 for i in range(count))
    usual = ["sparse" if i >= first and sparse[i] else "dense" for i in range(count)]
    return layer_types(c, count, usual.__getitem__, key="mlp_layer_types")


def _windows(c: ModelConfig) -> WindowsOf:
    kinds = _types(c, c.count("num_hidden_layers", default=46))
    size = int(c.dim("sliding_window", "sliding_window_size", default=512))
    return lambda layers: [size if kinds[i] == "sliding_attention" else None for i in range(layers)]


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Latent, str, str]]:
    described = zip(_types(c, layers), _mlps(c, layers), strict=True)
    kinds = [(_sizes(c, i, kind), kind, mlp) for i, (kind, mlp) in enumerate(described)]
    if len(set(kinds)) > _MAX_DISTINCT:
        raise c.error("per_layer_config", "more", f"at most {_MAX_DISTINCT} kinds of layer")
    return kinds


def _shared(c: ModelConfig, _inner: Dim) -> Dim:
    keys = ("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size")
    return c.dim(*keys, default=1536) * c.count("n_shared_experts", default=1)


_TEXT = Decoder(
    "Dots3NoteText",
    **config_defaults("dots3_note_text.decoder"),
    norm=norms_called("Dots3NoteRMSNorm"),
    kinds=_kinds,
    windows=_windows,
    layer=_layer,
    moe=m.sparse(
        "MoE",
        {
            **m.DEEPSEEK,
            "experts": lambda x: renamed(m.each(x), "Dots3NoteTextExperts", "Dots3NoteExperts"),
        },
        count=m.counts("n_routed_experts", "num_local_experts", default=256, minimum=1),
        used=m.counts("num_experts_per_tok", default=8),
        shared=_shared,
        inner=1536,
    ),
)
model = _TEXT.model
register_tower("dots3_note_text", "Dots3Note", model)
