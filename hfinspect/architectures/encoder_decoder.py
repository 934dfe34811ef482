"""Encoder-decoder composites (Rothe et al. 2019): any encoder and any causal language model with
cross-attention, each under its own names. Source: transformers/models/encoder_decoder."""

from collections.abc import Iterator

from ..layers.multimodal import linear_projector
from ..trees import ModelConfig, Module, Parameter, auto_class, auto_model, register_part
from ..trees.modules import Shape

#: The keys under which model types keep the width of their states, in the order of frequency.
_WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "n_embed")


def register_composite(
    model_type: str,
    name: str,
    encoder_type: str,
    category: str,
    *,
    part: str | None = None,
    output_key: str | None = None,
) -> None:
    """Add a class of an ``encoder`` (of ``encoder_type`` unless said, ``part`` in reports) and a
    ``decoder``.  ``output_key`` may say in the encoder's config how wide its output is, where that
    is not its hidden size."""

    def build(c: ModelConfig) -> Module:
        usual = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
        source = c.section("encoder")
        target = c.section("decoder", default=usual)
        encoder = auto_model(source, default_type=encoder_type, part=part)
        # The older language models' class names end otherwise.
        heads = ("ForCausalLM", "LMHeadModel", "GenerationDecoder")
        decoder = auto_class(target, heads, default_type="bert")
        read = width_of(source, encoder, last=True)
        needed = width_of(target, decoder, last=False)
        out = source.dim(output_key, default=read) if output_key else read
        apart = out != needed and not target.has("cross_attention_hidden_size")
        project = linear_projector(read, needed) if apart else None
        return Module(name, encoder=encoder, decoder=decoder, enc_to_dec_proj=project)

    register_part(model_type, name, build, category)


def width_of(c: ModelConfig, module: Module, *, last: bool) -> int:
    """As the config says; else the last vector of an encoder (its final norm; a pooler may be of
    another width) or the first matrix of a decoder (its table of words) shows it."""
    if c.has(*_WIDTHS):
        return c.dim(*_WIDTHS)
    shapes = [shape for shape in _shapes(module) if len(shape) == (1 if last else 2)]
    return (shapes[-1] if last else shapes[0])[-1]


def _shapes(module: Module) -> Iterator[Shape]:
    for name, child in module.children.items():
        if isinstance(child, Parameter):
            yield child.shape
        elif name != "pooler":
            yield from _shapes(child)


register_composite("encoder-decoder", "EncoderDecoderModel", "bert", "encoder-decoder")
