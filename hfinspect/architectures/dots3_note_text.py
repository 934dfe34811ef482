"""dots3.note's text model (rednote 2026).

Source of shapes: transformers/models/dots3_note/modeling_dots3_note.py.
Latent attention with a gate per head; layers with a sliding window have sizes of their own
(``swa_...`` in older configs, ``per_layer_config`` in newer ones), the others a sparse indexer.
Experts as in DeepSeek-V3. Vision and audio towers are not in the catalog.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, layer_overrides, layer_types, rms_norms, size
from ..layers.composing import renamed
from ..layers.experts import corrected_router, routed_and_shared
from ..layers.heads import causal_lm
from ..layers.latent import Latent, latent_attention, latent_sizes
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Windows,
)

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


def attention_types(c: ModelConfig, count: Dim) -> list[str]:
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


def moe(c: ModelConfig) -> Module:
    h = _hidden(c)
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.dim(
        "moe_shared_expert_intermediate_size", "shared_experts_intermediate_size", default=1536
    )
    block = routed_and_shared(
        "Dots3NoteText",
        h,
        c.dim("moe_intermediate_size", default=1536),
        count=count,
        per_token=c.count("num_experts_per_tok", default=8),
        shared=shared * c.count("n_shared_experts", default=1),
        gate=corrected_router("Dots3NoteTextTopkRouter", h, count),
        act=c.text("hidden_act", default="silu"),
    )
    return renamed(block, "Dots3NoteTextExperts", "Dots3NoteExperts")


def mlp_types(c: ModelConfig, count: Dim) -> tuple[str, ...]:
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


def layer(c: ModelConfig, s: Latent, kind: str, mlp: str) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=13824)
    act = c.text("hidden_act", default="silu")
    return Module(
        "Dots3NoteTextDecoderLayer",
        self_attn=attention(c, s, kind),
        mlp=moe(c) if mlp == "sparse" else gated_mlp("Dots3NoteTextMLP", h, inner, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def _windows(c: ModelConfig) -> Windows:
    kinds = attention_types(c, c.count("num_hidden_layers", default=46))
    size = int(c.dim("sliding_window", "sliding_window_size", default=512))
    return lambda layers: [size if kinds[i] == "sliding_attention" else None for i in range(layers)]


def model(c: ModelConfig) -> Module:
    count = c.count("num_hidden_layers", default=46)
    built: dict[tuple[Latent, str, str], Module] = {}
    blocks = []
    described = zip(attention_types(c, count), mlp_types(c, count), strict=True)
    for i, (kind, mlp) in enumerate(described):
        key = (sizes(c, i, kind), kind, mlp)
        if key not in built:
            if len(built) == _MAX_DISTINCT:
                raise c.error("per_layer_config", "more", f"at most {_MAX_DISTINCT} kinds of layer")
            built[key] = layer(c, *key)
        blocks.append(built[key])
    return Module(
        "Dots3NoteTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=152064), _hidden(c)),
        layers=Layers(blocks, windows=_windows(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("Dots3NoteTextRotaryEmbedding"),
    )


register(
    "dots3_note_text",
    {"Dots3NoteForCausalLM": causal_lm("Dots3NoteForCausalLM", model), "Dots3NoteTextModel": model},
    base_prefix="model",
    category="text decoder",
)
