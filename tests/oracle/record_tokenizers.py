"""Record small tokenizers of every kind as transformers saves and loads them.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle record tokenizers           # every one below
    python -m tests.oracle record tokenizers --ids     # ids that the tokenizers library gives

One file each in fixtures/oracle/tokenizers: the files of the folder, and what the library says of
it. Replayed by tests/inspecting/test_tokenizer_recorded.py.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "tokenizers"
TEXT = [
    "a model counts the tokens of a sentence",
    "the sentence is cut into pieces, and each piece has a row in a table",
    "rows behind the last token are padding",
]
CHATML = (
    "{%- if tools %}{{ '<|im_start|>system\\nTools: ' + tools | tojson + '<|im_end|>\\n' }}"
    "{%- endif %}{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- if message.tool_calls %}{{ message.tool_calls | tojson }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}"
    "{%- endif %}{%- endif %}"
)
STRICT = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('there is no system role') }}{% endif %}"
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '[U] ' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '[A] ' + message['content'] + eos_token }}"
    "{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"
)
PICTURES = (
    "{% for message in messages %}{{ message.role }}: {% if message.content is string %}"
    "{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'image' %}"
    "{{ '<|image|>' }}{% elif part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
    "{% endif %}{% endfor %}"
)
NAMED = {"default": "{% for m in messages %}{{ m.role + m.content }}{% endfor %}", "tools": CHATML}
ROLES = ("system", "user", "assistant", "tool", "developer")
TOOL = {"type": "function", "function": {"name": "weather_of", "description": "", "parameters": {}}}


def bpe() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(TEXT, trainer)
    made.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    made.add_tokens([AddedToken("<think>", normalized=False)])
    return made


def word_piece() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        TEXT,
        trainers.WordPieceTrainer(vocab_size=90, special_tokens=special, show_progress=False),
    )
    return made


def unigram() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    trainer.show_progress = False
    made.train_from_iterator(TEXT, trainer)
    return made


def word_level() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(
        TEXT,
        trainers.WordLevelTrainer(special_tokens=["<unk>", "<s>", "</s>"], show_progress=False),
    )
    made.add_special_tokens(["<|image|>"])
    return made


def with_holes() -> Any:
    """As if somebody had numbered the added tokens by hand."""
    from tokenizers import Tokenizer

    content = json.loads(bpe().to_str())
    for at, token in enumerate(content["added_tokens"]):
        token["id"] += 10 * at
    return Tokenizer.from_str(json.dumps(content)), content


#: Name -> how it is made, and what transformers' class is given.
TOKENIZERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "bpe-chatml": (
        bpe,
        {
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "chat_template": CHATML,
            "model_max_length": 2048,
        },
    ),
    "bpe-holes": (with_holes, {"eos_token": "<|im_end|>", "chat_template": CHATML}),
    "wordpiece": (
        word_piece,
        {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
            "model_max_length": 512,
        },
    ),
    "unigram": (
        unigram,
        {
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "additional_special_tokens": [f"<extra_id_{n}>" for n in range(4)],
        },
    ),
    "wordlevel-strict": (
        word_level,
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": STRICT},
    ),
    "wordlevel-pictures": (
        word_level,
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": PICTURES},
    ),
    "wordlevel-named": (
        word_level,
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": NAMED},
    ),
}


def recorded(name: str) -> dict[str, Any]:
    """The files that transformers saves, and what it says of them after loading."""
    from transformers import PreTrainedTokenizerFast

    make, options = TOKENIZERS[name]
    made, content = made if isinstance(made := make(), tuple) else (made, None)
    with tempfile.TemporaryDirectory() as place:
        PreTrainedTokenizerFast(tokenizer_object=made, **options).save_pretrained(place)
        if content is not None:
            (Path(place) / "tokenizer.json").write_text(json.dumps(content))
        files = {
            path.relative_to(place).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(Path(place).rglob("*"))
            if path.is_file()
        }
        loaded = PreTrainedTokenizerFast.from_pretrained(place)
        gguf = gguf_of(loaded, Path(place)) if name == "bpe-chatml" else None
    result = {"files": files, "library": said(loaded)}
    return result if gguf is None else {**result, "gguf": base64.b64encode(gguf).decode()}


def gguf_of(loaded: Any, place: Path) -> bytes:
    """A file of the vocabulary alone, as llama.cpp's converter writes it with gguf's own writer."""
    from gguf import GGUFWriter, SpecialVocab, TokenType

    added = loaded.get_added_vocab()
    path = place / "vocabulary.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_type("vocab")
    writer.add_context_length(2048)
    writer.add_tokenizer_model("gpt2")
    names = loaded.convert_ids_to_tokens(range(len(loaded)))
    writer.add_token_list(names)
    kinds = [TokenType.CONTROL if name in added else TokenType.NORMAL for name in names]
    writer.add_token_types(kinds)
    SpecialVocab(place, load_merges=True).add_to_gguf(writer, quiet=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path.read_bytes()


def said(loaded: Any) -> dict[str, Any]:
    """What a tokenizer of transformers says of itself."""
    roles = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")
    return {
        "tokens": len(loaded),
        "vocab_size": loaded.vocab_size,
        "kind": json.loads(loaded.backend_tokenizer.to_str())["model"]["type"],
        "added": loaded.get_added_vocab(),
        "special": {role: getattr(loaded, f"{role}_token_id", None) for role in roles},
        "model_max_length": loaded.model_max_length,
        "templates": {
            name: abilities(loaded, name)
            for name in (
                sorted(loaded.chat_template)
                if isinstance(loaded.chat_template, dict)
                else ["default"] * bool(loaded.chat_template)
            )
        },
    }


def abilities(loaded: Any, name: str) -> dict[str, Any]:
    """What a template makes of each role, and whether tools change what it writes."""
    template = loaded.chat_template
    text = template[name] if isinstance(template, dict) else template

    def render(messages: list[dict[str, str]], **more: Any) -> Any:
        return loaded.apply_chat_template(messages, chat_template=text, tokenize=False, **more)

    works: dict[str, bool | str] = {}
    for role in ROLES:
        before = [] if role in ("system", "user") else [{"role": "user", "content": "ask"}]
        try:
            works[role] = "marker" in render([*before, {"role": role, "content": "marker"}])
        except Exception as error:  # the template's own
            works[role] = type(error).__name__
    user = [{"role": "user", "content": "ask"}]
    return {
        "roles": works,
        "tools": render(user) != render(user, tools=[TOOL]),
        "thinking": render(user, add_generation_prompt=True)
        != render(user, add_generation_prompt=True, enable_thinking=False),
    }


def ids() -> list[dict[str, Any]]:
    """Vocabularies and added tokens by chance, and the ids that the library gives."""
    from tokenizers import Tokenizer

    draw = random.Random(35)
    cases = []
    for _ in range(60):
        names = [f"t{n}" for n in range(draw.randrange(1, 6))]
        vocab = dict(zip(names, sorted(draw.sample(range(9), len(names))), strict=True))
        added = [
            {"id": draw.randrange(12), "content": draw.choice([*names, "x", "y", "z", ""])}
            for _ in range(draw.randrange(1, 5))
        ]
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        content = {
            "version": "1.0",
            "added_tokens": [{**one, **flags, "special": True} for one in added],
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": names[0]},
        }
        loaded = Tokenizer.from_str(json.dumps(content))
        given = {one["content"]: loaded.token_to_id(one["content"]) for one in added}
        cases.append(
            {
                "vocab": vocab,
                "added": added,
                "given": {token: number for token, number in given.items() if token},
                "tokens": loaded.get_vocab_size(with_added_tokens=True),
                "vocab_size": loaded.get_vocab_size(with_added_tokens=False),
            }
        )
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names; all if none is given")
    parser.add_argument("--ids", action="store_true", help="only the ids of added tokens")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    made: dict[str, Any] = {"ids": {"cases": ids()}} if not options.names else {}
    if not options.ids:
        names = [name for name in TOKENIZERS if not options.names or name in options.names]
        made |= {name: recorded(name) for name in names}
    for name, content in made.items():
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
