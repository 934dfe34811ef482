"""Assistants of Gemma 4 (Gemma Team 2026): small decoders that draft several tokens ahead. Source
of shapes: the code of transformers/models/gemma4_assistant and gemma4_unified_assistant, which the
library refuses to build. All layers read the large model's keys and values."""

from ..layers.heads import to_words
from ..trees import Buffer, Builder, Component, Linear, ModelConfig, Module, register
from . import gemma4_text, gemma4_unified


def register_assistant(name: str, model_type: str, base: Builder, backbone: int) -> None:
    def causal(c: ModelConfig) -> Module:
        text = c.section("text_config").of_type("gemma4_text", "gemma4_unified_text")
        hidden = gemma4_text.hidden(text)
        vocab = text.dim("vocab_size", default=262144)
        wide = c.dim("backbone_hidden_size", default=backbone)
        ordered = c.flag("use_ordered_embeddings", default=False)
        if not int(text.count("num_kv_shared_layers", default=0)):  # stands for every layer
            layers = int(text.count("num_hidden_layers", default=30))
            text = ModelConfig({**text.values, "num_kv_shared_layers": layers}, text.path)
        model = base(text)
        model.scope = True
        return Module(
            f"{name}ForCausalLM",
            model=model,
            lm_head=to_words(hidden, vocab, "model.embed_tokens.weight" if c.tied() else None),
            pre_projection=Linear(2 * wide, hidden, bias=False, component=Component.PROJECTOR),
            post_projection=Linear(hidden, wide, bias=False, component=Component.PROJECTOR),
            masked_embedding=Module(
                f"{name}MaskedEmbedder",
                centroids=Linear(hidden, c.dim("num_centroids", default=2048), bias=False),
                token_ordering=Buffer(vocab, dtype="I64"),
                component=Component.HEAD,
            )
            if ordered
            else None,
        )

    classes = {f"{name}ForCausalLM": causal}
    register(model_type, classes, base_prefix="model", category="text decoder")


register_assistant("Gemma4Assistant", "gemma4_assistant", gemma4_text.text_model, 1536)
register_assistant(
    "Gemma4UnifiedAssistant", "gemma4_unified_assistant", gemma4_unified.text_model, 3840
)
