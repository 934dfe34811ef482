"""RAG (Lewis et al. 2020): an encoder of questions and a model that generates, DPR and BART where
they name no type. What is searched is no part of the file (transformers/models/rag)."""

from ..layers.composing import composed
from ..trees import ModelConfig, Module, auto_class, auto_model, register


def model(c: ModelConfig) -> Module:
    # Each is a scope: names that are tied are counted from the generator.
    generator = auto_class(c.section("generator"), "ForConditionalGeneration", default_type="bart")
    question = auto_model(c.section("question_encoder"), default_type="dpr")
    return Module("RagModel", question_encoder=question, generator=generator)


_AROUND = {f"Rag{kind}ForGeneration": {"rag": model} for kind in ("Token", "Sequence")}
_CLASSES = {**composed(_AROUND), "RagModel": model}
register("rag", _CLASSES, base_prefix="rag", category="encoder-decoder")
