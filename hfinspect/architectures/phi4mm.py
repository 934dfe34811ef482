"""Phi-4-multimodal (Microsoft 2025) as released: Phi-3's decoder, every linear layer with a LoRA
adapter for images and one for sound. transformers' ``phi4_multimodal`` is the converted form."""

from ..layers.composing import respelled
from ..layers.decoders import Decoder
from ..layers.multimodal import as_projector, linear_row
from ..trees import Component, Dim, ModelConfig, builder, exact
from ..trees.modules import Activation, Dropout, Linear, Module, Parameter, Sequential, Weight
from . import phi3, phi4_multimodal

_NAME = "Phi4MM"
#: Names in the converted form -> in this one.
_ATTENTION = {
    "q_proj": "linear_q",
    "k_proj": "linear_k",
    "v_proj": "linear_v",
    "o_proj": "linear_out",
}


def _adapted(c: ModelConfig, linear: Module | Parameter) -> Module | Parameter:
    """A linear layer and its adapters: B·A of rank r each, r·(in + out) weights."""
    if not isinstance(linear, Module) or not linear.kind:
        return linear
    out, inner = map(exact, linear.tensor().shape)
    low = Module("ModuleDict")
    high = Module("ModuleDict")
    for name, usual in {"vision": 256, "speech": 320}.items():
        rank = c.section(f"{name}_lora").dim("r", default=usual)
        low.children[name] = Linear(inner, rank, bias=False)
        high.children[name] = Linear(rank, out, bias=False)
    base = Linear(inner, out, bias=False)
    return Module("lora.Linear", base_layer=base, lora_A=low, lora_B=high, kind=linear.kind)


def layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = phi3.layer(d, c, kind)
    for part in (block.inside("self_attn"), block.inside("mlp")):
        part.children = {name: _adapted(c, child) for name, child in part.children.items()}
    return block


def sound_layer(c: ModelConfig, h: Dim) -> Module:
    """The converted form's, its MLPs (one and the same module) in a row of modules."""
    block = respelled(phi4_multimodal.sound_layer(c, h), _ATTENTION)
    mlp = block.inside("feed_forward_in")
    gated = mlp.inside("gate_up_proj")
    down = mlp.inside("down_proj")
    if not c.flag("bias_in_glu", default=True):
        gated.without("bias")
    linear = Module("GLULinear", linear=gated, glu_act=Activation("GLU"))
    mlp.without("gate_up_proj", "down_proj").adding(
        net=Sequential(linear, Dropout(), down, Dropout())
    )
    return block


def audio_embedding(c: ModelConfig, h: Dim) -> Module:
    """The converted form's encoder, whose keys have other names here."""
    sound_config = c.section("audio_processor").section("config")
    bias = sound_config.section("relative_attention_bias_args")
    sound = sound_config.with_values(
        hidden_size=sound_config.raw("attention_dim"),
        intermediate_size=sound_config.raw("linear_units") or 1536,
        num_attention_heads=sound_config.raw("attention_heads"),
        nemo_conv_channels=sound_config.section("nemo_conv_settings").raw("conv_channels"),
        bias_max_distance=bias.raw("t5_bias_max_distance") or 500,
    )
    encoder = phi4_multimodal.audio_model(sound, sound_layer).called("ConformerEncoder")
    row = as_projector(linear_row([sound.dim("hidden_size", default=1024), h, h]))
    both = Module("ModuleDict", speech=row, vision=row)
    return Module(f"{_NAME}AudioEmbedding", encoder=encoder, audio_projection=both, part="audio")


def _towers(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    tower = ModelConfig({"hidden_size": 1152})  # as in the model's code
    h = d.width(c)
    width = tower.dim("hidden_size")
    audio = audio_embedding(c, h)
    image = Module(
        f"{_NAME}ImageEmbedding",
        img_processor=builder("Phi4MultimodalVisionModel")(tower),
        glb_GN=Weight(1, 1, width, component=Component.EMBEDDING),
        sub_GN=Weight(1, 1, 1, width, component=Component.EMBEDDING),
        img_projection=as_projector(linear_row([width, h, h])),
        part="vision",
    )
    both = Module(f"{_NAME}ImageAudioEmbedding", image_embed=image, audio_embed=audio)
    return {"embed_tokens_extend": both}


phi3.PHI3.like(_NAME, rotary=False, windows=None, layer=layer, tasks=(), further=_towers).register(
    "phi4mm",
    category="multimodal",
    source="modeling_phi4mm.py and its towers in microsoft/Phi-4-multimodal-instruct",
)
