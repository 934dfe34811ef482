"""DiffusionGemma (Google 2026; transformers/models/diffusion_gemma). Gemma 4's layers with experts,
as an encoder of the prompt and as a decoder of a block of tokens; by default both are the same
weights, but for biases and the scalars of the layers."""

from ..layers.blocks import gated_mlp
from ..layers.composing import renamed, tied_to
from ..layers.heads import causal_lm
from ..trees import Activation, ModelConfig, Module, auto_model, register, register_part
from ..trees.config_defaults import config_defaults
from . import gemma4, gemma4_text
from .gemma3n_text import GELU

_NAME = "DiffusionGemma"
#: What the class has in any case, whatever a config says.
_FIXED = config_defaults("diffusion_gemma")
#: Ends of the names that the encoder shares with the decoder.
_SHARED = ("weight", "scale", "per_expert_scale", "gate_up_proj", "down_proj")


def _stack(c: ModelConfig, side: str, ending: str) -> Module:
    """Gemma 4's text model, under the class names of the side."""
    fixed = ModelConfig({**c.file_values, **_FIXED}, c.path, "diffusion_gemma_text")
    root = gemma4_text.text_model(fixed).called(f"{_NAME}{ending}")
    names = {"DecoderLayer": f"{side}TextLayer", "Attention": f"{side}TextAttention"}
    for old, new in {**names, "MLP": "Text4MLP"}.items():
        renamed(root, f"Gemma4Text{old}", f"{_NAME}{new}")
    return renamed(root, "Gemma4", _NAME)


def encoder_text(c: ModelConfig, at: str | None = None) -> Module:
    """``at`` is the decoder whose weights these are."""
    encoder = _stack(c, "Encoder", "EncoderTextModel")
    return tied_to(encoder, at, _SHARED) if at else encoder


def encoder(c: ModelConfig, at: str | None = None) -> Module:
    text = c.section("text_config")
    vision = c.section("vision_config")
    width = vision.dim("output_proj_dims", default=vision.dim("hidden_size", default=768))
    return Module(
        f"{_NAME}EncoderModel",
        language_model=encoder_text(text, at),
        vision_tower=auto_model(vision, default_type="gemma4_vision", part="vision"),
        embed_vision=gemma4.embedder(width, gemma4_text.hidden(text), _NAME),
    )


def decoder(c: ModelConfig) -> Module:
    text = c.section("text_config")
    h = gemma4_text.hidden(text)
    inner = text.dim("intermediate_size", default=9216)
    act = text.text("hidden_activation", default=GELU)
    answer = gated_mlp(f"{_NAME}SelfConditioning", h, inner, act=act)
    norms = {"pre_norm": gemma4_text.norm(text, h), "post_norm": Activation("Gemma4RMSNorm")}
    answer.children = {**norms, **answer.children}
    root = _stack(text, "Decoder", "DecoderModel").adding(self_conditioning=answer)
    return renamed(root, "Gemma4", _NAME)


def model(c: ModelConfig) -> Module:
    tied = "decoder" if c.tied(default=True) else None
    return Module(f"{_NAME}Model", encoder=encoder(c, tied), decoder=decoder(c), scope=True)


_WHOLE = f"{_NAME}ForBlockDiffusion"
_CLASSES = {
    _WHOLE: causal_lm(_WHOLE, model, embedding="decoder.embed_tokens", tied_default=True),
    f"{_NAME}Model": model,
    f"{_NAME}EncoderModel": encoder,
    f"{_NAME}DecoderModel": decoder,
}
register_part("diffusion_gemma_text", f"{_NAME}EncoderTextModel", encoder_text, "text decoder")
register("diffusion_gemma", _CLASSES, base_prefix="model", category="multimodal")
