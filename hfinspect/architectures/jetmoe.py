"""JetMoE (Shen et al. 2024). Source of shapes: transformers/models/jetmoe/modeling_jetmoe.py.

Experts in attention too: k of n pairs of query and output projections serve a token, keys and
values are everyone's.  Experts lie stacked in memory as in files.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="JetMoeRMSNorm")


def _routed(c: ModelConfig, class_name: str, inner: Dim, outer: Dim) -> Module:
    """hidden -> ``inner`` -> (``outer``) hidden by k of n experts, and a bias for the sum."""
    h, count = _hidden(c), c.count("num_local_experts", default=8, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=2)
    active = (min(int(per_token), int(count)), int(count))

    def stacked(*shape: int) -> Module:
        return Module(
            "JetMoeParallelExperts", weight=Weight(*shape), kind="expert", active=active
        )  # fmt: skip

    return Module(
        class_name,
        bias=Weight(h),
        input_linear=stacked(count, inner, h),
        output_linear=stacked(count, h, outer),
        router=Module(
            "JetMoeTopKGating", layer=Linear(h, count, bias=False), component=Component.ROUTER
        ),
    )


def layer(c: ModelConfig) -> Module:
    kv = c.dim("num_key_value_heads", default=16)
    width = c.dim("kv_channels", "head_dim", default=128) * kv
    inner = c.dim("intermediate_size", default=5632)
    mlp = _routed(c, "JetMoeMoE", inner * 2, inner)
    mlp.component = Component.MLP
    return Module(
        "JetMoeDecoderLayer",
        mlp=mlp,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        self_attention=Module(
            "JetMoeAttention",
            experts=_routed(c, "JetMoeMoA", width, width),
            kv_proj=Linear(_hidden(c), width * 2, bias=False, kind="key"),
            component=Component.ATTENTION,
            keeps=(KeysValues(width, width, heads=kv),),
        ),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    return Module(
        "JetMoeModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=12), layer(c)),
        norm=_norm(c),
    )


_CLASSES = decoder_classes("JetMoe", model, hidden=_hidden, tied_default=True, heads=SEQUENCE_HEAD)
register("jetmoe", _CLASSES, base_prefix="model", category="text decoder")
