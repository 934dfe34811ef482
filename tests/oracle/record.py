"""Record what transformers (or diffusers) saves, for the tests that need no torch.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle record saves                # every case
    python -m tests.oracle record saves llama t5       # cases/llama.json, cases/t5.json
    python -m tests.oracle record saves --check llama  # compare with the recording, write nothing

A case file lists small random models to build and whole default configs to count::

    {"model_type": "llama",
     "tiny": {"hidden_size": 32, ...},                       config shared by the cases
     "cases": [{"name": "gqa", "architecture": "LlamaForCausalLM", "config": {...}}, ...],
     "defaults": ["LlamaForCausalLM"]}                       counted on the meta device

``"remove": ["key"]`` in a case drops keys of ``tiny``.  ``"library": "diffusers"`` takes the class
from diffusers.  A file may hold a list of such objects, one per model_type.  ``"names": "module"``
takes names as the modules have them, where save_pretrained writes names no released file has, or
leaves out what released files hold and the model counts.  ``"count": "file"`` counts what a save
writes instead of what the model holds, where a save adds padding.

Each case is built, written with ``save_pretrained`` and read back from the file's header; the
recording holds the config as given, as saved and (once a model_type) in full, and every tensor as
``name dims [dtype]``.  Defaults are too large to save; they are built on the meta device, passed
through the same renaming as save_pretrained, and recorded as a count and a digest.

Where a release saves something else than the one before, the recording of the past stays under its
label and the release, ``llama-gqa@5.20.0``: a config that this release saved is answered as before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
import tempfile
import warnings
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "oracle"


def digest(lines: list[str]) -> str:
    """sha256 over the sorted ``name dims`` lines."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def shapes_digest(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """The same of names with their shapes."""
    return digest([f"{n} {'x'.join(map(str, s)) or 'scalar'}" for n, s in shapes.items()])


def header_lines(file: Path) -> list[str]:
    """``name dims [dtype unless F32]`` of every tensor in a safetensors file."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    return [_line(name, entry["shape"], entry["dtype"]) for name, entry in header.items()]


def _line(name: str, shape: Any, dtype: str = "F32") -> str:
    dims = "x".join(str(int(size)) for size in shape) or "scalar"
    return f"{name} {dims}" + ("" if dtype == "F32" else f" {dtype}")


def _library(entry: dict[str, Any]) -> Any:
    if entry.get("library") == "diffusers":
        import diffusers

        return diffusers
    import transformers

    return transformers


def _class(entry: dict[str, Any], architecture: str) -> Any:
    if entry.get("library") == "diffusers":
        from .tracing.of_diffusers import diffusers

        return diffusers().named(architecture)
    from .saved import model_class

    return model_class(architecture, entry["model_type"])


def _config(entry: dict[str, Any], architecture: str, values: dict[str, Any]) -> Any:
    from transformers import AutoConfig

    if entry.get("library") == "diffusers":
        return values
    cls = _class(entry, architecture).config_class
    if cls is not None and getattr(cls, "model_type", None) == entry["model_type"]:
        return cls(**values)
    return AutoConfig.for_model(entry["model_type"], **values)


def _build(entry: dict[str, Any], architecture: str, values: dict[str, Any]) -> Any:
    cls = _class(entry, architecture)
    config = _config(entry, architecture, values)
    if entry.get("library") == "diffusers":
        return cls.from_config(config)
    return cls._from_config(config)


def record_case(entry: dict[str, Any], case: dict[str, Any], *, first: bool) -> dict[str, Any]:
    """Build, save, read back."""
    given = {k: v for k, v in entry.get("tiny", {}).items() if k not in case.get("remove", ())}
    given.update(case.get("config", {}))
    model = _build(entry, case["architecture"], given)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        if entry.get("names") == "module":
            _save_plainly(model, Path(folder))
        lines: list[str] = []
        for file in sorted(Path(folder).glob("*.safetensors")):
            lines += header_lines(file)
        saved = json.loads((Path(folder) / "config.json").read_text())
    record: dict[str, Any] = {
        "library": entry.get("library", "transformers"),
        "version": _library(entry).__version__,
        "model_type": entry["model_type"],
        "architecture": case["architecture"],
        "given": given,
        "saved": saved,
        "parameters": _parameters(entry, model, lines),
        "tensors": lines,
    }
    if first:
        if hasattr(model.config, "to_dict"):
            record["full"] = json.loads(model.config.to_json_string(use_diff=False))
        record["classes"] = {
            name: type(module).__name__
            for name, module in model.named_modules()
            if name and next(module.parameters(), None) is not None
        }
    return record


def _parameters(entry: dict[str, Any], model: Any, lines: list[str]) -> int:
    if entry.get("count") != "file":
        return _unique_parameters(model)
    saved = set(model.state_dict())
    buffers = sum(int(b.numel()) for name, b in model.named_buffers() if name in saved)
    return sum(map(_elements, lines)) - buffers


def _elements(line: str) -> int:
    dims = line.split()[1]
    count: int = prod(map(int, dims.split("x"))) if dims != "scalar" else 1
    return count


def _unique_parameters(model: Any) -> int:
    """Parameters counted once each, those that a save leaves out as well."""
    return sum(parameter.numel() for parameter in model.parameters())


def _save_plainly(model: Any, folder: Path) -> None:
    """Replace the weights by the same under the model's own names, tied copies left out."""
    from safetensors.torch import save_file

    for file in folder.glob("*.safetensors"):
        file.unlink()
    tied = getattr(model, "all_tied_weights_keys", None) or {}
    state = {name: t for name, t in model.state_dict().items() if name not in tied}
    save_file(state, str(folder / "model.safetensors"))


def record_default(entry: dict[str, Any], architecture: str) -> dict[str, Any]:
    """Count a default config on the meta device, with the names that a save would write."""
    import torch

    with torch.device("meta"):
        model = _build(entry, architecture, {})
    state = model.state_dict()
    if entry.get("names") != "module":
        for key in getattr(model, "_keys_to_ignore_on_save", None) or ():
            state.pop(key, None)
    tied = getattr(model, "all_tied_weights_keys", None) or {}
    for name in tied:
        state.pop(name, None)
    if entry.get("library") != "diffusers":
        from transformers.core_model_loading import revert_weight_conversion

        state = revert_weight_conversion(model, state)
    lines = [_line(name, tensor.shape) for name, tensor in state.items()]
    return {
        "library": entry.get("library", "transformers"),
        "version": _library(entry).__version__,
        "model_type": entry["model_type"],
        "architecture": architecture,
        "parameters": _parameters(entry, model, lines),
        "count": len(lines),
        "digest": digest(lines),
    }


def plain(value: Any) -> Any:
    """JSON has no infinity; transformers spells it as an object, and so do we."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"__float__": {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _text(records: dict[str, Any]) -> str:
    """A family's file: one recording after the other, a tensor a line."""
    parts = []
    for label, record in sorted(records.items()):
        rest = {key: value for key, value in record.items() if key != "tensors"}
        text = json.dumps(rest, allow_nan=False)
        if "tensors" in record:
            body = ",\n".join(json.dumps(line) for line in record["tensors"])
            text = f'{text[:-1]},\n"tensors": [\n{body}\n]}}'
        parts.append(f"{json.dumps(label)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(old.get(key) == new.get(key) for key in ("parameters", "tensors", "digest"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="case files by name; all if none is given")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        import torch
        import transformers
    except ImportError as error:
        sys.exit(f"{error}: recording needs the libraries, pip install -e '.[oracle]'")

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    failures = 0
    names = options.families or sorted(path.stem for path in (FIXTURES / "cases").glob("*.json"))
    for name in names:
        path = FIXTURES / "recorded" / f"{name}.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        now: dict[str, Any] = {}
        for entry in entries(FIXTURES / "cases" / f"{name}.json"):
            for label, job in jobs(entry):
                try:
                    now[label] = plain(job())
                except Exception as error:
                    print(f"{label}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                    failures += 1
                    continue
                equal = same(before.get(label, {}), now[label])
                print(f"{label}: {'ok' if equal else 'DIFFERS' if options.check else 'new'}")
                failures += options.check and not equal
        if not options.check and len(now):
            kept = before if failures else of_the_past(before, now)
            path.write_text(_text({**kept, **now}))
    return 1 if failures else 0


def of_the_past(
    before: Mapping[str, dict[str, Any]], now: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Recordings of earlier releases that a new one does not repeat, under label and release."""
    records = {label: old for label, old in before.items() if "@" in label}
    for label, old in before.items():
        new = now.get(label)
        if new and new["version"] != old["version"] and not same(old, new):
            records[f"{label}@{old['version']}"] = old
    return records


def entries(case_file: Path) -> list[dict[str, Any]]:
    """What a case file has of each type; one of a single type has it without a list."""
    content = json.loads(case_file.read_text())
    return content if isinstance(content, list) else [content]


def jobs(entry: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a case file's entry asks to be recorded: label, and what does it."""
    prefix = (entry["model_type"] or "diffusers").replace("/", "_")
    tasks: list[tuple[str, Any]] = [
        (f"{prefix}-{case['name']}", lambda case=case, i=i: record_case(entry, case, first=i == 0))
        for i, case in enumerate(entry.get("cases", ()))
    ]
    tasks += [
        (f"{prefix}-default-{architecture}", lambda a=architecture: record_default(entry, a))
        for architecture in entry.get("defaults", ())
    ]
    return tasks


if __name__ == "__main__":
    sys.exit(main())
