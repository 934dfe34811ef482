"""LongCat-Flash (Meituan 2025; transformers/models/longcat_flash). A layer is two latent attentions
and two dense MLPs with one mixture of experts next to them. Some experts do nothing: transformers
saves their input matrices, which the Hub's files do not have. Those hold a layer ``model.mtp`` that
transformers drops (vLLM, longcat_flash_mtp.py)."""

from collections.abc import Callable

from ..layers import named_decoder as s
from ..layers.blocks import gated_mlp, rms_norms, size
from ..layers.latent import latent_attention, latent_sizes
from ..layers.named_decoder import NamedDecoder, NamedPart
from ..trees import Buffer, Component, Layers, Linear, ModelConfig, Module, ModuleList


def _attention(d: NamedDecoder, c: ModelConfig) -> Module:
    sizes = latent_sizes(c, heads=64)
    bias = c.flag("attention_bias", default=False)
    block = latent_attention(d.name, d.width(c), sizes, bias=bias).called("LongcatFlashMLA")
    if c.has("qk_head_dim") and sizes.query_rank:
        width = sizes.heads * c.dim("qk_head_dim")
        block.adding(q_b_proj=Linear(sizes.query_rank, width, bias=False, kind="query_up"))
    return block


def _mixture(d: NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    inner = c.dim("expert_ffn_hidden_size", "moe_intermediate_size", default=2048)
    real = c.count("n_routed_experts", "num_local_experts", default=512)
    scored = real + c.count("zero_expert_num", default=256)
    per_token = int(c.dim("moe_topk", "num_experts_per_tok", default=12))

    def part(inputs: int, outputs: int, count: int) -> Module:
        block = Linear(inputs, outputs, bias=False)
        block.active = (min(per_token, int(count)), int(count)) if count else None
        return block

    into = part(h, inner, scored)
    idle = Module("LongcatFlashMLP", gate_proj=into, up_proj=into)
    doing = Module("LongcatFlashMLP", idle.children).adding(down_proj=part(inner, h, real))
    rows = [doing] * int(real) + ([idle] * int(scored - real) if real else [])
    gate = Module(
        "LongcatFlashTopkRouter",
        classifier=Linear(h, scored, bias=c.flag("router_bias", default=False)),
        e_score_correction_bias=Buffer(scored, dtype="F32"),
        component=Component.ROUTER,
    )
    experts = ModuleList(rows, class_name="LongcatFlashExperts", kind="expert")
    return Module("LongcatFlashMoE", experts=experts, router=gate, component=Component.MLP)


def _dense(d: NamedDecoder, c: ModelConfig) -> Module:
    inner = c.dim("ffn_hidden_size", "intermediate_size", default=12288)
    act = c.text("hidden_act", default="silu")
    return gated_mlp("LongcatFlashMLP", d.width(c), inner, act=act)


def _twice(part: Callable[[NamedDecoder, ModelConfig], Module]) -> NamedPart:
    """Two of a layer's part."""
    return lambda d, c: ModuleList([part(d, c)] * 2)


def _layers(d: NamedDecoder, c: ModelConfig) -> Layers:
    """num_hidden_layers counts the attentions, two a layer, and is taken where both are given."""
    halved = c.has("num_hidden_layers")
    count = c.count("num_hidden_layers") // 2 if halved else c.count("num_layers", default=28)
    return Layers.of(count, d.of(c, "DecoderLayer", d.block))


def _predictor(d: NamedDecoder, c: ModelConfig) -> Module | None:
    """A layer of one latent attention and one dense MLP, with a token table and a norm of its own;
    files say transformer_layer.mlp and put the norms of its inputs under ``m``. The Hub's configs
    do not mention it."""
    count = int(c.count("num_nextn_predict_layers", default=1))
    if not count:
        return None
    inputs = Module("LongcatFlashMTPNorm", m=s.norm(d, c))
    row = Module(
        "LongcatFlashMTPLayer",
        eh_proj=Linear(d.width(c) * 2, d.width(c), bias=False, component=Component.PROJECTOR),
        enorm=inputs,
        hnorm=inputs,
        input_layernorm=s.norm(d, c),
        post_attention_layernorm=s.norm(d, c),
        self_attn=_attention(d, c),
        transformer_layer=Module("LongcatFlashMTPBlock", mlp=_dense(d, c)),
    )
    parts = {"embed_tokens": s.words(d, c), "layers": Layers([row] * count), "norm": s.norm(d, c)}
    return Module("LongcatFlashMTP", part="mtp", kind="mtp", saved=False).adding(**parts)


_LONGCAT = NamedDecoder(
    "LongcatFlash",
    width=size("hidden_size", default=6144),
    heads=size("num_attention_heads", default=64),
    vocab=size("vocab_size", default=131072),
    norms=rms_norms("LongcatFlashRMSNorm", 1e-5),
    model={"embed_tokens": s.words, "layers": _layers, "norm": s.norm, "mtp": _predictor},
    block={
        "mlp": _mixture,
        "self_attn": _twice(_attention),
        "mlps": _twice(_dense),
        "input_layernorm": _twice(s.norm),
        "post_attention_layernorm": _twice(s.norm),
    },
    prefix="model",
    tied=False,
)
_LONGCAT.register("longcat_flash", _LONGCAT.classes(heads=()))
