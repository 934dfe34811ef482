"""Names that files have and a fresh save has not."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.analysis.labels.lookup import spec_finder
from hfinspect.trees.prediction import predict

BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
GLM = {"model_type": "chatglm", "architectures": ["ChatGLMModel"], "padded_vocab_size": 64}
T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}


@pytest.mark.parametrize(
    ("config", "stored", "name"),
    [
        # TensorFlow's words for a norm's two vectors, in bert-base-uncased.
        (BERT, "bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"),
        (BERT, "embeddings.LayerNorm.beta", "bert.embeddings.LayerNorm.bias"),
        (BERT, "cls.predictions.transform.LayerNorm.beta", None),
        (BERT, "bert.embeddings.gamma", ""),
        # A conversion of ChatGLM2 that keeps the output layer outside of the base model.
        (GLM, "lm_head.weight", "transformer.output_layer.weight"),
        # A table that the first T5's decoder never read.
        (T5, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", None),
        (T5, "decoder.block.1.layer.1.EncDecAttention.relative_attention_bias.weight", ""),
    ],
)
def test_other_spellings(config: dict[str, Any], stored: str, name: str | None) -> None:
    """``name`` None: any, as long as it is found; empty: not found."""
    spec = spec_finder(predict(config))(stored)
    if name == "":
        assert spec is None
    else:
        assert spec is not None
        assert name is None or spec.name == name


def test_the_table_that_nothing_reads_is_no_part_of_a_fresh_save() -> None:
    prediction = predict(T5)
    assert prediction.parameters == 60_506_624  # t5-small
    assert [spec.shape for spec in prediction.extras if "EncDecAttention" in spec.name] == [(32, 8)]
