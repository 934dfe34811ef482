"""Small GGUF models that llama.cpp loads, and the same with something else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hfinspect.formats.gguf.ggml_types import GGML_TYPES

from ..sizing.llama_cpp_record import write_key
from .gguf_files import GgufWriter

#: Rows of the embedding of ``llama``, and tokens.
ROWS = 64
_WIDTH = 32
_INNER = 48
_F16 = 1
_ALIGNMENT = 32


class Parts(NamedTuple):
    """Key-values, and the row-major shapes of tensors; all are of one type."""

    keys: Mapping[str, Any]
    tensors: Mapping[str, tuple[int, ...]]
    kind: int = _F16

    def keyed(self, **keys: Any) -> Parts:
        """With other keys: ``block_count=3``; ``__`` is a dot, None is none."""
        architecture = self.keys["general.architecture"]
        made = dict(self.keys)
        for key, value in keys.items():
            name = key.replace("__", ".")
            full = name if name.startswith(("tokenizer.", "split.", "general.")) else (
                f"{architecture}.{name}"
            )  # fmt: skip
            made[full] = value
        return self._replace(keys={key: v for key, v in made.items() if v is not None})

    def without(self, *names: str) -> Parts:
        """Without these tensors."""
        left = {name: shape for name, shape in self.tensors.items() if name not in names}
        return self._replace(tensors=left)

    def shaped(self, tensors: Mapping[str, tuple[int, ...]]) -> Parts:
        """With these tensors in the place of others, or more of them."""
        return self._replace(tensors={**self.tensors, **tensors})

    def content(self, fill: bytes = b"\0") -> bytes:
        writer = GgufWriter()
        for key, value in self.keys.items():
            write_key(writer, key, value)
        offset = 0
        for name, shape in self.tensors.items():
            writer.tensor(name, shape, self.kind, offset)
            size = GGML_TYPES[self.kind].stored_bytes(shape)
            offset += -(-size // _ALIGNMENT) * _ALIGNMENT
        head = writer.header()
        return head + bytes(-len(head) % _ALIGNMENT) + fill * (offset // len(fill))

    def write(self, folder: Path, name: str = "model.gguf") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_bytes(self.content())
        return path


def vocabulary(rows: int) -> dict[str, Any]:
    """Keys of a tokenizer of so many tokens."""
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(rows)],
        "tokenizer.ggml.merges": ["t 0", "t 1"],
    }


def llama(layers: int = 2, *, experts: int = 0, tied: bool = False) -> Parts:
    """A Llama, or with experts a Mixtral."""
    keys = {
        "general.architecture": "llama",
        "llama.block_count": layers,
        "llama.context_length": 128,
        "llama.embedding_length": _WIDTH,
        "llama.feed_forward_length": _INNER,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 0.00001,
        **vocabulary(ROWS),
    }
    if experts:
        keys |= {"llama.expert_count": experts, "llama.expert_used_count": 2}
    tensors: dict[str, tuple[int, ...]] = {"token_embd.weight": (ROWS, _WIDTH)}
    for number in range(layers):
        tensors |= {f"blk.{number}.{name}.weight": shape for name, shape in _layer(experts).items()}
    tensors["output_norm.weight"] = (_WIDTH,)
    if not tied:
        tensors["output.weight"] = (ROWS, _WIDTH)
    return Parts(keys, tensors)


def _layer(experts: int) -> dict[str, tuple[int, ...]]:
    attention: dict[str, tuple[int, ...]] = {
        "attn_norm": (_WIDTH,),
        "attn_q": (_WIDTH, _WIDTH),
        "attn_k": (_WIDTH // 2, _WIDTH),
        "attn_v": (_WIDTH // 2, _WIDTH),
        "attn_output": (_WIDTH, _WIDTH),
        "ffn_norm": (_WIDTH,),
    }
    up = (_INNER, _WIDTH)
    down = (_WIDTH, _INNER)
    if not experts:
        return {**attention, "ffn_gate": up, "ffn_up": up, "ffn_down": down}
    return {
        **attention,
        "ffn_gate_inp": (experts, _WIDTH),
        "ffn_gate_exps": (experts, *up),
        "ffn_up_exps": (experts, *up),
        "ffn_down_exps": (experts, *down),
    }


def splits(parts: Parts, count: int) -> list[Parts]:
    """The same in several files: the key-values in the first, tensors in turn."""
    names = list(parts.tensors)
    made = []
    for number in range(count):
        keys = {"split.no": number, "split.count": count, "split.tensors.count": len(names)}
        tensors = {name: parts.tensors[name] for name in names[number::count]}
        made.append(Parts({**(parts.keys if number == 0 else {}), **keys}, tensors, parts.kind))
    return made
