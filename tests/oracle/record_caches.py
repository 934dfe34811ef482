"""Record what transformers keeps between tokens, for the tests of memory that need no torch.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle record caches            # every family with a case file
    python -m tests.oracle record caches llama t5
    python -m tests.oracle record caches library    # classes that have no small model
    python -m tests.oracle record caches --generating    # which classes of the catalog generate
    python -m tests.oracle record caches --traced evolla     # of a trace, at its recorded configs

Each small model of a case file whose class generates is built, run once over ``TOKENS`` tokens with
``use_cache=True``, and every tensor of the returned cache is written down: the layer's class, the
tensor's name, shape and dtype. Then once more with a StaticCache of ``STATIC`` tokens. Weights are
bfloat16, so that parts which the model keeps in float32 show. Classes that do not run this way are
listed with the reason; one that ran in the past keeps what was recorded. ``run-again`` compares
every recording with the installed release.

A trace's classes say what they keep by the kinds of their projections alone, so they have to show
it: where every recording of a type equals what the tree says, or what the model of one of its
sections keeps, its classes get ``"cache"`` in ``architectures/traced/``; no class does otherwise.
Those models have the library's own sizes
and run on the meta device.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import in_processes
from .cache_inputs import GIVEN, LIBRARY, SEEN, held_by_modules, inputs_of, settle, what_runs
from .record import FIXTURES, _build, entries
from .trace import TRACED
from .tracing.writing import text

FOLDER = FIXTURES / "caches"
#: Less than the window of the small models, and more.
TOKENS = (3, 12)
WINDOW = 8
STATIC = 16
#: Parameters of a model that is run on the CPU; a larger one on the meta device or not at all.
SMALL = 200_000_000
#: How a model is run, the next where one fails: not every kernel knows every dtype and size.
WAYS: tuple[tuple[str, Any], ...] = ()
#: Models whose tokens are frames: a code of each codebook, and so many words more.
OF_FRAMES = {"kyutai_speech_to_text": ("num_codebooks", 1), "dia": ("num_channels", 0)}
#: Models of which each codebook is a row of its own.
IN_ROWS = ("musicgen", "musicgen_melody", "musicgen_decoder", "musicgen_melody_decoder")
GENERATES = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "WithLMHead",
    "MarianMTModel",
    "GenerationDecoder",
    "ForProteinText2Text",
    "DoubleHeadsModel",
    "ForSpeechToText",
    "ForGeneration",
    "EncoderDecoderModel",
)


def tensors_of(cache: Any) -> list[list[Any]]:
    """[layer, class, name, shape, dtype] of every tensor that a cache holds."""
    rows: list[list[Any]] = []
    parts = [("", cache)]
    if type(cache).__name__ == "EncoderDecoderCache":
        parts = [("", cache.self_attention_cache), ("cross_", cache.cross_attention_cache)]
    for prefix, part in parts:
        if part is None:
            continue
        layers = getattr(part, "layers", None)
        if layers is None:
            rows += [[0, type(part).__name__, *rest] for rest in _inside(part, "", 0)]
            continue
        for i, layer in enumerate(layers):
            name = type(layer).__name__
            rows += [[i, name, prefix + rest[0], *rest[1:]] for rest in _inside(layer, "", 0)]
        extra = {k: v for k, v in vars(part).items() if k != "layers"}
        rows += [[0, type(part).__name__, *rest] for rest in _inside(extra, "", 0)]
    return rows


def _inside(value: Any, name: str, depth: int) -> Iterator[list[Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        if value.dim():  # a number of its own counts something
            dtype = str(value.dtype).removeprefix("torch.")
            yield [name, list(value.shape), dtype]
    elif depth > 4:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _inside(item, f"{name}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, (list, tuple)):
        for key, item in enumerate(value):
            yield from _inside(item, f"{name}.{key}".lstrip("."), depth + 1)
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("transformers"):
        if hasattr(value, "to_diff_dict"):
            return  # a config
        yield from _inside(vars(value), name, depth + 1)


#: Bookkeeping of the cache itself that grows with nothing.
_COUNTERS = ("cumulative_length", "seqlen_offset", "sliding_window_tensor", "position")


def run(model: Any, tokens: int, static: int | None = None, seen: int = SEEN) -> list[list[Any]]:
    """What is kept after so many tokens; ``seen`` are the positions of an encoder's output."""
    import torch
    from transformers import DynamicCache, EncoderDecoderCache, StaticCache
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    whole = model
    model = what_runs(model)
    config = model.config.get_text_config(decoder=True)
    key, more = OF_FRAMES.get(model.config.model_type, ("", 0))
    codes = (getattr(config, key) + more,) if key else ()
    ids = torch.full((1, tokens, *codes), 7, dtype=torch.long)
    if model.config.model_type in IN_ROWS:
        own = getattr(model.config, "decoder", model.config)
        ids = torch.full((own.num_codebooks, tokens), 7, dtype=torch.long)
    arguments = inspect.signature(model.forward).parameters
    # In later releases the argument has another name.
    slot = "past_key_values" if "past_key_values" in arguments else "cache"
    inputs: dict[str, Any] = {"use_cache": True}
    own_inputs = inputs_of(whole, ids)
    if own_inputs is not None:
        inputs |= {slot if k == "past_key_values" else k: v for k, v in own_inputs.items()}
    elif model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
        config = model.config.get_text_config(encoder=True)
        bins = getattr(config, "num_mel_bins", None) or getattr(
            config, "input_feat_per_channel", None
        )
        if "input_features" in arguments and bins:
            frames = 2 * getattr(config, "max_source_positions", 32)
            shape = (1, bins, frames) if hasattr(config, "num_mel_bins") else (1, frames, bins)
            inputs["input_features"] = torch.zeros(shape, dtype=model.dtype)
        elif "input_features" in arguments and hasattr(model.config, "encoder_config"):
            # A Conformer makes 5 tokens of so many frames.
            sound = model.config.encoder_config
            shape = (1, 5 * sound.subsampling_factor, sound.num_mel_bins)
            inputs["input_features"] = torch.zeros(shape, dtype=model.dtype)
        elif "input_values" in arguments:
            inputs["input_values"] = torch.zeros((1, 4096), dtype=model.dtype)
        elif "pixel_values" in arguments and "encoder_outputs" in arguments:
            # Of a picture as much as of a text: five positions.
            outer = getattr(model.config, "encoder", model.config)
            states = torch.zeros((1, 5, outer.text_config.hidden_size), dtype=model.dtype)
            inputs["encoder_outputs"] = BaseModelOutputWithPooling(states, states)
        else:
            inputs["input_ids"] = torch.full((1, 5), 7, dtype=torch.long)
    else:
        inputs["input_ids"] = ids
    if static is not None:
        cache = StaticCache(config=model.config, max_cache_len=static)
        if model.config.is_encoder_decoder or "encoder_hidden_states" in inputs:
            cache = EncoderDecoderCache(cache, StaticCache(config=model.config, max_cache_len=seen))
        inputs[slot] = cache
    inputs = {k: v for k, v in inputs.items() if k in arguments or k == "use_cache"}
    cache = _filled(model, inputs)
    if cache is None and slot in arguments:  # it makes none, but fills one it is given
        inputs[slot] = DynamicCache(config=model.config)
        cache = _filled(model, inputs)
    if cache is None:
        raise LookupError("the output has no cache")
    rows = [row for row in tensors_of(cache) if not row[2].startswith(_COUNTERS)]
    return rows + held_by_modules(whole)


def _filled(model: Any, inputs: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        out = model(**inputs)
    names = ("past_key_values", "cache", "cache_params", "state", "mems")
    made = next((cache for n in names if (cache := getattr(out, n, None)) is not None), None)
    given = inputs.get("past_key_values", inputs.get("cache"))
    return given if made is None else made


def record(entry: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    import torch

    needed = GIVEN.get(case["architecture"], {}) if entry.get("tiny") else {}
    given = {k: v for k, v in entry.get("tiny", {}).items() if k not in case.get("remove", ())}
    given = copy.deepcopy({**given, **case.get("config", {}), **needed})
    with torch.device("meta"):  # a config without sections may be one of the library's own sizes
        model = _build(entry, case["architecture"], given)
        if _narrow(model.config, given):
            model = _build(entry, case["architecture"], given)
    small = sum(parameter.numel() for parameter in model.parameters()) < SMALL
    if not model.can_generate():
        raise LookupError("does not generate")
    case_record: dict[str, Any] = {
        "architecture": case["architecture"],
        "given": given,
        "model_type": entry["model_type"],
        "is_decoder": bool(getattr(model.config, "is_decoder", False)),
    }
    errors: list[Exception] = []
    for device, dtype in WAYS:
        if device == "cpu" and not small:
            continue
        try:
            with torch.device(device):
                model = _build(entry, case["architecture"], given).eval().to(dtype=dtype)
                if hasattr(model, "set_experts_implementation"):
                    model.set_experts_implementation("eager" if device == "cpu" else "batched_mm")
                settle(model)
                for tokens in TOKENS:
                    case_record[str(tokens)] = run(model, tokens)
                try:
                    crossed = (row[3] for row in case_record["3"] if row[2] == "cross_keys")
                    seen = next((shape[-2] for shape in crossed), SEEN)
                    case_record[f"static {STATIC}"] = run(model, 3, STATIC, seen)
                except Exception as error:
                    case_record["not static"] = f"{type(error).__name__}: {str(error)[:120]}"
        except Exception as error:
            errors.append(error)
        else:
            return {**case_record, "dtype": str(dtype).removeprefix("torch.")}
    raise errors[0]


def _narrow(config: Any, given: dict[str, Any]) -> bool:
    """Give a model with windows one that is shorter than what is run; whether it has any."""
    text = config.get_text_config(decoder=True)
    keys = [k for k in ("sliding_window", "attention_chunk_size") if getattr(text, k, None)]
    if not keys:
        return False
    inner = given
    if text is not config:
        section = next((k for k, v in vars(config).items() if v is text), None)
        if section is None:
            return False
        if section in given or "hidden_size" not in given:  # else its keys are not in a section
            inner = given.setdefault(section, {})
    inner.update(dict.fromkeys(keys, WINDOW))
    return True


def recorded_traced(name: str) -> dict[str, Any]:
    """What the installed release keeps of a trace's recorded configs; of those that generate."""
    global WAYS
    import torch

    ways = WAYS
    WAYS = (("meta", torch.bfloat16), ("cpu", torch.bfloat16))
    cases: dict[str, Any] = {}
    place = FIXTURES / "traced" / f"{name}.json"
    # A type that was a trace and has a file of its own now keeps its recordings.
    trace = place.exists() and json.loads(place.read_text())["recordings"]
    for label, example in (trace or read(f"traced-{name}")).items():
        if "architecture" not in example:
            continue
        case = {"architecture": example["architecture"], "config": example["given"]}
        row = _outcome(example, case)
        if not row.get("not recorded", "").startswith("LookupError"):  # it does not generate
            cases[label] = row
    WAYS = ways
    return cases


def record_traced(name: str) -> None:
    """The caches of a trace's classes, and the mark of what they show."""
    path = FOLDER / f"traced-{name}.json"
    before = read(path.stem)
    cases = recorded_traced(name)
    for line in differing(before, cases):
        print(f"{path.stem} {line}", flush=True)
    if before or any("architecture" in row for row in cases.values()):
        take(path.stem, before, cases)


def mark(path: Path) -> None:
    """Write into a trace what the recordings of its classes' caches show."""
    document = read(path.stem)
    file = TRACED / f"{path.stem.removeprefix('traced-')}.json"
    trace = json.loads(file.read_text())
    shown = {row["architecture"] for row in document.values() if "architecture" in row}
    # A class whose forward fails with a StaticCache has none.
    fails = {row["architecture"] for row in document.values() if "not static" in row}
    left: dict[str, Any] = {}
    for entry in trace["classes"].values():
        entry.pop("cache", None)
    for cache in _candidates(trace) if shown else ():
        marked = {own: {**entry, "cache": cache} for own, entry in trace["classes"].items()}
        left = _differing({**trace, "classes": marked}, path)
        for own in shown:
            wrong = [title for title in left if title.startswith(f"{own}-")]
            if all(title.endswith(f"static {STATIC}") for title in wrong):
                static = {"static": False} if wrong or own in fails else {}
                trace["classes"][own].setdefault("cache", {**cache, **static, "generates": True})
        if all("cache" in trace["classes"][own] for own in shown):
            for entry in trace["classes"].values():  # bases of what was recorded
                entry.setdefault("cache", {**cache, "static": False} if fails else cache)
            break
    file.write_text(text(trace))
    for own in sorted(shown):
        print(own, trace["classes"][own].get("cache", f"refused: {str(left)[:300]}"), flush=True)


def _candidates(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the kinds of the projections say, then what the model of each section keeps."""
    from transformers import CONFIG_MAPPING

    from hfinspect.core.config import ModelConfig
    from hfinspect.trees.catalog import find_type, traced_family
    from hfinspect.trees.modules import Layers, Module

    def stacks(module: Module, path: str) -> Iterator[str]:
        for name, child in module.children.items():
            if isinstance(child, Layers):
                yield f"{path}{name}"
            elif isinstance(child, Module):
                yield from stacks(child, f"{path}{name}.")

    yield {}
    family = traced_family(trace)
    root = next(iter(family.classes.values()))(ModelConfig({"model_type": trace["model_type"]}))
    default = CONFIG_MAPPING[trace["model_type"]]()
    for key in default.sub_configs:
        kind = getattr(getattr(default, key), "model_type", "")
        known = find_type(kind)
        if known is not None and known.category == "text decoder":
            for path in stacks(root, ""):
                yield {"like": {"section": key, "class": known.base, "layers": path}}


def _differing(trace: dict[str, Any], path: Path) -> dict[str, Any]:
    """How a trace's own trees differ from the recordings, by title; empty where they do not."""
    from hfinspect.core.config import ModelConfig
    from hfinspect.errors import HfinspectError
    from hfinspect.sizing.kv_cache import cached_layers
    from hfinspect.trees.catalog import traced_family
    from tests.sizing.test_caches import compared

    family = traced_family(trace)
    wrong: dict[str, Any] = {}
    shown = 0
    for label, row in json.loads(path.read_text()).items():
        if "not recorded" in row:
            continue
        config = {**row["given"], "model_type": row["model_type"]}
        try:
            layers = cached_layers(family.classes[row["architecture"]](ModelConfig(config)))
        except HfinspectError as error:
            return {label: str(error)}
        shown += 1
        wrong |= {
            f"{label} {title}": pair for title, pair in compared(row, layers, row["model_type"])
        }
    return wrong if shown else {"": "nothing was recorded"}


def write_generating() -> None:
    """The classes of the catalog of which transformers says that they generate."""
    import transformers

    from hfinspect.trees.catalog import registered

    def generates(name: str) -> bool:
        try:
            return bool(getattr(transformers, name).can_generate())
        except (AttributeError, ImportError):  # no such class, or one that needs more libraries
            return False

    names = sorted(name for name in registered()[1] if generates(name))
    (FIXTURES / "generating.json").write_text(json.dumps(names, indent=0) + "\n")


def _write(path: Path, document: dict[str, Any]) -> None:
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in document.items())
    path.write_text("{\n" + lines + "\n}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="case files by name; all if none is given")
    parser.add_argument("--traced", action="store_true", help="the names are those of traces")
    parser.add_argument("--generating", action="store_true", help="list the classes that generate")
    options = parser.parse_args()
    prepare()
    FOLDER.mkdir(exist_ok=True)
    if options.generating:
        write_generating()
        return 0
    if options.traced:
        for name in options.families or sorted(p.stem for p in TRACED.glob("*.json")):
            record_traced(name)
        return 0
    for name in options.families or families():
        before = read(name)
        now = recorded(name)
        for line in differing(before, now):
            print(f"{name} {line}", flush=True)
        if now:
            _write(FOLDER / f"{name}.json", kept(before, now))
    return 0


def prepare() -> None:
    """The libraries as all recordings have them, and how models are run."""
    import torch

    in_processes.prepare()
    torch.manual_seed(0)
    global WAYS
    WAYS = (("cpu", torch.bfloat16), ("meta", torch.bfloat16), ("cpu", torch.float32))


def families() -> list[str]:
    """All that has small models, and those classes that have none."""
    return [*sorted(p.stem for p in (FIXTURES / "cases").glob("*.json")), "library"]


def read(name: str) -> dict[str, Any]:
    """What is recorded of a family."""
    path = FOLDER / f"{name}.json"
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return document


def current(name: str) -> dict[str, Any]:
    """What the installed release keeps of what a file of recordings has, by its name."""
    trace = name.removeprefix("traced-")
    return recorded(name) if name == trace else recorded_traced(trace)


def take(name: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Write what is kept now; a trace's classes get the marks of what they show."""
    path = FOLDER / f"{name}.json"
    _write(path, kept(before, now))
    if (TRACED / f"{name.removeprefix('traced-')}.json").exists():
        mark(path)


def kept(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The new recordings; of a model that ran once, and does not any more, the old one."""
    lost = {
        label: row
        for label, row in before.items()
        if "architecture" in row and "architecture" not in now.get(label, {})
    }
    return {**now, **lost}


def differing(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """The recordings that are others now, or new; why a model does not run may be said in other
    words."""
    for label, row in now.items():
        if "architecture" in row and "architecture" not in before.get(label, {}):
            yield f"{label}: runs, and did not in the past"
    for label, row in before.items():
        if "architecture" in row:
            new = now.get(label, {})
            keys = [*map(str, TOKENS), f"static {STATIC}"]
            others = [key for key in keys if row.get(key) != new.get(key)]
            if "architecture" not in new:
                yield f"{label}: {new.get('not recorded', 'is recorded no more')}"
            elif others:
                yield f"{label}: other tensors after {', '.join(others)}"


def recorded(name: str) -> dict[str, Any]:
    """What the installed release keeps of a family's small models."""
    document: dict[str, Any] = {}
    if name == "library":
        for kind, own in LIBRARY.items():
            document |= at_library_sizes({"model_type": kind, "cases": [{"architecture": own}]}, {})
        return document
    for entry in entries(FIXTURES / "cases" / f"{name}.json"):
        for case in entry.get("cases", ()):
            if not entry.get("library") and case["architecture"].endswith(GENERATES):
                document[f"{entry['model_type']}-{case['name']}"] = _outcome(entry, case)
        document |= at_library_sizes(entry, document)
    return document


def _outcome(entry: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The recording, or why there is none."""
    try:
        return record(entry, case)
    except Exception as error:
        return {"not recorded": f"{type(error).__name__}: {str(error)[:120]}"}


def at_library_sizes(entry: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Classes none of whose small models ran, at the library's own sizes on the meta device."""
    import torch

    global WAYS
    ran = {row["architecture"] for row in document.values() if "architecture" in row}
    ways = WAYS
    WAYS = (("meta", torch.bfloat16),)
    more: dict[str, Any] = {}
    for case in entry.get("cases", ()):
        name = case["architecture"]
        decodes = case["architecture"].endswith("GenerationDecoder")
        if not entry.get("library") and name.endswith(GENERATES) and name not in {*ran, *more}:
            given = {"is_decoder": True} if decodes else {}
            try:
                row = record({**entry, "tiny": {}}, {"architecture": name, "config": given})
                more[name] = row
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    WAYS = ways
    return {f"{entry['model_type']}-library-{name}": row for name, row in more.items()}


if __name__ == "__main__":
    sys.exit(main())
