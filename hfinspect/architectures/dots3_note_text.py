"""dots3.note's text model (rednote 2026; transformers/models/dots3_note). Latent attention with a
gate per head; layers with a sliding window have sizes of their own (``swa_...`` in older configs,
``per_layer_config`` in newer ones), the others a sparse indexer."""

from ..layers import mixtures as m
from ..layers.blocks import layer_overrides, layer_types, size
from ..layers.composing import renamed
from ..layers.decoders import Decoder, mixed, norms_called
from ..layers.heads import register_tower
from ..layers.latent import Latent, indexer, latent_attention, latent_sizes
from ..trees import Dim, Linear, ModelConfig, Module, Windows
from .llama import LLAMA

#: Names of the sizes that layers with a sliding window have of their own, and their defaults.
_SLIDING = {
    "num_attention_heads": 64, "q_lora_rank": 1024, "kv_lora_rank": 1024, "head_dim": 256,
    "qk_nope_head_dim": 192, "v_head_dim": 128,
}  # fmt: skip
#: Experts are listed once for each distinct kind of layer; published models have three.
_MAX_DISTINCT = 32


def attention_types(c: ModelConfig, count: int) -> list[str]:
    """indexed, full or sliding; ``use_dsa`` swaps the first two."""
    # A saved config lists the types as they are; only an older one has the switch.
    final = c.has("per_layer_config") and not c.has("use_dsa")
    sparse = c.flag("use_dsa", default=True) if c.has("use_dsa") else True
    windows = c.flag("use_sliding_window", default=True)
    full = "indexed_attention" if sparse else "full_attention"
    found = layer_types(
        c, count, lambda i: full if not windows or i < 2 or i % 4 == 1 else "sliding_attention"
    )
    other = "full_attention" if sparse else "indexed_attention"
    return [full if kind == other and not final else kind for kind in found]


def sizes(c: ModelConfig, i: int, kind: str) -> Latent:
    if c.has("per_layer_config"):
        c = ModelConfig({**c.values, **layer_overrides(c, i).values}, c.path)
    elif kind == "sliding_attention":
        swa = {key: c.dim(f"swa_{key}", default=value) for key, value in _SLIDING.items()}
        head, plain = swa["head_dim"], swa["qk_nope_head_dim"]
        if plain >= head:
            raise c.error("swa_qk_nope_head_dim", int(plain), f"less than the head's {head}")
        return Latent(
            heads=swa["num_attention_heads"],
            query_rank=swa["q_lora_rank"],
            kv_rank=swa["kv_lora_rank"],
            plain=plain,
            rotary=c.dim("swa_qk_rope_head_dim", default=head - plain),
            value=swa["v_head_dim"],
        )
    return latent_sizes(c, heads=128, query_rank=1024)


def attention(d: Decoder, c: ModelConfig, s: Latent, kind: str) -> Module:
    h = d.width(c)
    if s.query_rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    bias = c.flag("attention_bias", default=False)
    block = renamed(latent_attention("Dots3Note", h, s, bias=bias), "Dots3NoteA", "Dots3NoteTextA")
    # The norm of the keys runs in float32.
    seeks = indexer(c, d.name, h, s, heads=64, dtype="F32") if kind == "indexed_attention" else None
    gate = Linear(h, s.heads, bias=False, kind="gate")
    return block.adding(k_rope_only_layernorm=d.norm(d, c, s.rotary), g_proj=gate, indexer=seeks)


def _shared(c: ModelConfig, _inner: Dim) -> Dim:
    keys = ("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size")
    return c.dim(*keys, default=1536) * c.count("n_shared_experts", default=1)


def mlp_types(c: ModelConfig, count: int) -> tuple[str, ...]:
    key, first = "moe_layer_freq", c.count("first_k_dense_replace", default=1)
    if isinstance(c.raw(key), (list, tuple)):
        wanted = c.flags(key, count=count)
    else:
        step = c.dim(key, default=1)
        wanted = tuple(i % step == 0 for i in range(count))
    usual = ["sparse" if i >= first and wanted[i] else "dense" for i in range(count)]
    return layer_types(c, count, usual.__getitem__, key="mlp_layer_types")


def _windows(c: ModelConfig) -> Windows:
    kinds = attention_types(c, c.count("num_hidden_layers", default=46))
    size = int(c.dim("sliding_window", "sliding_window_size", default=512))
    return lambda layers: [size if kinds[i] == "sliding_attention" else None for i in range(layers)]


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[Latent, str, str]]:
    described = zip(attention_types(c, layers), mlp_types(c, layers), strict=True)
    found = [(sizes(c, i, kind), kind, mlp) for i, (kind, mlp) in enumerate(described)]
    if len(set(found)) > _MAX_DISTINCT:
        raise c.error("per_layer_config", "more", f"at most {_MAX_DISTINCT} kinds of layer")
    return found


_TEXT = LLAMA.like(
    "Dots3NoteText", vocab_size=152064, hidden_size=5120, intermediate_size=13824,
    num_hidden_layers=46, rms_norm_eps=1e-5, mlp_bias=None, norm=norms_called("Dots3NoteRMSNorm"),
    kinds=_kinds, windows=_windows,
    layer=lambda d, c, kind: mixed(d, c, attention(d, c, *kind[:2]), kind[2]),
    moe=m.sparse(
        "MoE",
        {**m.DEEPSEEK,
         "experts": lambda x: renamed(m.each(x), "Dots3NoteTextExperts", "Dots3NoteExperts")},
        count=m.counts("n_routed_experts", "num_local_experts", default=256, minimum=1),
        used=m.counts("num_experts_per_tok", default=8), shared=_shared,
        inner=size("moe_intermediate_size", default=1536),
    ),
)  # fmt: skip
model = _TEXT.model
register_tower("dots3_note_text", "Dots3Note", model)
