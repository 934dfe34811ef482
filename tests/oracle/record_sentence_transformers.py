"""Records what sentence-transformers saves for small models of its own modules.

    python -m tests.oracle record sentence-transformers [CASE ...]

writes ``fixtures/oracle/sentence_transformers/<case>.json``: the small JSON files as they are,
every tensor of every weight file (``name dims dtype``), and what the modules count of themselves:
parameters, and elements of saved buffers. No test needs the library.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "sentence_transformers"

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
#: Files that say what a model is made of; tokenizers and cards are left out.
SMALL = (
    "config.json",
    "modules.json",
    "router_config.json",
    "cnn_config.json",
    "lstm_config.json",
    "sentence_bert_config.json",
    "wordembedding_config.json",
)


def transformer(folder: Path, *, head: bool = False, **sizes: int) -> Any:
    from sentence_transformers.base.modules import Transformer
    from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast

    config = BertConfig(**{**SIZES, **sizes})
    made = (BertForMaskedLM if head else BertModel)(config)
    made.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return Transformer(str(folder), transformer_task="fill-mask" if head else "feature-extraction")


def cases(folder: Path) -> dict[str, Any]:
    """Name of the case -> a function that makes its modules."""
    from sentence_transformers.sentence_transformer import modules as m
    from sentence_transformers.sparse_encoder import modules as s

    def bert(name: str, **sizes: Any) -> Any:
        return transformer(folder / name, **sizes)

    def words() -> Any:
        import torch
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

        return m.WordEmbeddings(WhitespaceTokenizer(vocab=WORDS), torch.zeros(len(WORDS), 12))

    def static() -> Any:
        return m.StaticEmbedding(bert("static").tokenizer, embedding_dim=10)

    return {
        "pooling": lambda: [bert("a"), m.Pooling(16), m.Normalize()],
        "dense": lambda: [bert("a"), m.Pooling(16), m.Dense(16, 7), m.Normalize()],
        "dense-residual": lambda: [
            bert("a"),
            m.Pooling(16),
            m.Dense(16, 7, bias=False, use_residual=True),
        ],
        "cnn": lambda: [bert("a"), m.CNN(16, 9, [1, 3, 5]), m.Pooling(27)],
        "lstm": lambda: [
            words(),
            m.LSTM(12, 5, num_layers=2, bidirectional=True),
            m.Pooling(10),
        ],
        "lstm-one-way": lambda: [words(), m.LSTM(12, 5, bidirectional=False), m.Pooling(5)],
        "layer-norm": lambda: [bert("a"), m.Pooling(16), m.LayerNorm(16), m.Dropout(0.1)],
        "layer-weights": lambda: [
            bert("a"),
            m.WeightedLayerPooling(16, num_hidden_layers=2, layer_start=1),
            m.Pooling(16),
        ],
        "word-weights": lambda: [
            words(),
            m.WordWeights(WORDS, {"a": 0.5, "b": 2.0}),
            m.Pooling(12),
        ],
        "bow": lambda: [m.BoW(WORDS, {"a": 1.0}), m.Dense(len(WORDS), 6)],
        "static": lambda: [static(), m.Normalize()],
        "asymmetric": lambda: [
            m.Router.for_query_document(
                [bert("q", hidden_size=8, num_hidden_layers=1), m.Pooling(8), m.Dense(8, 16)],
                [bert("d"), m.Pooling(16)],
            ),
            m.Normalize(),
        ],
        "router-after-pooling": lambda: [
            bert("a"),
            m.Pooling(16),
            m.Router.for_query_document([m.Dense(16, 6)], [m.Dense(16, 6), m.LayerNorm(6)]),
        ],
        "sparse": lambda: [bert("a", head=True), s.SpladePooling("max")],
        "sparse-inference-free": lambda: [
            m.Router.for_query_document(
                [s.SparseStaticEmbedding(bert("a", head=True).tokenizer)],
                [bert("a", head=True), s.SpladePooling("max")],
            )
        ],
        "sparse-auto-encoder": lambda: [
            bert("a"),
            m.Pooling(16),
            s.SparseAutoEncoder(16, 40, k=4, k_aux=8),
        ],
    }


def record(name: str, make: Any, root: Path) -> dict[str, Any]:
    from sentence_transformers import SentenceTransformer, SparseEncoder

    kind = SparseEncoder if name.startswith("sparse") else SentenceTransformer
    model = kind(modules=make(), device="cpu")
    place = root / "saved" / name
    model.save(str(place), create_model_card=False)
    paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
    small = {
        path.relative_to(place).as_posix(): json.loads(path.read_text())
        for path in paths
        if path.name in SMALL
    }
    weights = {
        path.relative_to(place).as_posix(): header(path)
        for path in paths
        if path.suffix == ".safetensors"
    }
    return {
        "version": version("sentence-transformers"),
        "parameters": sum(p.numel() for p in model.parameters()),
        "buffers": sum(b.numel() for n, b in model.named_buffers() if n.endswith("last_nonzero")),
        "files": small,
        "weights": weights,
    }


def header(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        (size,) = struct.unpack("<Q", stream.read(8))
        content = json.loads(stream.read(size))
    metadata = content.pop("__metadata__", {})
    lines = [
        " ".join([name, "x".join(map(str, entry["shape"])), entry["dtype"]])
        for name, entry in sorted(content.items())
    ]
    return {"metadata": metadata, "tensors": lines}


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in cases(Path(folder)).items():
            if not wanted or name in wanted:
                case = record(name, make, Path(folder))
                text = json.dumps(case, indent=1, sort_keys=True)
                (FOLDER / f"{name}.json").write_text(text + "\n")
                print(name, case["parameters"])


if __name__ == "__main__":
    main(sys.argv[1:])
