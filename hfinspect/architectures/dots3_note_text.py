"""dots3.note's text model (rednote 2026).

Source of shapes: transformers/models/dots3_note/modeling_dots3_note.py.
Latent attention with a gate per head; layers with a sliding window have sizes of their own
(``swa_...`` in older configs, ``per_layer_config`` in newer ones), the others a sparse indexer.
Experts as in DeepSeek-V3. Vision and audio towers are not in the catalog.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import layer_overrides, layer_types, rms_norms, size
from ..layers.composing import renamed
from ..layers.decoders import Decoder, pre_norm
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import register_tower
from ..layers.latent import Latent, latent_attention, latent_sizes
from ..trees.keeps import KeysValues
from ..trees.modules import LayerNorm, Linear, Module, Windows
from .llama import LLAMA

#: Names of the sizes that layers with a sliding window have of their own, and their defaults.
_SLIDING = {
    "num_attention_heads": 64,
    "q_lora_rank": 1024,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}
#: Experts are listed once for each distinct kind of layer; published models have three.
_MAX_DISTINCT = 32


_hidden = size("hidden_size", default=5120)
_norm = rms_norms("Dots3NoteRMSNorm", 1e-5)


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
    usual = latent_sizes(c, heads=128, query_rank=1024)
    if c.has("per_layer_config"):
        own = {**c.values, **layer_overrides(c, i).values}
        return latent_sizes(ModelConfig(own, c.path), heads=128, query_rank=1024)
    if kind != "sliding_attention":
        return usual
    swa = {key: c.dim(f"swa_{key}", default=value) for key, value in _SLIDING.items()}
    plain = swa["qk_nope_head_dim"]
    if plain >= swa["head_dim"]:
        raise c.error("swa_qk_nope_head_dim", int(plain), f"less than the head's {swa['head_dim']}")
    rotary = c.dim("swa_qk_rope_head_dim", default=swa["head_dim"] - plain)
    return Latent(
        heads=swa["num_attention_heads"],
        query_rank=swa["q_lora_rank"],
        kv_rank=swa["kv_lora_rank"],
        plain=plain,
        rotary=rotary,
        value=swa["v_head_dim"],
    )


def indexer(c: ModelConfig, query_rank: Dim) -> Module:
    heads = c.dim("index_n_heads", default=64)
    dim = c.dim("index_head_dim", default=128)
    return Module(
        "Dots3NoteTextIndexer",
        wq_b=Linear(query_rank, heads * dim, bias=False),
        wk=Linear(_hidden(c), dim, bias=False),
        k_norm=LayerNorm(dim, eps=1e-6),
        weights_proj=Linear(_hidden(c), heads, bias=False),
        kind="indexer",
        # The norm of the keys runs in float32.
        keeps=(KeysValues(dim, 0, heads=1, name="indexer", dtype="F32"),),
    )


def attention(c: ModelConfig, s: Latent, kind: str) -> Module:
    h, rank = _hidden(c), s.query_rank
    if rank is None:
        raise c.error("q_lora_rank", None, "a rank")
    bias = c.flag("attention_bias", default=False)
    block = renamed(latent_attention("Dots3Note", h, s, bias=bias), "Dots3NoteA", "Dots3NoteTextA")
    block.children["k_rope_only_layernorm"] = _norm(c, s.rotary)
    block.children["g_proj"] = Linear(h, s.heads, bias=False, kind="gate")
    if kind == "indexed_attention":
        block.children["indexer"] = indexer(c, rank)
    return block


def moe(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.dim(
        "moe_shared_expert_intermediate_size", "shared_experts_intermediate_size", default=1536
    )
    block = routed_and_shared(
        "Dots3NoteText", h, c.dim("moe_intermediate_size", default=1536), count=count,
        per_token=c.count("num_experts_per_tok", default=8),
        shared=shared * c.count("n_shared_experts", default=1),
        gate=corrected_router("Dots3NoteTextTopkRouter", h, count), act=d.act(c),
    )  # fmt: skip
    return renamed(block, "Dots3NoteTextExperts", "Dots3NoteExperts")


def mlp_types(c: ModelConfig, count: int) -> tuple[str, ...]:
    first = c.count("first_k_dense_replace", default=1)
    listed = isinstance(c.raw("moe_layer_freq"), (list, tuple))
    steps = [] if listed else [c.dim("moe_layer_freq", default=1)]
    flags = c.flags("moe_layer_freq", default=()) if listed else ()
    if listed and len(flags) != count:
        raise c.error("moe_layer_freq", f"{len(flags)} entries", f"one for each of {count} layers")

    def usual(i: int) -> str:
        wanted = flags[i] if listed else i % steps[0] == 0
        return "sparse" if i >= first and wanted else "dense"

    return layer_types(c, count, usual, key="mlp_layer_types")


def layer(d: Decoder, c: ModelConfig, kind: tuple[Latent, str, str]) -> Module:
    latent, mixer, mlp = kind
    return pre_norm(d.like(d.name, attention=lambda _d, c: attention(c, latent, mixer)), c, mlp)


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
    num_hidden_layers=46, rms_norm_eps=1e-5, mlp_bias=None, norm=lambda _d, c, size: _norm(c, size),
    moe=moe, layer=layer, kinds=_kinds, windows=_windows,
)  # fmt: skip
model = _TEXT.model
register_tower("dots3_note_text", "Dots3Note", model)
