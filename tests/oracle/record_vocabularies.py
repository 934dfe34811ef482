"""Record small vocabularies that sentencepiece trains, and what the libraries make of them.

    pip install sentencepiece protobuf tiktoken mistral-common 'transformers==4.57.1'
    python -m tests.oracle record vocabularies        # and again with a release 5 of transformers

fixtures/oracle/vocabularies has a file each: ``pieces.json``, models of every algorithm with
several options, as sentencepiece itself lists them; ``classes.json``, folders of transformers'
classes with the ids that each release gives (a run adds the answers of the installed one);
``ranks.json``, lists of ranks as tiktoken loads them; ``tekken.json``, Mistral's files as
mistral_common does; ``damaged.json``, changed bytes and whether sentencepiece loads them. Replayed
by tests/checkpoints/test_vocabularies_recorded.py.
"""

from __future__ import annotations

import base64
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "vocabularies"
TEXT: Final = (
    "a model counts the tokens of a sentence",
    "the sentence is cut into pieces, and each piece has a row in a table",
    "rows behind the last token are padding",
    "numbers 0 1 2 3 4 5 6 7 8 9 and (brackets)",
)
#: Name -> options of the trainer.
MODELS: Final[Mapping[str, Mapping[str, Any]]] = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "char": {"model_type": "char"},
    "word": {"model_type": "word"},
    "llama": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 330},
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "gemma": {
        "model_type": "bpe",
        "byte_fallback": True,
        "vocab_size": 340,
        "pad_id": 0,
        "eos_id": 1,
        "bos_id": 2,
        "unk_id": 3,
        "pad_piece": "<pad>",
        "eos_piece": "<eos>",
        "bos_piece": "<bos>",
        "user_defined_symbols": ["<mask>", "[@BOS@]"],
        "control_symbols": ["<ctl>"],
    },
    "albert": {
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
    },
    "deberta": {
        "pad_id": 0,
        "bos_id": 1,
        "eos_id": 2,
        "unk_id": 3,
        "pad_piece": "[PAD]",
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
        "unk_piece": "[UNK]",
    },
    "xlnet": {
        "unk_id": 0,
        "bos_id": 1,
        "eos_id": 2,
        "control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"],
    },
    "unused": {"user_defined_symbols": ["<a>", "<b>"]},
    "marked": {
        "model_type": "bpe",
        "byte_fallback": True,
        "vocab_size": 334,
        "user_defined_symbols": ["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"],
    },
}
#: Name of a case -> (model or None, its file, tokenizer_config.json, further files).
Case = tuple["str | None", str, dict[str, Any], dict[str, Any]]
#: A tokenizer.json of three words.
WORDS: Final = {
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "<unk>": 2}, "unk_token": "<unk>"},
}
BPE: Final = "sentencepiece.bpe.model"
#: A vocab.json of M2M-100, its first languages, a vocab.txt with counts and its merges.
M2M: Final = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5}
LANGUAGES: Final = ["__af__", "__am__", "__ar__"]
WORDS_AND_COUNTS: Final = {
    "vocab.txt": "aa 9\nb@@ 8\nc d 7\n",
    "bpe.codes": "a a</w> 9\nb b</w> 8\n",
}
MASKS: Final = ["<mask_1>", *(f"<unk_{number}>" for number in range(2, 103))]
CASES: Final[Mapping[str, Case]] = {
    "Llama": ("llama", "tokenizer.model", {}, {}),
    "Llama-more": (
        "llama",
        "tokenizer.model",
        {"pad_token": "[PAD]", "additional_special_tokens": ["<q>", "<r>"]},
        {"added_tokens.json": {"<a>": 330, "[PAD]": 331}},
    ),
    "Llama-padded": ("llama", "tokenizer.model", {"pad_token": "<p>", "unk_token": "<unk>"}, {}),
    "Gemma": ("gemma", "tokenizer.model", {}, {}),
    "T5": ("t5", "spiece.model", {}, {}),
    "T5-three": ("t5", "spiece.model", {"extra_ids": 3}, {}),
    "T5-none": (
        "t5",
        "spiece.model",
        {"extra_ids": 0, "additional_special_tokens": ["<foo>"]},
        {},
    ),
    "T5-unpadded": ("unigram", "spiece.model", {}, {}),
    "Siglip": ("unigram", "spiece.model", {}, {}),
    "Albert": ("albert", "spiece.model", {}, {}),
    "XLNet": ("xlnet", "spiece.model", {}, {}),
    "DebertaV2": ("deberta", "spm.model", {}, {}),
    "BigBird": ("unigram", "spiece.model", {}, {}),
    "Reformer": ("unigram", "spiece.model", {}, {}),
    "SpeechT5": ("char", "spm_char.model", {}, {}),
    "GPTSw3": ("llama", "spiece.model", {}, {}),
    "XLMRoberta": ("unigram", BPE, {}, {}),
    "XLMRoberta-more": ("bpe", BPE, {"additional_special_tokens": ["<foo>"]}, {}),
    "LayoutXLM": ("unigram", BPE, {}, {}),
    "MBart": ("unigram", BPE, {}, {}),
    "MBart50": ("unigram", BPE, {}, {}),
    "Camembert": ("unigram", BPE, {}, {}),
    "Barthez": ("unigram", BPE, {}, {}),
    "Barthez-more": ("albert", BPE, {"additional_special_tokens": ["<q>"]}, {}),
    "FNet": ("albert", "spiece.model", {}, {}),
    "FNet-bare": ("unigram", "spiece.model", {}, {}),
    "Udop": ("t5", "spiece.model", {}, {}),
    "Udop-unpadded": ("unigram", "spiece.model", {}, {}),
    "BertGeneration": ("unigram", "spiece.model", {}, {}),
    "BertGeneration-more": (
        "albert",
        "spiece.model",
        {"additional_special_tokens": ["<q>"]},
        {},
    ),
    "SeamlessM4T": ("unigram", BPE, {}, {}),
    "SeamlessM4T-more": (
        "unigram",
        BPE,
        {"additional_special_tokens": ["__eng__", "__fra__"]},
        {"added_tokens.json": {"__eng__": 55, "__fra__": 56}},
    ),
    "SeamlessM4T-padded": ("gemma", BPE, {}, {}),
    "Phobert": (None, "", {}, WORDS_AND_COUNTS),
    "Phobert-more": (
        None,
        "",
        {"additional_special_tokens": ["<q>"]},
        {**WORDS_AND_COUNTS, "added_tokens.json": {"<mask>": 7}},
    ),
    "Bertweet": (None, "", {}, WORDS_AND_COUNTS),
    "M2M100": ("unigram", BPE, {}, {"vocab.json": M2M}),
    "M2M100-listed": (
        "unigram",
        BPE,
        {},
        {
            "vocab.json": M2M,
            "special_tokens_map.json": {"additional_special_tokens": LANGUAGES},
        },
    ),
    "M2M100-turned": (
        "unigram",
        BPE,
        {"additional_special_tokens": LANGUAGES[::-1]},
        {"vocab.json": M2M},
    ),
    "Pegasus": ("t5", "spiece.model", {}, {}),
    "Pegasus-named": (
        "t5",
        "spiece.model",
        {"offset": 103, "mask_token_sent": "<mask_1>", "mask_token": "<mask_2>"},
        {},
    ),
    "Pegasus-listed": ("t5", "spiece.model", {"additional_special_tokens": MASKS}, {}),
    "Pegasus-mapped": (
        "t5",
        "spiece.model",
        {},
        {"special_tokens_map.json": {"additional_special_tokens": MASKS}},
    ),
    "Pegasus-saved": (
        "t5",
        "spiece.model",
        {"mask_token": "<mask_2>", "additional_special_tokens": MASKS},
        {},
    ),
    "Pegasus-zero": ("t5", "spiece.model", {"offset": 0, "mask_token": "[MASK]"}, {}),
    "Nllb": ("unigram", BPE, {}, {}),
    "Nllb-listed": (
        "unigram",
        BPE,
        {"additional_special_tokens": ["ace_Arab", "ace_Latn"]},
        {},
    ),
    "RemBert": ("albert", "sentencepiece.model", {}, {}),
    "RemBert-named": (
        "deberta",
        "sentencepiece.model",
        {"unk_token": "[UNK]", "pad_token": "[PAD]"},
        {},
    ),
    "RemBert-bare": (
        "unigram",
        "sentencepiece.model",
        {"unk_token": "[UNK]", "pad_token": "[PAD]"},
        {},
    ),
    "CodeLlama": ("llama", "tokenizer.model", {}, {}),
    "CodeLlama-marked": ("marked", "tokenizer.model", {}, {}),
    "XGLM": ("unigram", BPE, {}, {}),
    "fast-named": (
        None,
        "",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "[PAD]",
            "eos_token": "<e>",
            "unk_token": "<unk>",
            "additional_special_tokens": ["<x>", "<y>"],
        },
        {"tokenizer.json": WORDS, "special_tokens_map.json": {"bos_token": "<b>"}},
    ),
    "GPT2-named": (
        None,
        "",
        {"pad_token": "<p>", "eos_token": "<e>"},
        {"vocab.json": {"a": 0, "b": 1, "<|endoftext|>": 2}, "merges.txt": "#version: 0.2\n"},
    ),
    "Bert": (None, "", {}, {"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n"}),
}


def trained(name: str) -> bytes:
    import sentencepiece

    out = io.BytesIO()
    options: dict[str, Any] = {"vocab_size": 70, **MODELS[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 4),
        model_writer=out,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    data = out.getvalue()
    return marked_unused(data) if name == "unused" else data


def marked_unused(data: bytes) -> bytes:
    """Two pieces that the trainer made are marked as not in use."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(data)
    for piece in model.pieces[-2:]:
        piece.type = sentencepiece_model_pb2.ModelProto.SentencePiece.UNUSED
    return bytes(model.SerializeToString())


def listed(data: bytes) -> dict[str, Any]:
    """A model as sentencepiece itself lists it."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    number = range(model.get_piece_size())
    return {
        "pieces": [model.id_to_piece(one) for one in number],
        "unknown": [one for one in number if model.is_unknown(one)],
        "control": [one for one in number if model.is_control(one)],
        "unused": [one for one in number if model.is_unused(one)],
        "byte": [one for one in number if model.is_byte(one)],
        "roles": {role: getattr(model, f"{role}_id")() for role in ("unk", "bos", "eos", "pad")},
    }


def loaded(case: Case, name: str, data: bytes) -> dict[str, Any]:
    """What transformers gives: in release 4 the class that walks the pieces itself."""
    import transformers

    _, file, config, more = case
    with tempfile.TemporaryDirectory() as place:
        config = {"tokenizer_class": f"{name.partition('-')[0]}Tokenizer", **config}
        if file:
            (Path(place) / file).write_bytes(data)
        for path, content in {"tokenizer_config.json": config, **more}.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (Path(place) / path).write_text(text)
        fast = transformers.__version__[0] != "4"
        made = transformers.AutoTokenizer.from_pretrained(place, use_fast=fast)
        roles = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
        special = {role: getattr(made, f"{role}_token_id", None) for role in roles}
        # M2M-100 gives its languages ids that get_vocab and len know only of those listed.
        languages = {
            token: made.convert_tokens_to_ids(token)
            for token in getattr(made, "lang_token_to_id", ())
        }
        ids = {**made.get_vocab(), **languages}
        tokens = len(ids) if languages else len(made)
        return {"tokens": tokens, "ids": ids, "special": special}


def ranks() -> list[dict[str, Any]]:
    """Lists of ranks, by what tiktoken's own reader makes of them."""
    from tiktoken.load import load_tiktoken_bpe

    os.environ["TIKTOKEN_CACHE_DIR"] = ""  # else a list is remembered by its path
    draw = random.Random(35)
    cases = []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "made.tiktoken"
        for count in (1, 3, 40):
            tokens = {bytes([number]): number for number in range(256)} if count > 3 else {}
            for _ in range(count):
                tokens.setdefault(draw.randbytes(draw.randint(1, 9)), len(tokens) + 5 * (count < 9))
            lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in tokens.items())
            path.write_bytes(b"".join(lines))
            read = load_tiktoken_bpe(str(path))
            library = {base64.b64encode(token).decode(): rank for token, rank in read.items()}
            cases.append({"text": path.read_text(), "ranks": library})
    return cases


def tekken() -> list[dict[str, Any]]:
    """Files of Mistral's form, as mistral_common loads them."""
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    more = [base64.b64encode(two.encode()).decode() for two in ("th", "he", "in", "er")]
    tokens = [base64.b64encode(bytes([number])).decode() for number in range(256)] + more
    vocab = [
        {"rank": rank, "token_bytes": token, "token_str": None} for rank, token in enumerate(tokens)
    ]
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    special = [
        {"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)
    ]
    cases = []
    with tempfile.TemporaryDirectory() as place:
        for size, before, listed in ((268, 10, special), (263, 5, special)):
            config = {
                "pattern": r"\w+|\W+",
                "num_vocab_tokens": len(vocab),
                "default_vocab_size": size,
                "default_num_special_tokens": before,
                "version": "v7",
            }
            content = {"config": config, "vocab": vocab, "special_tokens": listed}
            path = Path(place) / "tekken.json"
            path.write_text(json.dumps(content))
            made = Tekkenizer.from_file(path)
            roles = {"bos": made.bos_id, "eos": made.eos_id, "unk": made.unk_id}
            ids = {name: made.get_special_token(name) for name in names}
            cases.append({"file": content, "tokens": made.n_words, "roles": roles, "special": ids})
    return cases


def damaged(data: bytes) -> list[dict[str, Any]]:
    """Changed and cut bytes, and how many pieces sentencepiece loads of them; None for none."""
    import sentencepiece

    draw = random.Random(3)
    cases = []
    for number in range(90):
        changed = bytearray(data[: draw.randrange(len(data))] if number % 3 == 0 else data)
        for _ in range(number % 3):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        try:
            model = sentencepiece.SentencePieceProcessor(model_proto=bytes(changed))
            size = model.get_piece_size()
        except (RuntimeError, TypeError):
            size = None
        cases.append({"data": base64.b64encode(changed).decode(), "pieces": size})
    return cases


def main() -> int:
    import transformers

    FOLDER.mkdir(exist_ok=True)
    models = {name: trained(name) for name in MODELS}
    pieces = {
        name: {"data": base64.b64encode(data).decode(), **listed(data)}
        for name, data in models.items()
    }
    path = FOLDER / "classes.json"
    classes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, case in CASES.items():
        row = classes.setdefault(name, {})
        row.update(model=case[0], file=case[1], config=case[2], more=case[3])
        data = base64.b64decode(pieces[case[0]]["data"]) if case[0] else b""
        row.setdefault("library", {})[transformers.__version__] = loaded(case, name, data)
    files = {
        "pieces": pieces,
        "classes": classes,
        "ranks": ranks(),
        "tekken": tekken(),
        "damaged": damaged(trained("bpe")),
    }
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
