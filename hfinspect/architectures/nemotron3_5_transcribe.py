"""Nemotron 3.5 Transcribe (NVIDIA 2026). Source: transformers/models/nemotron3_5_transcribe. An
encoder of speech and a model of who speaks, heard by Nemotron-H; a further encoder says when each
word was said. Files have the names of NeMo, the parts alone those of transformers."""

from ..layers.composing import joined, respelled
from ..layers.heads import to_words
from ..layers.multimodal import linear_projector
from ..trees import Component, ModelConfig, auto_model, builder, register, register_part
from ..trees.config_defaults import config_defaults
from ..trees.modules import Conv, LayerNorm, Module, Sequential
from .nemotron3_diarization import frames

_NAME = "Nemotron3_5Transcribe"
#: What Nemotron3_5TranscribeConfig makes of an absent text section.
TEXT = config_defaults("nemotron3_5_transcribe")
#: NeMo's names of an encoder's parts.
_NEMO = {
    "embedder": "pre_encode",
    "projection": "proj",
    "input_layer_norm": "embed_norm",
    "layer_norm": "final_norm",
    "layer_norm1": "norm1",
    "layer_norm2": "norm2",
    "self_attn": "attn",
    "o_proj": "out_proj",
    "mlp": "ffn",
    "fc1": "net.0",
    "fc2": "net.3",
}
#: Numbers in float32 stand in a module of their own in NeMo's files.
_FLOATS = {name: f"_fp32_params.{name}" for name in ("A_log", "D", "dt_bias")}


def audio_model(c: ModelConfig) -> Module:
    asr = c.section("asr_config")
    diarization = c.section("diarization_config")
    return Module(
        f"{_NAME}AudioModel",
        asr_encoder=builder(f"{_NAME}AsrAudioModel")(asr),
        diarization_model=frames(diarization),
        asr_norm=LayerNorm(asr.dim("hidden_size", default=1280)),
        speaker_norm=LayerNorm(diarization.section("head_config").dim("num_speakers", default=8)),
        part="audio",
    )


def _nemo(root: Module) -> Module:
    """An encoder under NeMo's names: q, k and v in one matrix."""
    return respelled(joined(root, ("q_proj", "k_proj", "v_proj"), "w_qkv", "qkv"), _NEMO)


def model(c: ModelConfig) -> Module:
    audio = c.section("audio_config")
    section = c.section("text_config", default=TEXT)
    heard = audio.section("asr_config").dim("hidden_size", default=1280)
    tower = audio_model(audio)
    _nemo(tower.inside("asr_encoder"))
    _nemo(tower.inside("diarization_model", "model", "audio_tower"))
    when = builder(f"{_NAME}WordTimestampModel")(c.section("word_timestamp_config"))
    text = auto_model(section.of_type("nemotron_h"), default_type="nemotron_h", part="text")
    return Module(
        f"{_NAME}Model",
        audio_tower=tower,
        language_model=respelled(text, _FLOATS),
        multi_modal_projector=linear_projector(heard, section.dim("hidden_size", default=4096)),
        word_timestamp_encoder=_nemo(when),
    )


def generation(c: ModelConfig) -> Module:
    root = model(c)
    words = c.section("word_timestamp_config")
    tower = root.inside("audio_tower")
    when = root.inside("word_timestamp_encoder")
    diarization = tower.inside("diarization_model")
    section = c.section("text_config", default=TEXT)
    h = section.dim("hidden_size", default=4096)
    vocab = section.dim("vocab_size", default=131072)
    upsample = when.inside("upsampler")
    head = Component.HEAD
    width = words.dim("hidden_size", default=1280)
    tokens = words.dim("vocab_size", default=23863)
    classes = Conv(width, tokens, 1, dims=1, component=head)
    sorting = Module(
        "SortformerModules",
        first_hidden_to_hidden=diarization.inside("classifier", "dense"),
        single_hidden_to_spks=diarization.inside("classifier", "out_proj"),
        encoder_proj=diarization.inside("model", "proj"),
        subpixel_upsample=diarization.inside("model", "upsampler", "conv"),
        learnable_sil_emb=diarization["silence_embeds"],
        component=head,
    )
    speakers = {
        "sortformer_modules": sorting,
        "encoder": diarization.inside("model", "audio_tower"),
    }
    tower.adding(diarization_model=Module(diarization.class_name, {**speakers}))
    hearing = respelled(tower, {"speaker_norm": "diar_norm"})
    names = {"embeddings": "embed_tokens", "norm_f": "norm"}
    text = respelled(root.inside("language_model"), names)
    timing = {"transformer": when.without("upsampler"), "upsample": upsample}
    upsample.component = head
    timing["decoder_layers"] = Sequential(classes)
    return Module(
        f"{_NAME}ForConditionalGeneration",
        llm=Module("NemotronHForCausalLM", model=text, lm_head=to_words(h, vocab), part="text"),
        perception=Module("Perception", encoder=hearing, proj=root["multi_modal_projector"]),
        ctc_timestamp=Module("Timestamps", decoder=Module("Decoder", timing, part="audio")),
    )


register_part("nemotron3_5_transcribe_audio", f"{_NAME}AudioModel", audio_model, "audio")
_CLASSES = {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": model}
register("nemo_speechlm", _CLASSES, category="multimodal")
