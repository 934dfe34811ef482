"""Small models for recording what autograd keeps: their configs, their sizes, and the products of
sizes that bytes are multiples of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

from hfinspect.sizing.activation_terms import products

Sizes = dict[str, int]


def _usual(z: Sizes, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": z["h"],
        "intermediate_size": z["I"],
        "num_attention_heads": z["a"],
        "num_key_value_heads": z["g"],
        "head_dim": z["d"],
        "pad_token_id": 0,
        **more,
    }


def _dropping(*rates: str) -> Callable[[Sizes, float], dict[str, Any]]:
    """The usual keys, and those of the rates of dropout."""
    return lambda z, drop: _usual(z, **dict.fromkeys(rates, drop))


def _mixture(z: Sizes, **more: Any) -> dict[str, Any]:
    config = _usual(z, num_experts_per_tok=z["k"], **more)
    return {**config, "num_experts": z["E"], "num_local_experts": z["E"]}


def _bert(z: Sizes, drop: float) -> dict[str, Any]:
    return {
        "hidden_size": z["h"],
        "num_attention_heads": z["a"],
        "intermediate_size": z["I"],
        "hidden_dropout_prob": drop,
        "attention_probs_dropout_prob": drop,
    }


def _t5(activation: str) -> Callable[[Sizes, float], dict[str, Any]]:
    return lambda z, drop: {
        "d_model": z["h"],
        "d_kv": z["d"],
        "d_ff": z["I"],
        "num_heads": z["a"],
        "feed_forward_proj": activation,
        "dropout_rate": drop,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
    }


def _bart(z: Sizes, drop: float, **more: Any) -> dict[str, Any]:
    return {
        "d_model": z["h"],
        "encoder_ffn_dim": z["I"],
        "decoder_ffn_dim": z["J"],
        "encoder_attention_heads": z["a"],
        "decoder_attention_heads": z["a"],
        "dropout": drop,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        **more,
    }


class Kind:
    """How a model type's config is made. ``square``: as wide as all its heads together; ``own``:
    as many key/value heads as heads; ``quarter``: a quarter of a head turns; ``drops``: it has
    rates of dropout; ``layers``: the keys of the numbers of layers, the decoder's first;
    ``windowed``: the keys that give its layers a window, and ``chooses`` whether the config says of
    each layer whether it has one."""

    def __init__(
        self,
        name: str,
        make: Callable[[Sizes, float], dict[str, Any]],
        *,
        square: bool = True,
        own: bool = False,
        drops: bool = False,
        layers: str = "num_hidden_layers",
        inner: Callable[[Sizes], int] | None = None,
        mixture: bool = False,
        quarter: bool = False,
        kind: str = "",
        dtypes: tuple[str, ...] = ("bf16", "f32", "amp"),
        windowed: Mapping[str, Any] | None = None,
        chooses: bool = False,
    ) -> None:
        self.name = name
        self.make = make
        self.layers = layers.split()
        self.inner = inner
        self.square = square
        self.own = own
        self.drops = drops
        self.mixture = mixture
        self.quarter = quarter
        self.windowed = windowed or {}
        self.chooses = chooses
        # Which products of experts autocast takes is not known here.
        self.kind = kind
        self.dtypes = tuple(d for d in dtypes if not mixture or d != "amp")

    @property
    def sided(self) -> bool:
        """Whether it is an encoder-decoder."""
        return len(self.layers) > 1


_BARTS = {
    "bart": "BartForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "marian": "MarianMTModel",
    "blenderbot": "BlenderbotForConditionalGeneration",
    "blenderbot-small": "BlenderbotSmallForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
    "plbart": "PLBartForConditionalGeneration",
}

#: Of a kind whose layers have windows where the config has the key ``sliding_window`` alone.
_WINDOWED: Mapping[str, Any] = {"sliding_window": None}
_SWITCHED: Mapping[str, Any] = {**_WINDOWED, "use_sliding_window": True}
#: Kinds whose configs say of each layer whether it has a window.
_CHOOSE = {"gemma3_text": _WINDOWED, **dict.fromkeys(("qwen2", "qwen3", "smollm3"), _SWITCHED)}

KINDS: Mapping[str, Kind] = {
    **{
        kind: Kind(
            name,
            lambda z, _: _usual(z),
            square=square,
            quarter=kind == "stablelm",
            windowed=_CHOOSE.get(kind),
            chooses=kind in _CHOOSE,
        )
        for kind, name, square in (
            ("llama", "LlamaForCausalLM", False),
            ("qwen2", "Qwen2ForCausalLM", True),
            ("qwen3", "Qwen3ForCausalLM", False),
            ("gemma", "GemmaForCausalLM", False),
            ("gemma2", "Gemma2ForCausalLM", False),
            ("gemma3_text", "Gemma3ForCausalLM", False),
            ("olmo2", "Olmo2ForCausalLM", True),
            ("granite", "GraniteForCausalLM", True),
            ("smollm3", "SmolLM3ForCausalLM", True),
            ("stablelm", "StableLmForCausalLM", True),
            ("cohere", "CohereForCausalLM", True),
            ("ernie4_5", "Ernie4_5ForCausalLM", False),
            ("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", False),
        )
    },
    "mistral": Kind(
        "MistralForCausalLM",
        lambda z, _: _usual(z, sliding_window=None),
        square=False,
        windowed=_WINDOWED,
    ),
    "mixtral": Kind(
        "MixtralForCausalLM",
        lambda z, _: _mixture(z),
        square=False,
        mixture=True,
        windowed=_WINDOWED,
    ),
    "qwen3_moe": Kind(
        "Qwen3MoeForCausalLM",
        lambda z, _: _mixture(z, moe_intermediate_size=z["I"]),
        square=False,
        mixture=True,
        windowed=_SWITCHED,
    ),
    "olmoe": Kind("OlmoeForCausalLM", lambda z, _: _mixture(z), mixture=True),
    "phi3": Kind(
        "Phi3ForCausalLM", _dropping("resid_pdrop", "embd_pdrop"), drops=True, windowed=_WINDOWED
    ),
    "phi": Kind("PhiForCausalLM", _dropping("resid_pdrop", "embd_pdrop"), drops=True),
    "starcoder2": Kind(
        "Starcoder2ForCausalLM",
        _dropping("residual_dropout", "embedding_dropout"),
        drops=True,
        windowed=_WINDOWED,
    ),
    "gpt_neox": Kind(
        "GPTNeoXForCausalLM", _dropping("hidden_dropout"), own=True, drops=True, quarter=True
    ),
    "gpt2": Kind(
        "GPT2LMHeadModel",
        lambda z, drop: {
            "n_embd": z["h"],
            "n_head": z["a"],
            "n_inner": z["I"],
            "embd_pdrop": drop,
            "resid_pdrop": drop,
            "attn_pdrop": drop,
        },
        own=True,
        drops=True,
        layers="n_layer",
    ),
    "bloom": Kind(
        "BloomForCausalLM",
        lambda z, drop: {
            "hidden_size": z["h"],
            "n_head": z["a"],
            "hidden_dropout": drop,
            "attention_dropout": drop,
        },
        own=True,
        drops=True,
        layers="n_layer",
        inner=lambda z: 4 * z["h"],
    ),
    "opt": Kind(
        "OPTForCausalLM",
        lambda z, drop: {
            "hidden_size": z["h"],
            "word_embed_proj_dim": z["h"],
            "num_attention_heads": z["a"],
            "ffn_dim": z["I"],
            "dropout": drop,
            "attention_dropout": drop,
        },
        own=True,
        drops=True,
    ),
    "bert": Kind("BertForMaskedLM", _bert, own=True, drops=True),
    "roberta": Kind("RobertaForMaskedLM", _bert, own=True, drops=True),
    "xlm-roberta": Kind("XLMRobertaForMaskedLM", _bert, own=True, drops=True),
    "camembert": Kind("CamembertForMaskedLM", _bert, own=True, drops=True),
    **{
        name: Kind(
            "MT5ForConditionalGeneration" if kind == "mt5" else "T5ForConditionalGeneration",
            _t5(activation),
            square=False,
            own=True,
            drops=True,
            layers="num_decoder_layers num_layers",
            kind=kind,
        )
        for name, kind, activation in (
            ("t5", "t5", "relu"),
            ("t5-gated", "t5", "gated-gelu"),
            ("mt5", "mt5", "gated-gelu"),
        )
    },
    **{
        kind: Kind(name, _bart, own=True, drops=True, layers="decoder_layers encoder_layers")
        for kind, name in _BARTS.items()
    },
}

#: Keys of the attention's own dropout, which flash kernels do not keep.
ATTENTION_DROPS = ("attn_pdrop", "attention_dropout", "attention_probs_dropout_prob")


#: How many bytes of one place a kept tensor has at most: 8 of a long integer, and three or four
#: projections in one.
MULTIPLES = (1, 2, 4, 8, 3, 6, 12, 16, 24)


def telling(kind: Kind) -> Sizes:
    """Sizes whose products, times the bytes of a number, are all different, so that the bytes of a
    tensor say which product it is."""
    draw = random.Random(0)
    for _ in range(20_000):
        z = sizes(kind, draw)
        if z["h"] != z["a"] * z["d"] or kind.square:
            products_apart = distinct(kind, products(z))
            values = [value * times for value in products_apart.values() for times in (1, 2, 4, 8)]
            if len(set(values)) == len(values):
                return z
    raise ValueError(f"no sizes keep apart the products of {kind.name} apart")


def distinct(kind: Kind, values: Mapping[str, int]) -> dict[str, int]:
    """The products that are not the same as an earlier one in every model of the kind."""
    draw = random.Random(1)
    several = [products(sizes(kind, draw)) for _ in range(8)]
    first: dict[tuple[int, ...], str] = {}
    for name in values:
        # A multiple of the width says it where the inner width is one; rotary tables are as wide
        # as a head or a quarter of it.
        multiple = kind.inner is not None and "I" in name
        table = ("s", "sd") if kind.quarter else ("sf",)
        if not multiple and name not in table:
            first.setdefault(tuple(one[name] for one in several), name)
    return {name: values[name] for name in first.values()}


def sizes(kind: Kind, draw: random.Random) -> Sizes:
    a = draw.choice([3, 5, 6, 7] if kind.own else [6, 9, 12])
    g = a if kind.own else a // 3
    d = draw.choice([8, 16, 24])  # a quarter may turn with the position
    # The library wants whole heads where it divides the width itself.
    h = a * (d if kind.square else draw.choice([8, 16, 24, 32] if kind.mixture else [6, 8, 12, 18]))
    z = {
        "a": a,
        "g": g,
        "d": d,
        "h": h,
        "I": 8 * draw.choice([11, 13, 17, 19, 23, 29, 31]),
        "s": draw.choice([13, 17, 19, 23, 29, 37]),
        "b": 3,
        "r": draw.choice([5, 7, 11]),
        "V": draw.choice([101, 103, 107, 109, 127, 131]),
    }
    if kind.inner is not None:
        z["I"] = kind.inner(z)
    if kind.mixture:
        z |= {"E": draw.choice([7, 9, 11]), "k": draw.choice([3, 5])}
    if kind.sided:
        z |= {"e": draw.choice([11, 31, 41, 43]), "J": 8 * draw.choice([37, 41, 43, 47])}
        if kind.kind in ("t5", "mt5"):
            z["J"] = z["I"]
    return z


def subsets(names: tuple[str, ...]) -> Iterator[frozenset[str]]:
    """All but the empty one."""
    for count in range(1, len(names) + 1):
        yield from map(frozenset, combinations(names, count))
