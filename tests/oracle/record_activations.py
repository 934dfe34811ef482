"""Record what autograd keeps for the backward pass, and the rules that follow from it.

    pip install 'hfinspect[oracle]' peft
    python -m tests.oracle.record_activations              # every model type below
    python -m tests.oracle.record_activations llama gpt2
    python -m tests.oracle.record_activations --packed llama qwen2   # needs bitsandbytes

Small models in bfloat16 run forward once in training mode, and ``saved_tensors_hooks`` sees each
tensor that is kept; unique storages are summed, parameters and buffers left out. Four layers less
two, halved, are the bytes of one more layer; what remains is outside the layers. Sizes are drawn at
random; where every recording is a sum of whole multiples of the ``TERMS``, that is the rule of the
type (hfinspect/sizing/kept_rules.json), and some recordings go to fixtures/oracle/activations.json
for the tests. Dropout is the fused one of CUDA, which keeps its mask as one byte an element; with
SDPA the attention's own is off, since flash kernels keep the state of their random numbers instead.

``--packed`` compares what layers in NF4 keep with what frozen ones do, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .record import FIXTURES

RULES = Path(__file__).parents[2] / "hfinspect" / "sizing" / "kept_rules.json"
CASES = FIXTURES / "activations.json"
#: Models that are built for one rule, and how many of them the tests see.
DRAWN, SHOWN = 32, 2

Sizes = dict[str, int]


def _usual(z: Sizes, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": z["h"], "intermediate_size": z["I"], "num_attention_heads": z["a"],
        "num_key_value_heads": z["g"], "head_dim": z["d"], "pad_token_id": 0, **more,
    }  # fmt: skip


def _mixture(z: Sizes, **more: Any) -> dict[str, Any]:
    found = _usual(z, num_experts_per_tok=z["k"], **more)
    return {**found, "num_experts": z["E"], "num_local_experts": z["E"]}


def _bert(z: Sizes, drop: float) -> dict[str, Any]:
    return {
        "hidden_size": z["h"], "num_attention_heads": z["a"], "intermediate_size": z["I"],
        "hidden_dropout_prob": drop, "attention_probs_dropout_prob": drop,
    }  # fmt: skip


class Kind:
    """How a model type's config is made. ``square``: as wide as all its heads together; ``own``:
    as many key/value heads as heads; ``drops``: it has rates of dropout."""

    def __init__(
        self, name: str, make: Callable[[Sizes, float], dict[str, Any]], *, square: bool = True,
        own: bool = False, drops: bool = False, layers: str = "num_hidden_layers",
        inner: Callable[[Sizes], int] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.make, self.layers, self.inner = name, make, layers, inner
        self.square, self.own, self.drops = square, own, drops


KINDS: Mapping[str, Kind] = {
    **{
        kind: Kind(name, lambda z, _: _usual(z), square=square)
        for kind, name, square in (
            ("llama", "LlamaForCausalLM", False), ("qwen2", "Qwen2ForCausalLM", True),
            ("qwen3", "Qwen3ForCausalLM", False), ("gemma", "GemmaForCausalLM", False),
            ("gemma2", "Gemma2ForCausalLM", False), ("gemma3_text", "Gemma3ForCausalLM", False),
            ("olmo2", "Olmo2ForCausalLM", True), ("granite", "GraniteForCausalLM", True),
            ("smollm3", "SmolLM3ForCausalLM", True), ("stablelm", "StableLmForCausalLM", True),
        )
    },
    "mistral": Kind(
        "MistralForCausalLM", lambda z, _: _usual(z, sliding_window=None), square=False
    ),
    "mixtral": Kind("MixtralForCausalLM", lambda z, _: _mixture(z), square=False),
    "qwen3_moe": Kind(
        "Qwen3MoeForCausalLM", lambda z, _: _mixture(z, moe_intermediate_size=z["I"]), square=False
    ),
    "phi3": Kind(
        "Phi3ForCausalLM", lambda z, drop: _usual(z, resid_pdrop=drop, embd_pdrop=drop), drops=True
    ),
    "phi": Kind(
        "PhiForCausalLM", lambda z, drop: _usual(z, resid_pdrop=drop, embd_pdrop=drop), drops=True
    ),
    "starcoder2": Kind(
        "Starcoder2ForCausalLM",
        lambda z, drop: _usual(z, residual_dropout=drop, embedding_dropout=drop), drops=True,
    ),
    "gpt_neox": Kind(
        "GPTNeoXForCausalLM", lambda z, drop: _usual(z, hidden_dropout=drop), own=True, drops=True
    ),
    "gpt2": Kind(
        "GPT2LMHeadModel",
        lambda z, drop: {
            "n_embd": z["h"], "n_head": z["a"], "n_inner": z["I"], "embd_pdrop": drop,
            "resid_pdrop": drop, "attn_pdrop": drop,
        },
        own=True, drops=True, layers="n_layer",
    ),
    "bloom": Kind(
        "BloomForCausalLM",
        lambda z, drop: {
            "hidden_size": z["h"], "n_head": z["a"], "hidden_dropout": drop,
            "attention_dropout": drop,
        },
        own=True, drops=True, layers="n_layer", inner=lambda z: 4 * z["h"],
    ),
    "opt": Kind(
        "OPTForCausalLM",
        lambda z, drop: {
            "hidden_size": z["h"], "word_embed_proj_dim": z["h"], "num_attention_heads": z["a"],
            "ffn_dim": z["I"], "dropout": drop, "attention_dropout": drop,
        },
        own=True, drops=True,
    ),
    "bert": Kind("BertForMaskedLM", _bert, own=True, drops=True),
    "roberta": Kind("RobertaForMaskedLM", _bert, own=True, drops=True),
}  # fmt: skip

#: Copies at batch 1 that torch 2.13 keeps next to a fused projection and 2.15 does not: left out of
#: the rule where 2.15 was recorded too (BLOOM); the others are refused at that batch.
AT_ONE = "th, b = 1"
RECORDED_TWICE = "bloom"

#: Keys of the attention's own dropout, which flash kernels do not keep.
ATTENTION_DROPS = ("attn_pdrop", "attention_dropout", "attention_probs_dropout_prob")


def terms(z: Sizes) -> dict[str, int]:
    """What bytes are multiples of, by sizes: s tokens of b sequences, width h, a heads and g
    key/value heads of d, inner width I, V words, rank r, k of E experts; Q = a·d, K = g·d,
    t = s·b."""
    h, a, g, d, inner, s, b, r = (z[name] for name in "hagdIsbr")
    k, experts, t, q, kv = z.get("k", 0), z.get("E", 0), s * b, a * d, g * d
    alone, single = t * (b == 1), t * (b == 1 and g == 1 < a)
    return {
        "t": t, "th": t * h, "tQ": t * q, "tK": t * kv, "tI": t * inner, "ta": t * a, "tg": t * g,
        "tr": t * r, "tas": t * a * s, "tk": t * k, "tkh": t * k * h, "tkI": t * k * inner,
        "tE": t * experts, "tV": t * z["V"], "th, b = 1": alone * h, "tQ, b = 1": alone * q,
        "tK, b = 1": alone * kv, "tQ, b = g = 1": single * q, "tK, b = g = 1": single * kv,
        "": 1, "h": h, "d": d, "E": experts, "s": s, "sd": s * d,
    }  # fmt: skip


def drawn(draw: random.Random, kind: Kind, *, mixture: bool) -> Sizes:
    a = draw.choice([4, 6, 8])
    g = a if kind.own else draw.choice([n for n in (1, 2, 3, 4) if a % n == 0 and n < a])
    d = draw.choice([8, 16, 24, 32])
    z = {
        "a": a, "g": g, "d": d, "h": a * (d if kind.square else draw.choice([6, 8, 10, 14, 20])),
        "I": draw.choice([48, 80, 144, 200, 264]), "s": draw.choice([16, 24, 33, 40, 56]),
        "b": draw.choice([1, 1, 2, 3]), "r": draw.choice([2, 3, 5, 8]),
    }  # fmt: skip
    if kind.inner is not None:
        z["I"] = kind.inner(z)
    if mixture:  # grouped products need rows of 16 bytes
        z["h"] = a * draw.choice([8, 16, 24])
        z |= {"E": draw.choice([4, 6, 8, 12]), "k": draw.choice([1, 2, 3])}
    return {**z, "V": draw.choice([100, 128, 168])}


# ---- one recording


def kept(
    kind: str, z: Sizes, layers: int, attention: str, drop: float, targets: Any,
    *, in_nf4: bool = False,
) -> tuple[int, dict[str, Any]]:  # fmt: skip
    """Bytes that autograd keeps, and the config."""
    import torch
    import transformers

    one = KINDS[kind]
    values = {**one.make(z, drop), "vocab_size": z["V"], one.layers: layers}
    if attention == "sdpa":
        values |= {key: 0.0 for key in ATTENTION_DROPS if key in values}
    config = transformers.CONFIG_MAPPING[kind](**values)
    torch.manual_seed(0)
    cls = getattr(transformers, one.name)
    model = cls._from_config(config, attn_implementation=attention).to(torch.bfloat16).train()
    if in_nf4:
        pack(model)
    if targets is not None:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=z["r"], target_modules=targets))
    known = {
        t.untyped_storage()._cdata
        for t in (*model.parameters(), *model.buffers(), *scales_of(model))
    }
    sizes: dict[int, int] = {}
    alive: list[Any] = []

    def seen(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage._cdata not in known and storage._cdata not in sizes:
            # On the CPU a layer norm keeps mean and deviation in 16 bits, on CUDA in 32.
            narrow = tensor.dtype == torch.bfloat16 and tensor.dim() > 1 and tensor.shape[-1] == 1
            sizes[storage._cdata] = storage.nbytes() * (2 if narrow else 1)
            alive.append(storage)  # a freed address could come again
        return tensor

    ids = torch.arange(z["b"] * z["s"]).reshape(z["b"], z["s"]) % 7 + 1
    with torch.autograd.graph.saved_tensors_hooks(seen, lambda tensor: tensor):
        output = model(input_ids=ids)
    del output
    return sum(sizes.values()), values


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
                layer.in_features, layer.out_features, bias=has_bias,
                compute_dtype=torch.bfloat16, quant_type="nf4",
            )  # fmt: skip
            made.weight = bitsandbytes.nn.Params4bit(
                layer.weight.data, requires_grad=False, quant_type="nf4"
            )
            if has_bias:
                made.bias = torch.nn.Parameter(layer.bias.data, requires_grad=False)
            setattr(module, name, made.to("cpu"))


def scales_of(model: Any) -> Iterator[Any]:
    """Tensors of the packing, which are no activations."""
    for module in model.modules():
        state = getattr(getattr(module, "weight", None), "quant_state", None)
        if state is not None:
            held = [state.absmax, state.code, state.offset]
            if state.state2 is not None:
                held += [state.state2.absmax, state.state2.code]
            yield from (tensor for tensor in held if tensor is not None)


def packed_as_frozen(kind: str) -> list[str]:
    """Draws whose layers in NF4 keep other bytes than frozen ones."""
    draw, differing = random.Random(1), []
    for attention in ("sdpa", "eager"):
        for way, targets in ways(kind)[1:]:
            for _ in range(SHOWN):
                z = drawn(draw, KINDS[kind], mixture=False)
                z |= {"I": 128, "d": 64, "h": z["a"] * 64}  # blocks of 64
                plain, nf4 = (
                    kept(kind, z, 2, attention, 0.0, targets, in_nf4=on)[0] for on in (False, True)
                )
                print(kind, attention, way, plain, nf4, flush=True)
                differing += [f"{kind} {attention} {way}"] if plain != nf4 else []
    return differing


def recorded(
    kind: str, z: Sizes, attention: str, drop: float, targets: Any
) -> tuple[int, int, dict[str, Any]]:
    """(bytes of one more layer, bytes outside the layers, config)."""
    two, config = kept(kind, z, 2, attention, drop, targets)
    four, _ = kept(kind, z, 4, attention, drop, targets)
    layer, rest = divmod(four - two, 2)
    if rest:
        raise ValueError("layers differ")
    return layer, two - 2 * layer, config


# ---- the rule


def rule(rows: list[dict[str, int]], wanted: list[int]) -> dict[str, int]:
    """Whole multiples of the terms that give every number, the first terms first. Raises
    ValueError where there are none."""
    import numpy

    names = list(rows[0])
    table = numpy.array([[row[name] for name in names] for row in rows], dtype=float)
    chosen: list[int] = []
    for i in range(len(names)):
        columns = table[:, [*chosen, i]]
        norms = numpy.linalg.norm(columns, axis=0)
        if norms.all() and numpy.linalg.matrix_rank(columns / norms, tol=1e-9) == len(chosen) + 1:
            chosen.append(i)
    columns = table[:, chosen]
    norms = numpy.linalg.norm(columns, axis=0)
    solved = numpy.linalg.lstsq(columns / norms, numpy.array(wanted, float), rcond=None)[0] / norms
    found = {names[i]: round(value) for i, value in zip(chosen, solved, strict=True)}
    found = {name: value for name, value in found.items() if value}
    for row, number in zip(rows, wanted, strict=True):
        if sum(value * row[name] for name, value in found.items()) != number:
            raise ValueError("is no sum of whole multiples of the terms")
    return found


def ways(kind: str) -> list[tuple[str, Any]]:
    """(name, targets of adapters): all weights trained, peft's default targets, all linear."""
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULTS

    found: list[tuple[str, Any]] = [("full", None)]
    if kind in DEFAULTS:
        found.append(("default", list(DEFAULTS[kind])))
    return found if kind in ("mixtral", "qwen3_moe") else [*found, ("all-linear", "all-linear")]


def of_kind(kind: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rules: dict[str, Any] = {}
    cases: list[dict[str, Any]] = []
    one = KINDS[kind]
    mixture = kind in ("mixtral", "qwen3_moe")
    for attention in ("eager", "sdpa"):
        for way, targets in ways(kind):
            for drop in (0.0, 0.1) if one.drops else (0.0,):
                draw = random.Random(0)
                name = f"{kind} {attention} {way}{' dropout' if drop else ''}"
                rows, layers, outsides, configs = [], [], [], []
                try:
                    for _ in range(DRAWN):
                        z = drawn(draw, one, mixture=mixture)
                        layer, outside, config = recorded(kind, z, attention, drop, targets)
                        rows.append(terms(z))
                        layers.append(layer)
                        outsides.append(outside)
                        configs.append((z, config))
                    rules[name] = {"layer": rule(rows, layers), "outside": rule(rows, outsides)}
                    if kind == RECORDED_TWICE:
                        rules[name]["layer"].pop(AT_ONE, None)
                except Exception as error:
                    print(f"{name}: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
                    continue
                print(name, rules[name], flush=True)
                alone = AT_ONE in rules[name]["layer"] or kind == RECORDED_TWICE
                made = zip(configs, layers, outsides, strict=True)
                shown = [row for row in made if row[0][0]["b"] > 1 or not alone]
                for (z, config), layer, outside in shown[:SHOWN]:
                    cases.append({
                        "rule": name, "model_type": kind, "architecture": one.name,
                        "config": config, "tokens": z["s"], "batch": z["b"], "rank": z["r"],
                        "layer": layer, "outside": outside,
                    })  # fmt: skip
    return rules, cases


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="model types; all if none is given")
    parser.add_argument("--packed", action="store_true", help="compare NF4 with frozen layers")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)

    def fused(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        return torch.native_dropout(x, p, True)[0] if training and p else x

    torch.nn.functional.dropout = fused
    if options.packed:
        differing = [
            name for kind in options.kinds or ("llama",) for name in packed_as_frozen(kind)
        ]
        print("differing:", differing)
        return bool(differing)
    for kind in options.kinds or KINDS:
        rules, cases = of_kind(kind)
        _merge(RULES, kind, rules)
        held = json.loads(CASES.read_text()) if CASES.exists() else []
        rest = [case for case in held if case["model_type"] != kind]
        lines = [json.dumps(case) for case in (*rest, *cases)]
        CASES.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return 0


def _merge(path: Path, kind: str, rules: dict[str, Any]) -> None:
    held = json.loads(path.read_text()) if path.exists() else {}
    held = {name: one for name, one in held.items() if name.split()[0] != kind} | rules
    lines = [f"{json.dumps(name)}: {json.dumps(held[name])}" for name in sorted(held)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
