"""Record what autograd keeps for the backward pass, and the rules that follow from it.

    pip install 'hfinspect[oracle]' peft
    python -m tests.oracle record activations              # every model type of activation_models
    python -m tests.oracle record activations llama gpt2
    python -m tests.oracle record activations --packed llama qwen2   # needs bitsandbytes

A small model runs forward once in training mode, and ``saved_tensors_hooks`` sees each tensor that
is kept; unique storages count, parameters and buffers do not. Sizes are such that the bytes of a
tensor say which product of sizes it is. Four layers less two, halved, are those of one more layer;
what remains is outside the layers.

With adapters it depends on which linear layers have one. All sets of names are recorded: a tensor
is kept where one of some names has an adapter, and the rule lists these names. Rules go to
hfinspect/sizing/activation_rules.json, and recordings of random sizes, which the rules give to
the byte, to fixtures/oracle/activations.json.

``--packed`` compares what layers in NF4 keep with what frozen ones do, and writes nothing;
``run-again`` compares each recorded case with the installed release.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hfinspect.sizing.activation_terms import products

from .activation_models import ATTENTION_DROPS, KINDS, Sizes, distinct, sizes, subsets, telling
from .as_on_cuda import standing_in
from .record import FIXTURES

RULES = Path(__file__).parents[2] / "hfinspect" / "sizing" / "activation_rules.json"
CASES = FIXTURES / "activations.json"
DTYPES = {"bf16": "bfloat16", "f32": "float32", "amp": "float32"}
#: Copies at batch 1 that torch 2.13 keeps next to a fused projection and 2.15 does not: left out of
#: the rule where 2.15 was recorded too (BLOOM); the others are refused at that batch.
AT_ONE = ("th, b = 1", "qkv, b = 1")
RECORDED_TWICE = "bloom"
#: Bytes of a number, and several projections in one tensor.
MULTIPLES = (1, 2, 4, 8, 3, 6, 12, 16, 24)

#: A window that is shorter than each of the sequences, and one that is longer.
WINDOW = 5
WIDE = 1000
SLIDES = "sliding_attention"
FULL = "full_attention"
#: Where keys and values are made as many as the queries: in no layer that has them so.
REPEATED = ", g < a"

#: (bytes of a number, product) -> tensors.
Tensors = Counter[tuple[int, str]]
Parts = dict[str, Counter[int]]


class Run:
    """One way of running a kind: its attention, dtype and rate of dropout. ``windows``: keys that
    give its layers windows, and ``kinds``: the kinds of its layers, over and over."""

    def __init__(
        self,
        name: str,
        attention: str,
        dtype: str,
        drop: float,
        *,
        windows: Mapping[str, Any] | None = None,
        kinds: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.kind = KINDS[name]
        self.windows = windows or {}
        self.kinds = kinds
        self.attention = attention
        self.dtype = dtype
        self.drop = drop

    @property
    def key(self) -> str:
        return f"{self.name} {self.attention} {self.dtype}{' dropout' if self.drop else ''}"

    def windowed(self, *kinds: str, window: int = WINDOW) -> Run:
        """The same with windows in its layers, or in those of the kinds that slide."""
        given = {**self.kind.windowed, "sliding_window": window}
        return Run(
            self.name,
            self.attention,
            self.dtype,
            self.drop,
            windows=given,
            kinds=(kinds or (SLIDES,)) if self.kind.chooses else (),
        )

    def config(self, z: Sizes, layers: Sequence[int]) -> dict[str, Any]:
        counts = dict(zip(self.kind.layers, layers, strict=True))
        values = {**self.kind.make(z, self.drop), "vocab_size": z["V"], **counts}
        values |= self.windows
        if self.kinds:
            values["layer_types"] = [self.kinds[i % len(self.kinds)] for i in range(layers[0])]
        if self.attention == "sdpa":
            values |= {key: 0.0 for key in ATTENTION_DROPS if key in values}
        return values

    def depths(self) -> list[tuple[int, ...]]:
        return [(2, 2), (4, 2), (2, 4)] if self.kind.sided else [(2,), (4,)]


# ---- one recording


def build(run: Run, z: Sizes, layers: Sequence[int]) -> Any:
    return of_config(run, run.config(z, layers))


def of_config(run: Run, values: Mapping[str, Any]) -> Any:
    import torch
    import transformers

    config = transformers.CONFIG_MAPPING[run.kind.kind or run.name](**values)
    config.use_cache = False  # as TrainingArguments have it: a cache copies keys and values
    cls = getattr(transformers, run.kind.name)
    model = cls._from_config(config, attn_implementation=run.attention)
    return model.to(getattr(torch, DTYPES[run.dtype])).train()


class Adapted:
    """A model with adapters at every linear layer, which can be taken off by name and put back."""

    def __init__(self, model: Any, rank: int) -> None:
        import torch
        from peft import LoraConfig, get_peft_model
        from peft.tuners.lora import LoraLayer

        head = model.get_output_embeddings()
        taken = ("Linear", "Conv1D")
        names = {
            path.rsplit(".", 1)[-1]
            for path, module in model.named_modules()
            if type(module).__name__ in taken and module is not head
        }
        self.model = get_peft_model(model, LoraConfig(r=rank, target_modules=sorted(names)))
        self.places: list[tuple[str, Any, str, Any]] = []
        for path, module in list(self.model.named_modules()):
            if isinstance(module, LoraLayer) and isinstance(module, torch.nn.Module):
                parent = self.model.get_submodule(path.rpartition(".")[0])
                last = path.rpartition(".")[2]
                self.places.append((last, parent, last, module))
        self.names = tuple(sorted({name for name, *_ in self.places}))

    def only(self, targets: frozenset[str]) -> Any:
        for name, parent, last, module in self.places:
            setattr(parent, last, module if name in targets else module.base_layer)
        return self.model


def saved(run: Run, z: Sizes, model: Any) -> Counter[int]:
    """How many tensors of so many bytes autograd keeps of one forward pass."""
    import torch

    known = {
        t.untyped_storage()._cdata
        for t in (*model.parameters(), *model.buffers(), *scales_of(model))
    }
    counts: dict[int, int] = {}
    alive: list[Any] = []

    def seen(tensor: Any) -> int:
        """CacheItem nothing itself: a graph that held its own tensors would not go."""
        storage = tensor.untyped_storage()
        if storage._cdata not in known and storage._cdata not in counts:
            # On the CPU a layer norm keeps mean and deviation in 16 bits, on CUDA in 32.
            narrow = tensor.dtype == torch.bfloat16 and tensor.dim() > 1 and tensor.shape[-1] == 1
            counts[storage._cdata] = storage.nbytes() * (2 if narrow else 1)
            alive.append(storage)  # a freed address could come again
        return 0

    def ids(tokens: int) -> Any:
        return torch.arange(z["b"] * tokens).reshape(z["b"], tokens) % 7 + 3

    given = {"input_ids": ids(z["s"])}
    if run.kind.sided:
        given = {"input_ids": ids(z["e"]), "decoder_input_ids": given["input_ids"]}
    with (
        standing_in(autocast=run.dtype == "amp"),
        torch.autograd.graph.saved_tensors_hooks(seen, lambda tensor: tensor),
    ):
        output = model(**given)
    del output
    return Counter(counts.values())


def parted(run: Run, counts: Sequence[Counter[int]]) -> Parts:
    """Of one layer (``encoder``: of the encoder), and outside the layers."""
    parts: Parts = {}
    outside = Counter(counts[0])
    for part, more in zip(("layer", "encoder"), counts[1:], strict=False):
        two = Counter(more)
        two.subtract(counts[0])
        if any(count % 2 for count in two.values()):
            raise ValueError("layers differ")
        parts[part] = Counter({size: count // 2 for size, count in two.items() if count})
        outside.subtract(two)
    parts["outside"] = Counter({size: count for size, count in outside.items() if count})
    return parts


class Recorder:
    """Models of one way of running at one set of sizes."""

    def __init__(self, run: Run, z: Sizes) -> None:
        self.run = run
        self.z = z
        self.adapted: list[Adapted] = []

    def full(self) -> Parts:
        counts = [
            saved(self.run, self.z, build(self.run, self.z, depth)) for depth in self.run.depths()
        ]
        return parted(self.run, counts)

    def targets(self, names: frozenset[str]) -> Parts:
        if not self.adapted:
            self.adapted = [
                Adapted(build(self.run, self.z, depth), self.z["r"]) for depth in self.run.depths()
            ]
        counts = [saved(self.run, self.z, one.only(names)) for one in self.adapted]
        return parted(self.run, counts)

    @property
    def names(self) -> tuple[str, ...]:
        return self.adapted[0].names


# ---- rules


def read(run: Run, z: Sizes, counts: Counter[int]) -> Tensors:
    """Which products the tensors are. Raises ValueError where one is none."""
    known = distinct(run.kind, products(z))
    tensors: Tensors = Counter()
    for size, count in counts.items():
        fitting = [
            (times, name)
            for times in MULTIPLES
            for name, value in known.items()
            if value * times == size and (name or size <= 64)
        ]
        if not fitting:
            raise ValueError(f"{size} bytes are no product of {z}")
        tensors[fitting[0]] += count
    return tensors


def bytes_of(tensors: Tensors, z: Sizes) -> Counter[int]:
    counts: Counter[int] = Counter()
    values = products(z)
    for (times, name), count in tensors.items():
        if values[name]:
            counts[times * values[name]] += count
    return counts


def summed(tensors: Tensors) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for (times, name), count in tensors.items():
        counts[name] += times * count
    return {name: value for name, value in counts.items() if value}


def kept_by_any(
    tensors: dict[frozenset[str], dict[str, int]], names: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    """``{"k_proj q_proj": {product: bytes}}``: kept where one of the names has an adapter; no names
    stand for all of them.

    With f(T) the bytes at targets T, f(all) - f(all without S) is the sum of what is kept for sets
    of names within S alone; that of each set follows by inclusion and exclusion.
    """
    every = frozenset(names)
    terms = {name for rule in tensors.values() for name in rule}
    value = {
        (chosen, term): tensors[every].get(term, 0)
        - (tensors[every - chosen].get(term, 0) if chosen != every else 0)
        for chosen in subsets(names)
        for term in terms
    }
    rows: dict[str, dict[str, int]] = {}
    for chosen in subsets(names):
        rule = {}
        for term in sorted(terms):
            inner = subsets(tuple(chosen))
            number = sum((-1) ** (len(chosen) - len(part)) * value[part, term] for part in inner)
            if number:
                rule[term] = number
        if rule:
            rows["" if chosen == every else " ".join(sorted(chosen))] = rule
    return rows


def rule_of(run: Run) -> dict[str, Any]:
    z = telling(run.kind)
    recorder = Recorder(run, z)
    full = {
        part: read(run, z, tensors_of_part) for part, tensors_of_part in recorder.full().items()
    }
    rule: dict[str, Any] = {"full": {part: summed(one) for part, one in full.items()}}
    single(run, rule["full"], full, lambda other: other.full())
    if run.kind.windowed and run.attention == "sdpa":
        rule |= windowed(run, z)
    try:
        recorder.targets(frozenset({"none"}))
    except ValueError as error:
        print(f"{run.key} adapters: {error}", file=sys.stderr)
        return rule
    names = recorder.names
    tensors = {
        chosen: {
            part: read(run, z, saved_tensors)
            for part, saved_tensors in recorder.targets(chosen).items()
        }
        for chosen in subsets(names)
    }
    made: dict[str, Any] = {"names": list(names)}
    for part in full:
        sums = {chosen: summed(one[part]) for chosen, one in tensors.items()}
        made[part] = kept_by_any(sums, names)
    every = frozenset(names)
    whole: dict[str, dict[str, int]] = {part: {} for part in full}
    single(run, whole, tensors[every], lambda other: other.targets(every))
    for part, more in whole.items():
        if more:
            made[part].setdefault("", {}).update(more)
    rule["adapters"] = made
    return rule


def windowed(run: Run, z: Sizes) -> dict[str, dict[str, int]]:
    """What a layer keeps more where the sequence reaches its window, and what is kept more outside
    the layers where they are of both kinds."""
    sums = []
    for one in (z, {**z, "g": z["a"]}):
        whole, cut = (Recorder(way, one).full() for way in (run, run.windowed()))
        if whole["outside"] != cut["outside"]:
            raise ValueError("a window shows outside the layers")
        more = Counter(cut["layer"])
        more.subtract(whole["layer"])
        sums.append(summed(read(run, one, Counter({k: n for k, n in more.items() if n}))))
    alone = sums[1]
    repeated = Counter(sums[0])
    repeated.subtract(alone)
    where = {f"{name}{REPEATED}": number for name, number in repeated.items() if number}
    rules = {"windowed": {**alone, **where}}
    if run.kind.chooses:
        kinds = [run.windowed(*given, window=WIDE) for given in ((SLIDES,), (SLIDES, FULL))]
        sliding, both = (saved(way, z, build(way, z, (2,))) for way in kinds)
        both.subtract(sliding)
        mixed = summed(read(run, z, Counter({size: n for size, n in both.items() if n})))
        rules |= {"both": mixed} if mixed else {}
    return rules


def single(run: Run, rule: dict[str, dict[str, int]], usual: dict[str, Tensors], go: Any) -> None:
    """Adds what one sequence alone, or one key/value head, keeps otherwise."""
    z = telling(run.kind)
    ways = {", b = 1": {"b": 1}}
    if not run.kind.own:
        ways[", b = g = 1"] = {"b": 1, "g": 1}
    held: dict[str, Counter[str]] = {part: Counter() for part in usual}
    for when, values in ways.items():
        one = {**z, **values}
        for part, tensors in go(Recorder(run, one)).items():
            differing = Counter(tensors)
            differing.subtract(bytes_of(usual[part], one))
            rest = Counter({size: count for size, count in differing.items() if count})
            more = Counter(summed(read(run, one, rest)))
            more.subtract({name.partition(",")[0]: n for name, n in held[part].items()})
            for name, number in more.items():
                if number:
                    if f"{name}{when}" not in EXTRA:
                        raise ValueError(f"{part} keeps {number} x {name}{when}")
                    held[part][f"{name}{when}"] += number
                    rule[part][f"{name}{when}"] = number
    if run.name == RECORDED_TWICE:
        for name in AT_ONE:
            rule["layer"].pop(name, None)


#: What may be kept otherwise there.
EXTRA = frozenset(
    f"{name}, b = {when}" for name in ("th", "tQ", "tK", "qkv") for when in ("1", "g = 1")
)


# ---- recordings of random sizes


def cases_of(run: Run, rule: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Random sizes, with all weights trained and with adapters at some random names."""
    draw = random.Random(run.key)
    ways = ["full", *(["adapters"] if "adapters" in rule else [])]
    for way in ways:
        for _ in range(count):
            z = sizes(run.kind, draw)
            fused = not rule["full"]["layer"].keys().isdisjoint(AT_ONE)
            alone_differs = fused or run.name == RECORDED_TWICE
            z["b"] = draw.choice([2, 3] if alone_differs else [1, 2, 3])
            recorder = Recorder(run, z)
            targets: frozenset[str] = frozenset()
            if way == "adapters":
                names = rule["adapters"]["names"]
                targets = frozenset(draw.sample(names, draw.randint(1, len(names))))
            parts = recorder.targets(targets) if targets else recorder.full()
            case = {
                "rule": run.key,
                "model_type": run.kind.kind or run.name,
                "architecture": run.kind.name,
                "config": run.config(z, run.depths()[0]),
                "tokens": z["s"],
                "batch": z["b"],
                "rank": z["r"],
                "targets": sorted(targets),
            }
            if run.kind.sided:
                case["encoder_tokens"] = z["e"]
            sums = {
                part: sum(size * n for size, n in tensors.items())
                for part, tensors in parts.items()
            }
            yield {**case, **sums}
    if "windowed" in rule:
        yield from windowed_cases(run, rule, draw)


def windowed_cases(run: Run, rule: dict[str, Any], draw: random.Random) -> Iterator[dict[str, Any]]:
    """All bytes of four layers with windows, or of which some have one: with all weights trained,
    and with adapters at random names, of which the first layer may keep nothing."""
    orders = [(SLIDES, FULL), (FULL, SLIDES, SLIDES)] if run.kind.chooses else [()]
    names = rule["adapters"]["names"] if "adapters" in rule else []
    for order, count in itertools.product(orders, (0, *([1, len(names)] if names else []))):
        way = run.windowed(*order)
        z = sizes(run.kind, draw)
        z |= {"b": draw.choice([2, 3]), "g": draw.choice([z["g"], z["a"]])}
        targets = frozenset(draw.sample(names, count))
        model = build(way, z, (4,))
        model = Adapted(model, z["r"]).only(targets) if targets else model
        yield {
            "rule": run.key,
            "model_type": run.kind.kind or run.name,
            "architecture": run.kind.name,
            "config": way.config(z, (4,)),
            "tokens": z["s"],
            "batch": z["b"],
            "rank": z["r"],
            "targets": sorted(targets),
            "total": sum(size * n for size, n in saved(way, z, model).items()),
        }


def again(case: Mapping[str, Any]) -> dict[str, int]:
    """The bytes of a recorded case, as the installed release keeps them."""
    name, attention, dtype, *drop = case["rule"].split()
    run = Run(name, attention, dtype, 0.1 if drop else 0.0)
    wanted = frozenset(case["targets"])
    z = {"b": case["batch"], "s": case["tokens"], "e": case.get("encoder_tokens", 0)}
    sums = []
    for depth in [()] if "total" in case else run.depths():
        counts = zip(run.kind.layers, depth, strict=False)
        model = of_config(run, {**case["config"], **dict(counts)})
        sums.append(saved(run, z, Adapted(model, case["rank"]).only(wanted) if wanted else model))
    parts = {"total": sums[0]} if "total" in case else parted(run, sums)
    return {part: sum(size * n for size, n in one.items()) for part, one in parts.items()}


def differing(cases: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Model type, and what it says of a case of these that is another now, or cannot be run."""
    for case in cases:
        try:
            now = again(case)
        except Exception as error:
            yield case["rule"].split()[0], f"{case['rule']}: {type(error).__name__} {error}"[:200]
            continue
        before = {part: case[part] for part in now}
        if now != before:
            yield case["rule"].split()[0], f"{case['rule']}: {before} bytes, now {now}"


def recorded_cases(kinds: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The recordings of these types; without any, all."""
    held: list[dict[str, Any]] = json.loads(CASES.read_text()) if CASES.exists() else []
    return [case for case in held if not kinds or case["rule"].split()[0] in kinds]


def ways_of(name: str) -> Iterator[Run]:
    kind = KINDS[name]
    for dtype in kind.dtypes:
        for attention in ("eager", "sdpa"):
            for drop in (0.0, 0.1) if kind.drops else (0.0,):
                yield Run(name, attention, dtype, drop)


# ---- layers packed in NF4


def scales_of(model: Any) -> Iterator[Any]:
    """Tensors of the packing, which are no activations."""
    for module in model.modules():
        state = getattr(getattr(module, "weight", None), "quant_state", None)
        if state is not None:
            held = [state.absmax, state.code, state.offset]
            if state.state2 is not None:
                held += [state.state2.absmax, state.state2.code]
            yield from (tensor for tensor in held if tensor is not None)


def pack(model: Any) -> None:
    """Every linear layer but the head in NF4 with double quantisation."""
    import bitsandbytes
    import torch

    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if type(layer) is not torch.nn.Linear or name == "lm_head":
                continue
            has_bias = layer.bias is not None
            made = bitsandbytes.nn.Linear4bit(
                layer.in_features,
                layer.out_features,
                bias=has_bias,
                compute_dtype=torch.bfloat16,
                quant_type="nf4",
            )
            made.weight = bitsandbytes.nn.Params4bit(
                layer.weight.data, requires_grad=False, quant_type="nf4"
            )
            if has_bias:
                made.bias = torch.nn.Parameter(layer.bias.data, requires_grad=False)
            setattr(module, name, made.to("cpu"))


def packed_as_frozen(kind: str) -> list[str]:
    """Sizes whose layers in NF4 keep other bytes than frozen ones."""
    from peft import LoraConfig, get_peft_model

    draw = random.Random(1)
    differing = []
    for attention in ("sdpa", "eager"):
        run = Run(kind, attention, "bf16", 0.0)
        z = sizes(run.kind, draw)
        z |= {"I": 128, "d": 64, "h": z["a"] * 64}  # blocks of 64
        sums = []
        for in_nf4 in (False, True):
            model = build(run, z, (2,))
            if in_nf4:
                pack(model)
            config = LoraConfig(r=z["r"], target_modules="all-linear")
            counted = saved(run, z, get_peft_model(model, config))
            sums.append(sum(size * count for size, count in counted.items()))
        print(run.key, *sums, flush=True)
        differing += [run.key] if sums[0] != sums[1] else []
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="model types; all if none is given")
    parser.add_argument("--packed", action="store_true", help="compare NF4 with frozen layers")
    parser.add_argument("--rules", type=Path, default=RULES)
    parser.add_argument("--cases", type=Path, default=CASES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if options.packed:
        packed = [name for kind in options.kinds or ("llama",) for name in packed_as_frozen(kind)]
        print("differing:", packed)
        return bool(packed)
    for name in options.kinds or KINDS:
        record_kind(name, options.rules, options.cases)
    return 0


def record_kind(name: str, rules_path: Path = RULES, cases_path: Path = CASES) -> None:
    """The rules of a model type and recordings of random sizes, in place of what is there."""
    rules: dict[str, Any] = {}
    cases: list[dict[str, Any]] = []
    for run in ways_of(name):
        try:
            rule = rule_of(run)
            made = list(cases_of(run, rule, 1))
        except Exception as error:
            print(f"{run.key}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            continue
        rules[run.key] = rule
        cases += made
        print(run.key, flush=True)
    _merge(rules_path, name, rules)
    held = json.loads(cases_path.read_text()) if cases_path.exists() else []
    rest = [case for case in held if case["rule"].split()[0] != name]
    lines = sorted(json.dumps(case) for case in (*rest, *cases))
    cases_path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _merge(path: Path, kind: str, rules: dict[str, Any]) -> None:
    held = json.loads(path.read_text()) if path.exists() else {}
    whole = {name: held[one] if isinstance(one, str) else one for name, one in held.items()}
    whole = {name: one for name, one in whole.items() if name.split()[0] != kind} | rules
    first: dict[str, str] = {}  # equal rules are there once, and the others name it
    for name in sorted(whole):
        first.setdefault(json.dumps(whole[name]), name)
    lines = []
    for name in sorted(whole):
        same = first[json.dumps(whole[name])]
        lines.append(f"{json.dumps(name)}: {json.dumps(whole[name] if same == name else same)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
