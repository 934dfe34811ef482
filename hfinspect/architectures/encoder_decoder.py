"""Encoder-decoder composites (Rothe et al. 2019). Source: transformers/models/encoder_decoder.

Any encoder and any causal language model with cross-attention, each under its own names; between
them a projection where the widths differ and the decoder does not say that it reads the encoder's.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..trees.catalog import auto_class, auto_model, register_part
from ..trees.modules import Linear, Module, Parameter

#: The keys under which model types keep the width of their states, in the order of frequency.
_WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "n_embed")


def composite(
    c: ModelConfig,
    name: str,
    *,
    encoder_type: str,
    part: str | None = None,
    output_key: str | None = None,
) -> Module:
    """``encoder`` and ``decoder`` of the nested configs; a config without them takes the types of
    the config class: ``encoder_type`` and a BERT that decodes.  ``output_key`` may say in the
    encoder's config how wide its output is, where that is not its hidden size."""
    encoder_config = c.section("encoder")
    decoder_config = c.section(
        "decoder", default={"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    )
    encoder = auto_model(encoder_config, default_type=encoder_type, part=part)
    # The older language models' class names end otherwise.
    decoder = auto_class(
        decoder_config, ("ForCausalLM", "LMHeadModel", "GenerationDecoder"), default_type="bert"
    )
    seen = width_of(encoder_config, encoder, last=True)
    wanted = width_of(decoder_config, decoder, last=False)
    out = encoder_config.dim(output_key, default=seen) if output_key else seen
    apart = out != wanted and not decoder_config.has("cross_attention_hidden_size")
    project = Linear(seen, wanted, component=Component.PROJECTOR)
    if apart:
        project.part = "projector"
    return Module(
        name, encoder=encoder, decoder=decoder, enc_to_dec_proj=project if apart else None
    )


def width_of(c: ModelConfig, module: Module, *, last: bool) -> int:
    """As the config says; else the last vector of an encoder (its final norm; a pooler may be of
    another width) or the first matrix of a decoder (its table of words) shows it."""
    if c.has(*_WIDTHS):
        return c.dim(*_WIDTHS)
    shapes = [shape for shape in _shapes(module) if len(shape) == (1 if last else 2)]
    return (shapes[-1] if last else shapes[0])[-1]


def _shapes(module: Module) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for name, child in module.children.items():
        if isinstance(child, Parameter):
            found.append(child.shape)
        elif name != "pooler":
            found += _shapes(child)
    return found


def encoder_decoder(c: ModelConfig) -> Module:
    return composite(c, "EncoderDecoderModel", encoder_type="bert")


register_part("encoder-decoder", "EncoderDecoderModel", encoder_decoder, "encoder-decoder")
