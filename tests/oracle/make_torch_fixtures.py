"""Write the small PyTorch and GGUF files of fixtures/checkpoints/, and what is in them.

    pip install 'hfinspect[oracle,test]'
    python -m tests.oracle fixtures

Each directory holds the files and ``expected.json``: for PyTorch, every tensor as torch.load sees
it (name: dtype, shape, elements, bytes of the view, its first element in hexadecimal) and the
groups of tensors that torch says lie on the same bytes; for GGUF, what the gguf package reads.
"""

from __future__ import annotations

import io
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints"
COUNTER = iter(range(10**9))


def values(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor whose values differ from those of every other tensor."""
    start = next(COUNTER)
    count = torch.Size(shape).numel()
    return (torch.arange(count) + 7 * start + 1).reshape(shape).to(dtype)


class Tiny(torch.nn.Module):  # type: ignore[misc]
    """Two linear layers that share a weight, a norm in a list, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        self.layers = torch.nn.ModuleList([torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)])
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", torch.ones(3, 3, dtype=torch.bool).tril())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return torch.nn.functional.linear(x, self.head.weight)


def views() -> dict[str, Any]:
    base = values(6, 4)
    return {
        "base": base,
        "tied": base,
        "transposed": base.t(),
        "reshaped": base.view(2, 12),
        "rows": base[2:4],
        "last_row": base[5],
        "column": base[:, 1],
        "expanded": values(1, 3).expand(5, 3),
        "scalar": values(),
        "empty": values(0, 4),
        "alone": values(5),
    }


def dtypes() -> dict[str, Any]:
    names = [
        *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
        *("bool", "complex64", "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn"),
        *("float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    ]
    return {name: values(3, dtype=getattr(torch, name)) for name in names}


def training() -> dict[str, Any]:
    model = Tiny()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    return {
        "epoch": 3,
        "state_dict": model.state_dict(),
        "optimizer_states": [optimizer.state_dict()],
        "rng_state": torch.arange(16, dtype=torch.uint8),
        "hyper_parameters": {"lr": 1e-3, "names": ["a", "b"], "steps": (1, 2)},
    }


def same_bytes(tensors: Mapping[str, torch.Tensor]) -> list[list[str]]:
    """Groups of two or more names whose elements are exactly the same bytes, sorted."""
    groups: dict[object, list[str]] = {}
    for name, tensor in tensors.items():
        if not tensor.numel():
            continue
        size = tensor.element_size()
        total = tensor.untyped_storage().nbytes() // size
        index = torch.arange(total).as_strided(
            tensor.size(), tensor.stride(), tensor.storage_offset()
        )
        places = frozenset(int(i) * size for i in index.flatten())
        key = (tensor.untyped_storage().data_ptr(), places, size)
        groups.setdefault(key, []).append(name)
    return sorted(sorted(names) for names in groups.values() if len(names) > 1)


def first_element(tensor: torch.Tensor) -> str | None:
    if not tensor.numel():
        return None
    head = tensor.detach().as_strided((1,), (1,), tensor.storage_offset()).clone()
    return bytes(head.untyped_storage()).hex()


def expected(tensors: Mapping[str, torch.Tensor], **more: object) -> dict[str, object]:
    rows = {
        name: {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "elements": tensor.numel(),
            "first": first_element(tensor),
        }
        for name, tensor in tensors.items()
    }
    return {"tensors": rows, "same_bytes": same_bytes(tensors), **more}


def write(case: str, files: Mapping[str, bytes], facts: Mapping[str, object]) -> None:
    directory = FIXTURES / case
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    (directory / "expected.json").write_text(json.dumps(facts, indent=1) + "\n")


def saved(value: object, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def case_of(
    case: str,
    data: bytes,
    pick: Callable[[Any], Mapping[str, torch.Tensor]] = lambda value: value,
    name: str = "pytorch_model.bin",
    **more: object,
) -> None:
    loaded = torch.load(io.BytesIO(data), weights_only=True)
    write(case, {name: data}, expected(pick(loaded), **more))


def torch_cases() -> None:
    old = {"_use_new_zipfile_serialization": False}
    case_of("torch-zip-views", saved(views()))
    case_of("torch-legacy-views", saved(views(), **old))
    case_of("torch-zip-dtypes", saved(dtypes()))
    state = views()  # torch.load(weights_only=True) knows no protocol after 3
    write(
        "torch-protocol-4", {"pytorch_model.bin": saved(state, pickle_protocol=4)}, expected(state)
    )
    training_file = saved(training())
    case_of(
        "torch-training",
        training_file,
        lambda value: value["state_dict"],
        "last.ckpt",
        state_dict="state_dict",
    )
    optimizer = torch.optim.Adam(Tiny().parameters())
    case_of("torch-optimizer", saved(optimizer.state_dict()), lambda value: {}, "optimizer.pt")
    model = Tiny()
    write("torch-module", {"model.pt": saved(model)}, expected(model.state_dict(keep_vars=True)))
    scripted = torch.jit.script(Tiny())
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    facts = expected(torch.jit.load(io.BytesIO(buffer.getvalue())).state_dict())
    write("torch-script", {"model.pt": buffer.getvalue()}, facts)
    sharded()


def sharded() -> None:
    """Two shards and their index, as transformers wrote them before safetensors."""
    state = Tiny().state_dict()
    state.pop("head.weight")
    names = list(state)
    parts = {
        "pytorch_model-00001-of-00002.bin": names[:2],
        "pytorch_model-00002-of-00002.bin": names[2:],
    }
    files = {
        file: saved({name: state[name].clone() for name in part}) for file, part in parts.items()
    }
    index = {
        "metadata": {"total_size": sum(t.numel() * t.element_size() for t in state.values())},
        "weight_map": {name: file for file, part in parts.items() for name in part},
    }
    files["pytorch_model.bin.index.json"] = json.dumps(index, indent=2).encode()
    write("torch-sharded", files, expected(state))


def gguf_writer(path: Path, endian: gguf.GGUFEndian, **options: Any) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(str(path), "llama", endianess=endian, **options)
    writer.add_name("tiny")
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length([128, 256])
    writer.add_head_count([4, 8])
    writer.add_head_count_kv([2, 4])
    writer.add_expert_count(8)
    writer.add_expert_used_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(float("inf"))
    writer.add_file_type(15)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"token {i} é" for i in range(100)])
    writer.add_token_scores([float(i) for i in range(1100)])
    writer.add_tags(["one", "two"])
    writer.add_array("general.nothing", [])
    return writer


def gguf_tensors(writer: gguf.GGUFWriter) -> None:
    writer.add_tensor("token_embd.weight", np.arange(100 * 8, dtype=np.float32).reshape(100, 8))
    writer.add_tensor("blk.0.attn_norm.weight", np.arange(5, dtype=np.float16))
    kinds = gguf.GGMLQuantizationType
    for kind in (kinds.Q4_K, kinds.Q6_K, kinds.Q8_0, kinds.IQ4_NL, kinds.MXFP4, kinds.TQ1_0):
        block, nbytes = gguf.GGML_QUANT_SIZES[kind]
        data = np.arange(2 * nbytes, dtype=np.uint8).reshape(2, nbytes)
        writer.add_tensor(f"blk.0.{kind.name.lower()}.weight", data, raw_dtype=kind)
        assert block


def gguf_facts(path: Path) -> dict[str, object]:
    reader = gguf.GGUFReader(str(path))
    return {
        tensor.name: {
            "type": tensor.tensor_type.name,
            "shape": [int(size) for size in reversed(tensor.shape.tolist())],
            "elements": int(tensor.n_elements),
            "nbytes": int(tensor.n_bytes),
            "offset": int(tensor.data_offset),
        }
        for tensor in reader.tensors
    }


def gguf_cases() -> None:
    endians = {"gguf-v3": gguf.GGUFEndian.LITTLE, "gguf-big-endian": gguf.GGUFEndian.BIG}
    for case, endian in endians.items():
        directory = FIXTURES / case
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        writer = gguf_writer(directory / "tiny-Q4_K_M.gguf", endian)
        gguf_tensors(writer)
        finish(writer)
    directory = FIXTURES / "gguf-split"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    writer = gguf_writer(
        directory / "tiny.gguf", gguf.GGUFEndian.LITTLE, split_max_tensors=3
    )  # writes tiny-00001-of-00003.gguf ...
    gguf_tensors(writer)
    finish(writer)
    for case in (*endians, "gguf-split"):
        files = sorted((FIXTURES / case).glob("*.gguf"))
        facts = {file.name: gguf_facts(file) for file in files}
        text = json.dumps({"files": facts}, indent=1) + "\n"
        (FIXTURES / case / "expected.json").write_text(text)


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    torch_cases()
    gguf_cases()
