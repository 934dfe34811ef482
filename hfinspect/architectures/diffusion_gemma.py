"""DiffusionGemma (Google 2026). Source of shapes: transformers/models/diffusion_gemma.

Gemma 4's layers with experts, once as an encoder of the prompt and once as a decoder that looks at
the encoder's keys and values and fills a block of tokens; by default both are the same weights, but
for biases and the scalars of the layers. The decoder reads its own last answer through a gated MLP.
"""

from dataclasses import replace

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.composing import renamed
from ..layers.heads import to_words
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import Activation, Embedding, Layers, Module, Parameter
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


def _hidden(c: ModelConfig) -> Dim:
    return gemma4_text.hidden(c)


def _words(c: ModelConfig, tied_to: str | None = None) -> Module:
    return Embedding(
        c.dim("vocab_size", default=262144), _hidden(c), tied_to=tied_to,
        class_name=f"{_NAME}TextScaledWordEmbedding",
    )  # fmt: skip


def _layers(c: ModelConfig, side: str) -> Layers:
    """Gemma 4's, under the class names of the side."""
    found = gemma4_text.layers(c)
    for block in {id(at): at for at in found.children.values()}.values():
        assert isinstance(block, Module)
        renamed(block, "Gemma4TextDecoderLayer", f"{_NAME}{side}TextLayer")
        renamed(block, "Gemma4TextAttention", f"{_NAME}{side}TextAttention")
        renamed(block, "Gemma4TextMLP", f"{_NAME}Text4MLP")
        renamed(block, "Gemma4", _NAME)
    return found


def _tied(module: Module, path: str) -> Module:
    """A copy whose tensors are those under ``path``, where the class shares them."""
    children: dict[str, Module | Parameter | None] = {}
    for name, part in module.children.items():
        if isinstance(part, Module):
            children[name] = _tied(part, f"{path}.{name}")
        else:
            children[name] = replace(part, tied_to=f"{path}.{name}") if name in _SHARED else part
    return Module(
        module.class_name, children, component=module.component, part=module.part,
        kind=module.kind, active=module.active, detail=module.detail, keeps=module.keeps,
    )  # fmt: skip


def encoder_text(c: ModelConfig, tied_to: str | None = None) -> Module:
    """``tied_to`` is the decoder whose weights these are."""
    text = _text(c)
    layers, norm = _layers(text, "Encoder"), gemma4_text.norm(text, _hidden(text))
    words = f"{tied_to}.embed_tokens.weight" if tied_to else None
    if tied_to:
        blocks = [at for at in layers.children.values() if isinstance(at, Module)]
        layers = Layers(
            [_tied(block, f"{tied_to}.layers.{i}") for i, block in enumerate(blocks)],
            windows=layers.windows,
        )
        norm = _tied(norm, f"{tied_to}.norm")
    norm.class_name = f"{_NAME}RMSNorm"
    return Module(
        f"{_NAME}EncoderTextModel",
        embed_tokens=_words(text, words),
        layers=layers,
        norm=norm,
        rotary_emb=Activation(f"{_NAME}TextRotaryEmbedding"),
    )


def encoder(c: ModelConfig, tied_to: str | None = None) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    width = vision.dim("output_proj_dims", default=vision.dim("hidden_size", default=768))
    bridge = gemma4.embedder(width, _hidden(text))
    return Module(
        f"{_NAME}EncoderModel",
        language_model=encoder_text(text, tied_to),
        vision_tower=auto_model(vision, default_type="gemma4_vision", part="vision"),
        embed_vision=renamed(bridge, "Gemma4", _NAME),
    )


def decoder(c: ModelConfig) -> Module:
    text = _text(c.section("text_config"))
    h, inner = _hidden(text), text.dim("intermediate_size", default=9216)
    act = text.text("hidden_activation", default="gelu_pytorch_tanh")
    norms = {
        "pre_norm": gemma4_text.norm(text, h),
        "post_norm": Activation(f"{_NAME}RMSNorm"),
    }
    answer = gated_mlp(f"{_NAME}SelfConditioning", h, inner, act=act)
    answer.children = {**norms, **answer.children}
    found = Module(
        f"{_NAME}DecoderModel",
        embed_tokens=_words(text),
        layers=_layers(text, "Decoder"),
        norm=gemma4_text.norm(text, h),
        rotary_emb=Activation(f"{_NAME}TextRotaryEmbedding"),
        self_conditioning=answer,
    )
    return renamed(found, "Gemma4", _NAME)


def model(c: ModelConfig) -> Module:
    tied = "decoder" if c.tied(default=True) else None
    return Module(f"{_NAME}Model", encoder=encoder(c, tied), decoder=decoder(c), scope=True)


def diffusion(c: ModelConfig) -> Module:
    text = c.section("text_config")
    tied = "model.decoder.embed_tokens.weight" if c.tied(default=True) else None
    head = to_words(_hidden(text), text.dim("vocab_size", default=262144), tied)
    return Module(f"{_NAME}ForBlockDiffusion", model=model(c), lm_head=head)


register_part("diffusion_gemma_text", f"{_NAME}EncoderTextModel", encoder_text, "text decoder")
register(
    "diffusion_gemma",
    {
        f"{_NAME}ForBlockDiffusion": diffusion,
        f"{_NAME}Model": model,
        f"{_NAME}EncoderModel": encoder,
        f"{_NAME}DecoderModel": decoder,
    },
    base_prefix="model",
    category="multimodal",
)
