"""Bark (Suno 2023; transformers/models/bark): GPTs from text to semantic tokens, coarse and fine
codes, and a codec. Two are traces; the third has a table and a head per codebook, tied in pairs."""

from functools import partial

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.heads import to_words
from ..trees import LayerNorm, ModelConfig, Module, ModuleList, auto_model, builder, register_part


def _heads(d: s.NamedDecoder, c: ModelConfig) -> Module:
    total = c.count("n_codes_total", default=8)
    prompt_codes = c.count("n_codes_given", default=1)
    if prompt_codes > total:
        raise c.error("n_codes_given", int(prompt_codes), f"at most n_codes_total = {int(total)}")
    width = d.width(c)
    words = c.dim("output_vocab_size", default=10048)
    tables = [f"input_embeds_layers.{i + 1}.weight" for i in range(int(total) - int(prompt_codes))]
    return ModuleList(to_words(width, words, table if c.tied() else None) for table in tables)


_FINE = s.NamedDecoder(
    "Bark",
    width=size("hidden_size", default=768),
    heads=size("num_heads", default=12),
    depth=size("num_layers", default=12),
    vocab=size("input_vocab_size", default=10048),
    length=size("block_size", default=1024),
    inner=s.times(4),
    norms=lambda _c, width: LayerNorm(width),
    bias=s.flagged("bias", default=True),
    block={"layernorm_1": s.norm, "layernorm_2": s.norm, "attn": s.attention, "mlp": s.mlp},
    attention={"att_proj": s.qkv, "out_proj": s.output},
    mlp={"in_proj": s.up, "out_proj": s.down, "gelu": s.shown("GELU", "approximate='none'")},
    model={
        "input_embeds_layers": lambda d, c: ModuleList(
            [s.words(d, c)] * int(c.count("n_codes_total", default=8))
        ),
        "position_embeds_layer": s.positions,
        "layers": s.layers,
        "layernorm_final": s.norm,
        "lm_heads": _heads,
    },
    called={"Attention": "BarkSelfAttention"},
)
fine = partial(_FINE.of, ending="FineModel", parts=_FINE.model, scope=True)


def model(c: ModelConfig) -> Module:
    return Module(
        "BarkModel",
        semantic=builder("BarkSemanticModel")(c.section("semantic_config")),
        coarse_acoustics=builder("BarkCoarseModel")(c.section("coarse_acoustics_config")),
        fine_acoustics=fine(c.section("fine_acoustics_config")),
        codec_model=auto_model(c.section("codec_config"), default_type="encodec"),
        part="audio",
    )


register_part("bark", "BarkModel", model, "audio")
register_part("fine_acoustics", "BarkFineModel", fine, "audio")
