"""DeepSeek-V3 and R1 (DeepSeek-AI 2024). Source: transformers/models/deepseek_v3.

Multi-head latent attention: queries and keys/values pass through narrow projections with a norm in
between, and only a part of each head carries positions.  The first layers are dense; the others
have routed and shared experts, the router a correction bias that is a buffer in float32.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict the token after next
(multi-token prediction); transformers drops them.  Their names: the Hub's own indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import experts, gated_mlp, layer_types
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Layers, Linear, Module, RMSNorm, Weight


@dataclass(frozen=True)
class Latent:
    """Sizes of latent attention. ``query_rank`` None: queries are projected directly; a head's
    query and key are ``plain + rotary`` wide, its value ``value``."""

    heads: Dim
    query_rank: Dim | None
    kv_rank: Dim
    plain: Dim
    rotary: Dim
    value: Dim


def latent_sizes(
    c: ModelConfig,
    *,
    heads: int,
    query_rank: int | None = 1536,
    kv_rank: int = 512,
    plain: int = 128,
    rotary: int = 64,
    value: int = 128,
) -> Latent:
    """The sizes in a config; the keywords are the family's defaults.

    A ``q_lora_rank`` that is present and null switches the query's latent off.
    """
    direct = "q_lora_rank" in c.values and c.values["q_lora_rank"] is None
    direct = direct or (query_rank is None and not c.has("q_lora_rank"))
    return Latent(
        heads=c.dim("num_attention_heads", default=heads),
        query_rank=None if direct else c.dim("q_lora_rank", default=query_rank),
        kv_rank=c.dim("kv_lora_rank", default=kv_rank),
        plain=c.dim("qk_nope_head_dim", default=plain, minimum=0),
        rotary=c.dim("qk_rope_head_dim", default=rotary, minimum=0),
        value=c.dim("v_head_dim", default=value),
    )


def latent_attention(name: str, hidden: int, s: Latent, *, bias: bool) -> Module:
    """Multi-head latent attention (DeepSeek-V2, section 2.1). ``bias`` is that of the projections
    from and to the residual stream."""
    width = s.heads * (s.plain + s.rotary)
    if s.query_rank is None:
        queries = {"q_proj": Linear(hidden, width, bias=False, kind="query")}
    else:
        queries = {
            "q_a_proj": Linear(hidden, s.query_rank, bias=bias, kind="query_down"),
            "q_a_layernorm": RMSNorm(s.query_rank, class_name=f"{name}RMSNorm"),
            "q_b_proj": Linear(s.query_rank, width, bias=False, kind="query_up"),
        }
    return Module(
        f"{name}Attention",
        {
            **queries,
            "kv_a_proj_with_mqa": Linear(hidden, s.kv_rank + s.rotary, bias=bias, kind="kv_down"),
            "kv_a_layernorm": RMSNorm(s.kv_rank, class_name=f"{name}RMSNorm"),
            "kv_b_proj": Linear(s.kv_rank, s.heads * (s.plain + s.value), bias=False, kind="kv_up"),
            "o_proj": Linear(s.heads * s.value, hidden, bias=bias, kind="output"),
        },
        component=Component.ATTENTION,
    )


def corrected_router(class_name: str, hidden: int, count: int) -> Module:
    """Scores of the experts and the bias that balances their load: a buffer, not learned by
    gradients, kept in float32."""
    return Module(
        class_name,
        weight=Weight(count, hidden),
        e_score_correction_bias=Buffer(count, dtype="F32"),
        component=Component.ROUTER,
    )


def routed_and_shared(
    name: str,
    hidden: int,
    inner: int,
    *,
    count: Dim,
    per_token: int,
    shared: int | None,
    gate: Module,
    act: str | None = "silu",
    bias: bool = False,
    class_name: str | None = None,
) -> Module:
    """``count`` routed experts of width ``inner`` and one shared expert of width ``shared``."""
    return Module(
        class_name or f"{name}MoE",
        experts=experts(
            count,
            per_token,
            gated_mlp(f"{name}MLP", hidden, inner, act=act, kind="expert"),
            class_name=f"{name}Experts",
        ),
        gate=gate,
        shared_experts=gated_mlp(
            f"{name}MLP", hidden, shared, bias=bias, act=act, kind="shared_expert"
        )
        if shared
        else None,
        component=Component.MLP,
    )


def shared_width(c: ModelConfig, inner: Dim, *, default: int) -> Dim | None:
    """n_shared_experts times the width of one; none where the key is null or 0."""
    if "n_shared_experts" in c.values and c.values["n_shared_experts"] is None:
        return None
    count = c.count("n_shared_experts", default=default)
    return inner * count if count else None


def next_token_layer(name: str, layer: Module, hidden: int, vocab: int) -> Module:
    """A multi-token-prediction layer as files hold it: a decoder layer, the projection that joins
    the embedding with the hidden state, and copies of embedding and head."""

    def norm() -> Module:
        return RMSNorm(hidden, class_name=f"{name}RMSNorm")

    shared_head = Module(
        "SharedHead",
        norm=norm(),
        head=Linear(hidden, vocab, bias=False, component=Component.HEAD, kind="lm_head"),
    )
    return Module(
        f"{name}MultiTokenPredictorLayer",
        {
            "embed_tokens": Embedding(vocab, hidden),
            "enorm": norm(),
            "hnorm": norm(),
            "eh_proj": Linear(hidden * 2, hidden, bias=False, component=Component.PROJECTOR),
            **layer.children,
            "shared_head": shared_head,
        },
        part="mtp",
        kind="mtp",
        saved=False,
    )


# ---- the decoder that DeepSeek-V3's descendants share


@dataclass(frozen=True)
class Variant:
    """What the descendants differ in: class name prefix, the config class's own defaults, and the
    attention, built for each word that ``types`` gives to a layer. ``listed``: the class reads
    mlp_layer_types."""

    name: str
    attention: Callable[[ModelConfig, Dim, str], Module]
    vocab: int
    hidden: int
    dense: int
    expert: int
    layers: int
    experts: int
    per_token: int
    first: int
    eps: float = 1e-6
    shared: int = 1
    listed: bool = False
    router: str = "TopkRouter"
    types: Callable[[ModelConfig, int], Sequence[str]] = lambda _, layers: ["full"] * layers

    def width(self, c: ModelConfig) -> Dim:
        return c.dim("hidden_size", default=self.hidden)

    def norm(self, c: ModelConfig, size: int) -> Module:
        eps = c.number("rms_norm_eps", default=self.eps)
        return RMSNorm(size, eps=eps, class_name=f"{self.name}RMSNorm")


def sparse_or_dense(v: Variant, c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else ``first_k_dense_replace`` dense layers and then sparse ones."""
    dense = min(int(c.count("first_k_dense_replace", default=v.first)), layers)
    usual = ["dense"] * dense + ["sparse"] * (layers - dense)
    if not v.listed:
        return usual
    found = layer_types(c, layers, usual.__getitem__, key="mlp_layer_types")
    for kind in found:
        if kind not in ("dense", "sparse"):
            raise c.error("mlp_layer_types", kind, "dense or sparse")
    return found


def mlp(v: Variant, c: ModelConfig, kind: str) -> Module:
    h, act = v.width(c), c.text("hidden_act", default="silu")
    if kind == "dense":
        return gated_mlp(f"{v.name}MLP", h, c.dim("intermediate_size", default=v.dense), act=act)
    inner = c.dim("moe_intermediate_size", default=v.expert)
    count = c.count("n_routed_experts", "num_local_experts", "num_experts", default=v.experts)
    return routed_and_shared(
        v.name,
        h,
        inner,
        count=count,
        per_token=c.dim("num_experts_per_tok", default=v.per_token),
        shared=shared_width(c, inner, default=v.shared),
        gate=corrected_router(f"{v.name}{v.router}", h, count),
        act=act,
    )


def layer(v: Variant, c: ModelConfig, mlp_kind: str, attention_kind: str) -> Module:
    h = v.width(c)
    return Module(
        f"{v.name}DecoderLayer",
        self_attn=v.attention(c, h, attention_kind),
        mlp=mlp(v, c, mlp_kind),
        input_layernorm=v.norm(c, h),
        post_attention_layernorm=v.norm(c, h),
    )


def model(v: Variant, c: ModelConfig) -> Module:
    """The decoder; each distinct layer is built once. After the layers, those of multi-token
    prediction, as many as the config says."""
    h, vocab = v.width(c), c.dim("vocab_size", default=v.vocab)
    count = int(c.count("num_hidden_layers", default=v.layers))
    described = list(zip(sparse_or_dense(v, c, count), v.types(c, count), strict=True))
    distinct = {entry: layer(v, c, *entry) for entry in dict.fromkeys(described)}
    layers = [distinct[entry] for entry in described]
    more = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))
    if more:
        routed = distinct.get(("sparse", "full")) or layer(v, c, "sparse", "full")
        layers += [next_token_layer(v.name, routed, h, vocab)] * more
    return Module(
        f"{v.name}Model",
        embed_tokens=Embedding(vocab, h),
        layers=Layers(layers),
        norm=v.norm(c, h),
    )


# ---- the family


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    bias, sizes = c.flag("attention_bias", default=False), latent_sizes(c, heads=128)
    block = latent_attention("DeepseekV3", hidden, sizes, bias=bias)
    # Files of Kimi K2 and Moonlight carry each layer's rotary frequencies.
    frequencies = Buffer(sizes.rotary // 2, dtype="F32", saved=False)
    block.children["rotary_emb"] = Module(
        "DeepseekV3RotaryEmbedding", inv_freq=frequencies, saved=False
    )
    return block


DEEPSEEK_V3 = Variant(
    "DeepseekV3",
    _attention,
    vocab=129280,
    hidden=7168,
    dense=18432,
    expert=2048,
    layers=61,
    experts=256,
    per_token=8,
    first=3,
)

classes = decoder_classes(
    "DeepseekV3",
    partial(model, DEEPSEEK_V3),
    hidden=DEEPSEEK_V3.width,
    heads=("ForSequenceClassification", "ForTokenClassification"),
)

register(
    "deepseek_v3",
    classes,
    base="DeepseekV3Model",
    base_prefix="model",
    category="text decoder",
)
