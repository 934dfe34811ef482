"""LongCat-Flash (Meituan 2025; transformers/models/longcat_flash). A layer is two latent attentions
and two dense MLPs with one mixture of experts next to them. Some experts do nothing: transformers
saves their input matrices, which the Hub's files do not have. Those hold a layer ``model.mtp`` that
transformers drops (vLLM, longcat_flash_mtp.py)."""

from ..layers import spelled as s
from ..layers.blocks import gated_mlp, rms_norms, size
from ..layers.latent import latent_attention, latent_sizes
from ..layers.spelled import Part, Spelled
from ..trees import Buffer, Component, Layers, Linear, ModelConfig, Module, ModuleList


def attention(d: Spelled, c: ModelConfig) -> Module:
    sizes, bias = latent_sizes(c, heads=64), c.flag("attention_bias", default=False)
    block = latent_attention(d.name, d.width(c), sizes, bias=bias)
    if c.has("qk_head_dim") and sizes.query_rank:
        width = sizes.heads * c.dim("qk_head_dim")
        block.children["q_b_proj"] = Linear(sizes.query_rank, width, bias=False, kind="query_up")
    block.class_name = "LongcatFlashMLA"
    return block


def mixture(d: Spelled, c: ModelConfig) -> Module:
    h = d.width(c)
    inner = c.dim("expert_ffn_hidden_size", "moe_intermediate_size", default=2048)
    real = c.count("n_routed_experts", "num_local_experts", default=512)
    zero = c.count("zero_expert_num", default=256)
    per_token = int(c.dim("moe_topk", "num_experts_per_tok", default=12))
    scored = real + zero
    up = {name: Linear(h, inner, bias=False) for name in ("gate_proj", "up_proj")}
    down = Linear(inner, h, bias=False)
    for part, count in ((up["gate_proj"], scored), (up["up_proj"], scored), (down, real)):
        part.active = (min(per_token, int(count)), int(count)) if count else None
    doing = Module("LongcatFlashMLP", {**up, "down_proj": down})
    idle = [Module("LongcatFlashMLP", dict(up))] * int(zero) if real else []
    experts = ModuleList(
        [*[doing] * int(real), *idle], class_name="LongcatFlashExperts", kind="expert"
    )
    gate = Module(
        "LongcatFlashTopkRouter",
        classifier=Linear(h, scored, bias=c.flag("router_bias", default=False)),
        e_score_correction_bias=Buffer(scored, dtype="F32"),
        component=Component.ROUTER,
    )
    return Module("LongcatFlashMoE", experts=experts, router=gate, component=Component.MLP)


def dense(d: Spelled, c: ModelConfig) -> Module:
    inner = c.dim("ffn_hidden_size", "intermediate_size", default=12288)
    act = c.text("hidden_act", default="silu")
    return gated_mlp("LongcatFlashMLP", d.width(c), inner, act=act)


def twice(part: Part) -> Part:
    """Two of a layer's part."""

    def both(d: Spelled, c: ModelConfig) -> Module:
        made = part(d, c)
        assert isinstance(made, Module)
        return ModuleList([made] * 2)

    return both


def layers(d: Spelled, c: ModelConfig) -> Layers:
    """num_hidden_layers counts the attentions, two a layer, and is taken where both are given."""
    halved = c.has("num_hidden_layers")
    count = c.count("num_hidden_layers") // 2 if halved else c.count("num_layers", default=28)
    return Layers.of(count, d.of(c, "DecoderLayer", d.block))


def predictor(d: Spelled, c: ModelConfig) -> Module | None:
    """A layer of one latent attention and one dense MLP, with a token table and a norm of its own;
    files say transformer_layer.mlp and put the norms of its inputs under ``m``. The Hub's configs
    do not mention it."""
    count = int(c.count("num_nextn_predict_layers", default=1))
    if not count:
        return None
    h = d.width(c)
    norms = ("enorm", "hnorm"), ("input_layernorm", "post_attention_layernorm")
    row = Module(
        "LongcatFlashMTPLayer",
        {
            "eh_proj": Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
            **{name: Module("LongcatFlashMTPNorm", m=s.norm(d, c)) for name in norms[0]},
            **{name: s.norm(d, c) for name in norms[1]},
            "self_attn": attention(d, c),
            "transformer_layer": Module("LongcatFlashMTPBlock", mlp=dense(d, c)),
        },
    )
    parts = {"embed_tokens": s.words(d, c), "layers": Layers([row] * count), "norm": s.norm(d, c)}
    return Module("LongcatFlashMTP", dict(parts), part="mtp", kind="mtp", saved=False)


_LONGCAT = Spelled(
    "LongcatFlash", width=size("hidden_size", default=6144),
    heads=size("num_attention_heads", default=64), vocab=size("vocab_size", default=131072),
    norms=rms_norms("LongcatFlashRMSNorm", 1e-5),
    model={"embed_tokens": s.words, "layers": layers, "norm": s.norm, "mtp": predictor},
    block={
        "mlp": mixture, "self_attn": twice(attention), "mlps": twice(dense),
        "input_layernorm": twice(s.norm), "post_attention_layernorm": twice(s.norm),
    },
    prefix="model", tied=False,
)  # fmt: skip
_LONGCAT.register("longcat_flash", _LONGCAT.classes(heads=()))
