"""Bark (Suno 2023). Source of shapes: transformers/models/bark/modeling_bark.py.

Three GPTs in a row, from text to semantic tokens to coarse to fine codes, and the codec that makes
sound of them.  The first two attend causally and hold their masks in the file; the third has a
table and a head for each codebook, tied in pairs.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.heads import to_words
from ..trees.catalog import auto_model, register_part
from ..trees.modules import (
    Activation,
    Buffer,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)  # fmt: skip

_hidden = size("hidden_size", default=768)
_inputs = size("input_vocab_size", "vocab_size", default=10048)
_outputs = size("output_vocab_size", default=10048)
_length = size("block_size", "window_size", default=1024)


def _norm(c: ModelConfig, *, causal: bool) -> Module:
    return LayerNorm(_hidden(c), bias=not causal or c.flag("bias", default=True))


def block(c: ModelConfig, *, causal: bool) -> Module:
    h, bias = _hidden(c), c.flag("bias", default=True)
    c.divided(h, c.dim("num_heads", "num_attention_heads", default=12), "hidden_size", "num_heads")
    return Module(
        "BarkBlock",
        layernorm_1=_norm(c, causal=causal),
        layernorm_2=_norm(c, causal=causal),
        attn=Module(
            "BarkSelfAttention",
            bias=Buffer(1, 1, _length(c), _length(c), dtype="BOOL") if causal else None,
            att_proj=Linear(h, 3 * h, bias=bias, kind="qkv"),
            out_proj=Linear(h, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "BarkMLP",
            in_proj=Linear(h, 4 * h, bias=bias, kind="up"),
            out_proj=Linear(4 * h, h, bias=bias, kind="down"),
            gelu=Activation("GELU", "approximate='none'"),
            component=Component.MLP,
        ),
    )


def _layers(c: ModelConfig, *, causal: bool) -> Layers:
    count = c.count("num_layers", "num_hidden_layers", default=12)
    return Layers.of(count, block(c, causal=causal))


def _head(c: ModelConfig, *, tied_to: str | None = None) -> Module:
    return to_words(_hidden(c), _outputs(c), tied_to)


def causal_model(name: str, c: ModelConfig) -> Module:
    return Module(
        name,
        input_embeds_layer=Embedding(_inputs(c), _hidden(c)),
        position_embeds_layer=Embedding(_length(c), _hidden(c), kind="position"),
        layers=_layers(c, causal=True),
        layernorm_final=_norm(c, causal=True),
        lm_head=_head(c),
    )


semantic = partial(causal_model, "BarkSemanticModel")
coarse = partial(causal_model, "BarkCoarseModel")


def fine(c: ModelConfig) -> Module:
    total, given = c.count("n_codes_total", default=8), c.count("n_codes_given", default=1)
    if given > total:
        raise c.error("n_codes_given", int(given), f"at most n_codes_total = {int(total)}")
    made = range(int(total) - int(given))
    tied = c.tied()
    table = Embedding(_inputs(c), _hidden(c))
    heads = [
        _head(c, tied_to=f"input_embeds_layers.{i + 1}.weight" if tied else None) for i in made
    ]
    return Module(
        "BarkFineModel",
        input_embeds_layers=ModuleList([table] * int(total)),
        position_embeds_layer=Embedding(_length(c), _hidden(c), kind="position"),
        layers=_layers(c, causal=False),
        layernorm_final=LayerNorm(_hidden(c)),
        lm_heads=ModuleList(heads),
    )


def model(c: ModelConfig) -> Module:
    fine_model = fine(c.section("fine_acoustics_config"))
    fine_model.scope = True
    return Module(
        "BarkModel",
        semantic=semantic(c.section("semantic_config")),
        coarse_acoustics=coarse(c.section("coarse_acoustics_config")),
        fine_acoustics=fine_model,
        codec_model=auto_model(c.section("codec_config"), default_type="encodec"),
        part="audio",
    )


register_part("bark", "BarkModel", model, "audio")
register_part("semantic", "BarkSemanticModel", semantic, "audio")
register_part("coarse_acoustics", "BarkCoarseModel", coarse, "audio")
register_part("fine_acoustics", "BarkFineModel", fine, "audio")
