"""DiffusionGemma (Google 2026; transformers/models/diffusion_gemma). Gemma 4's layers with experts,
as an encoder of the prompt and as a decoder of a block of tokens; by default both are the same
weights, but for biases and the scalars of the layers."""

from ..layers.blocks import gated_mlp
from ..layers.composing import renamed, tied_to
from ..layers.heads import causal_lm
from ..trees import Activation, ModelConfig, Module, auto_model, register, register_part
from . import gemma4, gemma4_text

_NAME = "DiffusionGemma"
#: What the class has in any case, whatever a config says.
_FIXED = {
    "attention_k_eq_v": True, "enable_moe_block": True, "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
}  # fmt: skip
#: Ends of the names that the encoder shares with the decoder.
_SHARED = ("weight", "scale", "per_expert_scale", "gate_up_proj", "down_proj")


def _text(c: ModelConfig) -> ModelConfig:
    return ModelConfig({**c.given, **_FIXED}, c.path, "diffusion_gemma_text")


def _stack(c: ModelConfig, side: str, ending: str) -> Module:
    """Gemma 4's text model, under the class names of the side."""
    found = gemma4_text.text_model(_text(c))
    found.class_name = f"{_NAME}{ending}"
    renamed(found, "Gemma4TextDecoderLayer", f"{_NAME}{side}TextLayer")
    renamed(found, "Gemma4TextAttention", f"{_NAME}{side}TextAttention")
    renamed(found, "Gemma4TextMLP", f"{_NAME}Text4MLP")
    return renamed(found, "Gemma4", _NAME)


def encoder_text(c: ModelConfig, at: str | None = None) -> Module:
    """``at`` is the decoder whose weights these are."""
    found = _stack(c, "Encoder", "EncoderTextModel")
    return tied_to(found, at, _SHARED) if at else found


def encoder(c: ModelConfig, at: str | None = None) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    width = vision.dim("output_proj_dims", default=vision.dim("hidden_size", default=768))
    return Module(
        f"{_NAME}EncoderModel",
        language_model=encoder_text(text, at),
        vision_tower=auto_model(vision, default_type="gemma4_vision", part="vision"),
        embed_vision=renamed(gemma4.embedder(width, gemma4_text.hidden(text)), "Gemma4", _NAME),
    )


def decoder(c: ModelConfig) -> Module:
    text = c.section("text_config")
    h, inner = gemma4_text.hidden(text), text.dim("intermediate_size", default=9216)
    act = text.text("hidden_activation", default="gelu_pytorch_tanh")
    answer = gated_mlp(f"{_NAME}SelfConditioning", h, inner, act=act)
    norms = {"pre_norm": gemma4_text.norm(text, h), "post_norm": Activation("Gemma4RMSNorm")}
    answer.children = {**norms, **answer.children}
    found = _stack(text, "Decoder", "DecoderModel")
    found.children["self_conditioning"] = answer
    return renamed(found, "Gemma4", _NAME)


def model(c: ModelConfig) -> Module:
    tied = "decoder" if c.tied(default=True) else None
    return Module(f"{_NAME}Model", encoder=encoder(c, tied), decoder=decoder(c), scope=True)


_WHOLE = f"{_NAME}ForBlockDiffusion"
diffusion = causal_lm(_WHOLE, model, embedding="decoder.embed_tokens", tied_default=True)
register_part("diffusion_gemma_text", f"{_NAME}EncoderTextModel", encoder_text, "text decoder")
register(
    "diffusion_gemma",
    {
        _WHOLE: diffusion,
        f"{_NAME}Model": model,
        f"{_NAME}EncoderModel": encoder,
        f"{_NAME}DecoderModel": decoder,
    },
    base_prefix="model",
    category="multimodal",
)
