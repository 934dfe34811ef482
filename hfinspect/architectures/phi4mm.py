"""Phi-4-multimodal (Microsoft 2025) as released; transformers' ``phi4_multimodal`` is the converted
form, its adapters apart. Source of shapes: modeling_phi4mm.py, speech_conformer_encoder.py and
vision_siglip_navit.py in microsoft/Phi-4-multimodal-instruct.

Phi-3's decoder with two LoRA adapters on every linear layer, one for images and one for sound.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.composing import respelled
from ..layers.decoders import Decoder
from ..layers.multimodal import as_projector, linear_row
from ..trees.catalog import builder
from ..trees.modules import Activation, Dropout, Linear, Module, Sequential, Weight
from . import phi3, phi4_multimodal

_NAME = "Phi4MM"
#: Names in the converted form -> in this one.
_ATTENTION = {
    "q_proj": "linear_q", "k_proj": "linear_k", "v_proj": "linear_v", "o_proj": "linear_out",
}  # fmt: skip


def adapted(c: ModelConfig, inner: Dim, out: Dim, kind: str) -> Module:
    """A linear layer and its adapters: B·A of rank r each, r·(in + out) weights."""
    whole = Module("lora.Linear", base_layer=Linear(inner, out, bias=False), kind=kind)
    low, high = Module("ModuleDict"), Module("ModuleDict")
    for name, usual in {"vision": 256, "speech": 320}.items():
        rank = c.section(f"{name}_lora").dim("r", default=usual)
        low.children[name] = Linear(inner, rank, bias=False)
        high.children[name] = Linear(rank, out, bias=False)
    whole.children |= {"lora_A": low, "lora_B": high}
    return whole


def layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Phi-3's, every linear layer adapted."""
    block = phi3.layer(d, c, kind)
    for part in ("self_attn", "mlp"):
        linears = block.inside(part).children
        for name, linear in list(linears.items()):
            if isinstance(linear, Module) and linear.kind:
                out, inner = map(exact, linear.tensor().shape)
                linears[name] = adapted(c, inner, out, linear.kind)
    return block


TEXT = phi3.PHI3.like(
    _NAME, vocab_size=200064, num_attention_heads=24, num_key_value_heads=8, rotary=False,
    windows=None, layer=layer, tie_word_embeddings=True, endings=(),
    further=lambda _, c: _towers(c),
)  # fmt: skip


def _projection(width: Dim, h: Dim) -> Module:
    return as_projector(linear_row([width, h, h]))


def image_embedding(c: ModelConfig) -> Module:
    """The tower's sizes stand in the model's code."""
    tower = ModelConfig({"hidden_size": 1152})
    width = tower.dim("hidden_size")
    return Module(
        f"{_NAME}ImageEmbedding",
        img_processor=builder("Phi4MultimodalVisionModel")(tower),
        glb_GN=Weight(1, 1, width, component=Component.EMBEDDING),
        sub_GN=Weight(1, 1, 1, width, component=Component.EMBEDDING),
        img_projection=_projection(width, TEXT.width(c)),
        part="vision",
    )


def sound_layer(c: ModelConfig, h: Dim) -> Module:
    """The converted form's, its MLPs in a row of modules."""
    block = respelled(phi4_multimodal.sound_layer(c, h), _ATTENTION)
    for name in ("feed_forward_in", "feed_forward_out"):
        parts = block.inside(name).children
        gated, down = (block.inside(name, f"{part}_proj") for part in ("gate_up", "down"))
        if not c.flag("bias_in_glu", default=True):
            del gated.children["bias"]
        linear = Module("GLULinear", linear=gated, glu_act=Activation("GLU"))
        net = Sequential(linear, Dropout(), down, Dropout())
        block.inside(name).children = {"layer_norm": parts["layer_norm"], "net": net}
    return block


def _sound_section(c: ModelConfig) -> ModelConfig:
    """``audio_processor.config`` in the words of ``phi4_multimodal``'s audio_config."""
    said = c.section("audio_processor").section("config")
    convolution = said.section("nemo_conv_settings")
    bias = said.section("relative_attention_bias_args")
    values = {
        "hidden_size": said.raw("attention_dim"),
        "intermediate_size": said.raw("linear_units") or 1536,
        "num_attention_heads": said.raw("attention_heads"),
        "nemo_conv_channels": convolution.raw("conv_channels"),
        "bias_max_distance": bias.raw("t5_bias_max_distance") or 500,
    }
    return ModelConfig({**said.values, **values}, said.path)


def audio_embedding(c: ModelConfig) -> Module:
    sound = _sound_section(c)
    h = sound.dim("hidden_size", default=1024)
    encoder = phi4_multimodal.audio_model(sound, sound_layer).called("ConformerEncoder")
    both = dict.fromkeys(("speech", "vision"), _projection(h, TEXT.width(c)))
    parts = {"encoder": encoder, "audio_projection": Module("ModuleDict", both)}
    return Module(f"{_NAME}AudioEmbedding", dict(parts), part="audio")


def _towers(c: ModelConfig) -> dict[str, Module]:
    both = {"image_embed": image_embedding(c), "audio_embed": audio_embedding(c)}
    return {"embed_tokens_extend": Module(f"{_NAME}ImageAudioEmbedding", dict(both))}


TEXT.register(
    "phi4mm",
    category="multimodal",
    source="modeling_phi4mm.py and its towers in microsoft/Phi-4-multimodal-instruct",
)
