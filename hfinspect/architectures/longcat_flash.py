"""LongCat-Flash (Meituan 2025). Source of shapes: transformers/models/longcat_flash.

A layer is two latent attentions and two dense MLPs with one mixture of experts next to them.  Some
experts do nothing (``zero_expert_num``): the router scores them, and transformers makes and saves
their input matrices, which the Hub's files do not have.

Files on the Hub hold one more layer, ``model.mtp``, that predicts the token after next;
transformers drops it. Its names and shapes: vLLM, model_executor/models/longcat_flash_mtp.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp, size
from ..layers.heads import decoder_classes
from ..layers.latent import Latent, latent_attention
from ..trees.catalog import register
from ..trees.modules import Buffer, Embedding, Layers, Linear, Module, ModuleList, RMSNorm

_NAME = "LongcatFlash"


_hidden = size("hidden_size", default=6144)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="LongcatFlashRMSNorm")


def attention(c: ModelConfig) -> Module:
    plain = c.dim("qk_nope_head_dim", default=128, minimum=0)
    rotary = c.dim("qk_rope_head_dim", default=64, minimum=0)
    sizes = Latent(
        heads=c.dim("num_attention_heads", default=64),
        query_rank=c.dim("q_lora_rank", default=1536),
        kv_rank=c.dim("kv_lora_rank", default=512),
        plain=plain,
        rotary=rotary,
        value=c.dim("v_head_dim", default=128),
    )
    block = latent_attention(_NAME, _hidden(c), sizes, bias=c.flag("attention_bias", default=False))
    if c.has("qk_head_dim"):
        width = sizes.heads * c.dim("qk_head_dim")
        block.children["q_b_proj"] = Linear(
            c.dim("q_lora_rank", default=1536), width, bias=False, kind="query_up"
        )
    block.class_name = "LongcatFlashMLA"
    return block


def mixture(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("expert_ffn_hidden_size", "moe_intermediate_size", default=2048)
    real = c.count("n_routed_experts", "num_local_experts", default=512)
    zero = c.count("zero_expert_num", default=256)
    per_token = int(c.dim("moe_topk", "num_experts_per_tok", default=12))
    scored = real + zero
    up = {"gate_proj": Linear(h, inner, bias=False), "up_proj": Linear(h, inner, bias=False)}
    for part in up.values():
        part.active = (min(per_token, int(scored)), int(scored)) if scored else None
    down = Linear(inner, h, bias=False)
    down.active = (min(per_token, int(real)), int(real)) if real else None
    doing = Module("LongcatFlashMLP", {**up, "down_proj": down})
    idle = Module("LongcatFlashMLP", up)
    return Module(
        "LongcatFlashMoE",
        experts=ModuleList(
            [doing] * int(real) + ([idle] * int(zero) if real else []),
            class_name="LongcatFlashExperts",
            kind="expert",
        ),
        router=Module(
            "LongcatFlashTopkRouter",
            classifier=Linear(h, scored, bias=c.flag("router_bias", default=False)),
            e_score_correction_bias=Buffer(scored, dtype="F32"),
            component=Component.ROUTER,
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig) -> Module:
    inner = c.dim("ffn_hidden_size", "intermediate_size", default=12288)
    dense = gated_mlp(
        "LongcatFlashMLP", _hidden(c), inner, act=c.text("hidden_act", default="silu")
    )
    return Module(
        "LongcatFlashDecoderLayer",
        mlp=mixture(c),
        self_attn=ModuleList([attention(c)] * 2),
        mlps=ModuleList([dense] * 2),
        input_layernorm=ModuleList([_norm(c)] * 2),
        post_attention_layernorm=ModuleList([_norm(c)] * 2),
    )


def predictor(c: ModelConfig) -> Module | None:
    """A layer of one latent attention and one dense MLP, with a token table and a norm of its own;
    files say transformer_layer.mlp and put the norms of its inputs under ``m``. The Hub's configs
    do not mention it."""
    count = int(c.count("num_nextn_predict_layers", default=1))
    if not count:
        return None
    h, inner = _hidden(c), c.dim("ffn_hidden_size", "intermediate_size", default=12288)
    dense = gated_mlp("LongcatFlashMLP", h, inner, act=c.text("hidden_act", default="silu"))
    row = Module(
        "LongcatFlashMTPLayer",
        eh_proj=Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
        enorm=Module("LongcatFlashMTPNorm", m=_norm(c)),
        hnorm=Module("LongcatFlashMTPNorm", m=_norm(c)),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        self_attn=attention(c),
        transformer_layer=Module("LongcatFlashMTPBlock", mlp=dense),
    )
    return Module(
        "LongcatFlashMTP",
        embed_tokens=Embedding(c.dim("vocab_size", default=131072), h),
        layers=Layers([row] * count),
        norm=_norm(c),
        part="mtp",
        kind="mtp",
        saved=False,
    )


def model(c: ModelConfig) -> Module:
    # num_hidden_layers counts the attentions, two a layer.
    count = c.count("num_layers", default=c.count("num_hidden_layers", default=56) // 2)
    return Module(
        "LongcatFlashModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=131072), _hidden(c)),
        layers=Layers.of(count, layer(c)),
        norm=_norm(c),
        mtp=predictor(c),
    )


register(
    "longcat_flash",
    decoder_classes(_NAME, model, heads=()),
    base_prefix="model",
    category="text decoder",
)
