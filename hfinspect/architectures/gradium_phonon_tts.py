"""Gradium's Phonon (2026). Source of shapes: transformers/models/gradium_phonon_tts.

Pocket TTS (pocket_tts.py) with a voice of its own width, a number of speakers and a duration. Files
of the whole keep the names of the original, queries, keys and values in one matrix. Source:
transformers/conversion_mapping.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import respelled
from ..layers.decoders import Decoder
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import (
    Activation,
    Buffer,
    Embedding,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
    each_module,
)
from .pocket_tts import POCKET, flow_head, loss_weighting, speech_model

_NAME = "GradiumPhononTTS"


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h, heads, bias = d.width(c), d.heads(c), c.flag("attention_bias", default=False)
    if heads.kv != heads.query:
        expected = f"num_attention_heads = {int(heads.query)}: no other is saved"
        raise c.error("num_key_value_heads", int(heads.kv), expected)
    width = heads.query * heads.dim
    # Biases stay apart: only the matrices are joined in files.
    apart = {"query": "q_proj", "key": "k_proj", "value": "v_proj"} if bias else {}
    return Module(
        f"{d.name}Attention",
        {
            "in_proj": Module("Linear", weight=Weight(3 * width, h, kind="qkv")),
            **{name: Module("Linear", bias=Weight(width, kind=k)) for k, name in apart.items()},
            "o_proj": Linear(width, h, bias=bias, kind="output"),
        },
        component=Component.ATTENTION,
        keeps=(KeysValues(width, width, heads=heads.kv),),
    )


_GRADIUM = POCKET.like(
    _NAME, vocab_size=4001, hidden_size=768, intermediate_size=3072, num_attention_heads=12,
    hidden_act="gelu", attention=_attention,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    found = speech_model(_GRADIUM, c, c.dim("audio_prompt_dim", default=512))
    h, voices = _GRADIUM.width(c), c.dim("num_speakers_embedding_dim", default=16)
    count, kind = c.dim("num_speakers_vocab_size", default=32), Component.PROJECTOR
    lasting = c.dim("duration_delta_embedding_dim", default=128)
    found.children |= {
        "num_speakers_embed": Embedding(count, voices, kind="segment"),
        "num_speakers_proj": Linear(voices, h, bias=False, component=kind),
        "duration_delta_proj": Linear(lasting, h, bias=False, component=kind),
    }
    return found


#: How files of the whole spell what a layer has.
_LAYER = {"input_layernorm": "norm1", "post_attention_layernorm": "norm2"}


def _layers(base: Module) -> Module:
    layers = base.inside("layers")
    for layer in {id(layer): layer for layer in layers.children.values()}.values():
        assert isinstance(layer, Module)
        attention, mlp = layer.inside("self_attn"), layer.inside("mlp")
        respelled(attention, {"o_proj": "out_proj"})
        first, second = mlp.inside("fc1"), mlp.inside("fc2")
        first.component = second.component = Component.MLP
        layer.children = {
            "self_attn": attention,
            "linear1": first,
            "linear2": second,
            **{new: layer[old] for old, new in _LAYER.items()},
        }
    return layers


def _flow_net(c: ModelConfig) -> Module:
    """The head of the flow in the original's names."""
    head = flow_head(_GRADIUM, c.section("flow_head_config"), 768)
    for module in each_module(head):
        parts, name = module.children, module.class_name.removeprefix(_NAME)
        act, at = Activation("SiLUActivation"), module.inside
        if name == "TimestepEmbedding":
            norm = Module(f"{_NAME}TimestepNorm", alpha=at("norm")["weight"])
            mlp = Sequential(at("fc1"), act, at("fc2"), norm)
            module.children = {"freqs": parts["freqs"], "mlp": mlp}
        elif name == "FlowResBlock":
            mlp, shift = Sequential(at("fc1"), act, at("fc2")), Sequential(act, at("adaln_proj"))
            module.children = {"in_ln": parts["norm"], "mlp": mlp, "adaLN_modulation": shift}
        elif name == "FlowFinalLayer":
            shift = Sequential(act, at("adaln_proj"))
            module.children = {"linear": parts["proj"], "adaLN_modulation": shift}
    names = {"cond_proj": "cond_embed", "timestep_embeddings": "time_embed", "layers": "res_blocks"}
    head.children = {names.get(key, key): part for key, part in head.children.items()}
    for name in ("cond_embed", "time_embed"):
        head.inside(name).component = Component.EMBEDDING
    blocks = head.inside("res_blocks")
    head.children["res_blocks"] = ModuleList(
        block for block in blocks.children.values() if isinstance(block, Module)
    )
    return head


def generation(c: ModelConfig) -> Module:
    base, latent = model(c), c.dim("latent_dim", default=32)
    if c.flag("attention_bias", default=False):
        raise c.error("attention_bias", True, "false: the names of files have no place for it")
    frames = base.inside("audio_latent_proj")
    frames.component = Component.EMBEDDING

    def condition(**parts: str) -> Module:
        return Module("Conditioner", {new: base[old] for new, old in parts.items()})

    conditioners = Module(
        "ModuleDict",
        transcript_in_segment=condition(embed="embed_tokens"),
        speaker_wavs=condition(output_proj="audio_prompt_proj"),
        num_speakers=condition(embed="num_speakers_embed", output_proj="num_speakers_proj"),
        duration_delta=condition(output_proj="duration_delta_proj"),
    )
    speech = Module(
        f"{_NAME}Model",
        bos_emb=base["bos_latent"],
        emb_mean=Buffer(latent),
        emb_std=Buffer(latent),
        condition_provider=Module("ConditionProvider", conditioners=conditioners),
        transformer=Module("Transformer", layers=_layers(base)),
        input_linear=frames,
        out_norm=base["norm"],
        out_eos=Linear(_GRADIUM.width(c), 1, component=Component.HEAD),
        flow_net=_flow_net(c),
    )
    return Module(
        f"{_NAME}ForConditionalGeneration",
        flow_lm=speech,
        loss_weighting=loss_weighting(_GRADIUM, c.section("flow_head_config")),
        latent_stats_num_updates=Buffer(dtype="I64"),
    )


register(
    "gradium_phonon_tts",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": model},
    category="audio",
)
