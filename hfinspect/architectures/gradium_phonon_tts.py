"""Gradium's Phonon (2026): Pocket TTS with a voice of its own width, a number of speakers and a
duration. Files of the whole keep the names of the original. Source of shapes:
transformers/models/gradium_phonon_tts, of names: transformers/conversion_mapping.py."""

from ..layers.composing import respelled_classes
from ..layers.decoders import Decoder
from ..trees import Component, KeysValues, ModelConfig, config_defaults, register
from ..trees.modules import Buffer, Embedding, Linear, Module, ModuleList, Weight, each_module
from .pocket_tts import POCKET, flow_head, latent, loss_weighting, speech_model

_NAME = "GradiumPhononTTS"


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = d.heads(c)
    bias = c.flag("attention_bias", default=False)
    if heads.kv != heads.query:
        expected = f"num_attention_heads = {int(heads.query)}: no other is saved"
        raise c.error("num_key_value_heads", int(heads.kv), expected)
    width = heads.query * heads.dim
    # Biases stay apart: only the matrices are joined in files.
    apart = {"q_proj": "query", "k_proj": "key", "v_proj": "value"} if bias else {}
    parts = {"in_proj": Module("Linear", weight=Weight(3 * width, h, kind="qkv"))}
    parts |= {at: Module("Linear", bias=Weight(width, kind=kind)) for at, kind in apart.items()}
    out = Linear(width, h, bias=bias, kind="output")
    name = f"{d.name}Attention"
    cache = (KeysValues(width, width, heads=heads.kv),)
    at = Component.ATTENTION
    return Module(name, parts, o_proj=out, component=at, cache=cache)


_GRADIUM = POCKET.like(_NAME, **config_defaults("gradium_phonon_tts"), attention=_attention)


def model(c: ModelConfig) -> Module:
    h = _GRADIUM.width(c)
    voices = c.dim("num_speakers_embedding_dim", default=16)
    count = c.dim("num_speakers_vocab_size", default=32)
    at = Component.PROJECTOR
    lasting = c.dim("duration_delta_embedding_dim", default=128)
    return speech_model(c, _GRADIUM, c.dim("audio_prompt_dim", default=512)).adding(
        num_speakers_embed=Embedding(count, voices, kind="segment"),
        num_speakers_proj=Linear(voices, h, bias=False, component=at),
        duration_delta_proj=Linear(lasting, h, bias=False, component=at),
    )


_MLP = {"fc1": "mlp.0", "act_fn": "mlp.1", "fc2": "mlp.2"}
_ADA = "adaLN_modulation"
#: How files of the whole, which have the original's names, spell the parts of a class.
_SPELLED = {
    "Attention": {"o_proj": "out_proj"},
    "DecoderLayer": {"input_layernorm": "norm1", "post_attention_layernorm": "norm2"},
    "TimestepEmbedding": {**_MLP, "norm": "mlp.3"},
    "TimestepNorm": {"weight": "alpha"},
    "FlowResBlock": {**_MLP, "norm": "in_ln", "adaln_proj": f"{_ADA}.1"},
    "FlowFinalLayer": {"proj": "linear", "act_fn": f"{_ADA}.0", "adaln_proj": f"{_ADA}.1"},
    "FlowHead": {
        "cond_proj": "cond_embed",
        "timestep_embeddings": "time_embed",
        "layers": "res_blocks",
    },
}


def _flow_net(c: ModelConfig) -> Module:
    head = respelled_classes(flow_head(_GRADIUM, c, 768), _SPELLED, _NAME)
    for name in ("cond_embed", "time_embed"):
        for module in each_module(head.inside(name)):
            module.component = Component.EMBEDDING
    blocks = head.inside("res_blocks").children.values()
    return head.adding(res_blocks=ModuleList(b for b in blocks if isinstance(b, Module)))


def generation(c: ModelConfig) -> Module:
    base = model(c)
    frames = Buffer(latent(c))
    section = c.section("flow_head_config")
    if c.flag("attention_bias", default=False):
        raise c.error("attention_bias", True, "false: the names of files have no place for it")
    base.inside("audio_latent_proj").component = Component.EMBEDDING
    for layer in each_module(base.inside("layers")):
        if "mlp" in layer.children:
            for name in ("1", "2"):
                linear = layer.inside("mlp", f"fc{name}")
                linear.component = Component.MLP
                layer.children[f"linear{name}"] = linear
            layer.without("mlp")

    def condition(**parts: str) -> Module:
        return Module("Conditioner", {new: base[old] for new, old in parts.items()})

    conditioners = Module(
        "ModuleDict",
        transcript_in_segment=condition(embed="embed_tokens"),
        speaker_wavs=condition(output_proj="audio_prompt_proj"),
        num_speakers=condition(embed="num_speakers_embed", output_proj="num_speakers_proj"),
        duration_delta=condition(output_proj="duration_delta_proj"),
    )
    layers = respelled_classes(base.inside("layers"), _SPELLED, _NAME)
    speech = Module(
        f"{_NAME}Model",
        bos_emb=base["bos_latent"],
        emb_mean=frames,
        emb_std=frames,
        condition_provider=Module("ConditionProvider", conditioners=conditioners),
        transformer=Module("Transformer", layers=layers),
        input_linear=base["audio_latent_proj"],
        out_norm=base["norm"],
        out_eos=Linear(_GRADIUM.width(c), 1, component=Component.HEAD),
        flow_net=_flow_net(section),
    )
    return Module(
        f"{_NAME}ForConditionalGeneration",
        flow_lm=speech,
        loss_weighting=loss_weighting(_GRADIUM, section),
        latent_stats_num_updates=Buffer(dtype="I64"),
    )


_CLASSES = {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": model}
register("gradium_phonon_tts", _CLASSES, category="audio")
