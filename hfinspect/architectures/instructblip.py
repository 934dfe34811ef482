"""InstructBLIP (Dai et al. 2023). Source: transformers/models/instructblip, instructblipvideo.

BLIP-2 whose Q-Former reads the instruction as well (blip_2.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..trees.catalog import Builder, auto_class, auto_model, register, register_part
from ..trees.modules import Buffer, Embedding, LayerNorm, Linear, Module, Parameter, Weight
from . import blip_2
from .encoder_decoder import width_of

#: The widths of models that a language model may be, where its section says none.
_WIDTHS = {"opt": 768, "t5": 512, "llama": 4096}


def _embeddings(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    positions = c.dim("max_position_embeddings", default=512)
    return Module(
        "Blip2QFormerEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=30522), h),
        position_embeddings=Embedding(positions, h, kind="position"),
        layernorm=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-12)),
        # Older files hold the positions 0..n-1 as a tensor.
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def qformer(c: ModelConfig, context: Dim) -> Module:
    """BLIP-2's with words."""
    built = blip_2.qformer(
        ModelConfig({**c.values, "use_qformer_text_input": True}, c.path), context
    )
    return Module(
        "Blip2QFormerModel",
        embeddings=_embeddings(c),
        encoder=built["encoder"],
        part=built.part,
        component=built.component,
    )


def register_instructblip(name: str, model_type: str) -> None:
    def parts(c: ModelConfig, language: Module) -> dict[str, Module | Parameter | None]:
        vision, section, text = (
            c.section(key) for key in ("vision_config", "qformer_config", "text_config")
        )
        h = section.dim("hidden_size", default=768)
        said = text.has("hidden_size", "d_model", "n_embd")
        known = _WIDTHS.get(text.model_type or "opt")
        wide = width_of(text, language, last=False) if said or known is None else known
        return {
            "vision_model": renamed(blip_2.vision_model(vision), "Blip2", name),
            "query_tokens": Weight(
                1, c.dim("num_query_tokens", default=32), h, component=Component.EMBEDDING
            ),
            "qformer": renamed(
                qformer(section, vision.dim("hidden_size", default=1408)), "Blip2", name
            ),
            "language_projection": Linear(h, wide, component=Component.PROJECTOR),
            "language_model": language,
        }

    def generation(c: ModelConfig) -> Module:
        ends = ("ForCausalLM", "ForConditionalGeneration")
        language = auto_class(c.section("text_config"), ends, default_type="opt", part="text")
        return Module(f"{name}ForConditionalGeneration", parts(c, language))

    def base(c: ModelConfig) -> Module:
        language = auto_model(c.section("text_config"), default_type="opt", part="text")
        return Module(f"{name}Model", parts(c, language))

    def vision(c: ModelConfig) -> Module:
        own = c.section("vision_config") if c.has("vision_config") else c
        return renamed(blip_2.vision_model(own), "Blip2", name)

    def only_qformer(c: ModelConfig) -> Module:
        return renamed(qformer(c, c.dim("encoder_hidden_size", default=1408)), "Blip2", name)

    classes: dict[str, Builder] = {
        f"{name}ForConditionalGeneration": generation,
        f"{name}Model": base,
        f"{name}VisionModel": vision,
    }
    register(model_type, classes, base=f"{name}Model", category="multimodal")
    register_part(f"{model_type}_vision_model", f"{name}VisionModel", vision, "vision")
    register_part(f"{model_type}_qformer", f"{name}QFormerModel", only_qformer, "multimodal")


register_instructblip("InstructBlip", "instructblip")
register_instructblip("InstructBlipVideo", "instructblipvideo")
