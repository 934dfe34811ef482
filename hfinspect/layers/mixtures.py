"""Mixtures of experts as tables: how many experts there are and how wide, and the parts of the
module that holds them, in the order of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..core.records import dataclass
from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, Parameter
from .blocks import gated_mlp, size
from .decoders import Decoder, gated_of
from .experts import corrected_router, experts, router, stacked_experts, w_expert

#: What reads a number of a config.
ReadDim = Callable[[ModelConfig], Dim]
#: What reads the width of what all tokens share, once that of an expert is known.
SharedWidth = Callable[[ModelConfig, Dim], "Dim | None"]


@dataclass(frozen=True)
class Mixture:
    """One layer's experts: of ``count``, each ``inner`` wide, ``used`` are used per token; what all
    tokens share is ``shared`` wide, None where there is nothing."""

    d: Decoder
    c: ModelConfig
    count: Dim
    used: int
    inner: Dim
    shared: Dim | None

    @property
    def width(self) -> Dim:
        """D: the width of the hidden states."""
        return self.d.width(self.c)

    @property
    def active(self) -> tuple[int, int]:
        """How many are used per token, of how many."""
        return min(int(self.used), int(self.count)), int(self.count)


MixturePart = Callable[[Mixture], "Module | Parameter | None"]


def sparse(
    ending: str,
    parts: Mapping[str, MixturePart],
    *,
    count: ReadDim,
    used: Callable[[ModelConfig], int] | int,
    inner: ReadDim | int | None = None,
    shared: SharedWidth | None = None,
    empty: bool = False,
) -> Callable[[Decoder, ModelConfig], Module]:
    """The module ``{name}{ending}`` of these parts; without ``inner`` experts are as wide as the
    MLP. Numbers are defaults of num_experts_per_tok and of moe_intermediate_size. ``empty``: what
    is shared is there even where it is 0 wide."""
    serving = size("num_experts_per_tok", default=used) if isinstance(used, int) else used
    wide = size("moe_intermediate_size", default=inner) if isinstance(inner, int) else inner

    def moe(d: Decoder, c: ModelConfig) -> Module:
        width = wide(c) if wide else d.inner(c)
        common = shared(c, width) if shared else None
        m = Mixture(d, c, count(c), serving(c), width, common if common or empty else None)
        children = {name: part(m) for name, part in parts.items()}
        return Module(f"{d.name}{ending}", children, component=Component.MLP)

    return moe


# ---- numbers


def counts(*keys: str, default: int | None = None, minimum: int = 0) -> ReadDim:
    """How many there are of what is listed; without a default the config has to say it."""
    if default is None:
        return lambda c: c.count(*keys, minimum=minimum)
    return lambda c: c.count(*keys, default=default, minimum=minimum)


def several(*keys: str, default: int, minimum: int = 0) -> SharedWidth:
    """So many times the width of an expert."""
    return lambda c, inner: inner * c.count(*keys, default=default, minimum=minimum)


def deepseek_shared(c: ModelConfig, inner: Dim, default: int = 1) -> Dim | None:
    """n_shared_experts times that; nothing where the key is null or 0."""
    null = "n_shared_experts" in c.values and c.values["n_shared_experts"] is None
    return None if null else inner * c.count("n_shared_experts", default=default) or None


def as_wide(*keys: str, default: int) -> SharedWidth:
    """A width of its own."""
    return lambda c, _inner: c.dim(*keys, default=default)


# ---- parts


def each(m: Mixture) -> Module:
    """Each expert by itself."""
    expert = gated_of(m.d, m.c, m.inner, "expert")
    return experts(m.count, m.used, expert, class_name=f"{m.d.name}Experts")


#: Model types whose experts llm-compressor takes apart for itself, and saves under its own names.
_TAKEN_APART = frozenset({"mixtral", "minimax", "minimax_m2"})


def _is_taken_apart(c: ModelConfig) -> bool:
    """Whether a tool wrote the files with a transformers that joins experts, and so called them
    gate_proj, up_proj and down_proj. Source: llmcompressor/modeling/moe (0.14)."""
    method = _quantized(c).get("quant_method") if c.kind in _TAKEN_APART else None
    by = method == "compressed-tensors" and c.saved_by is not None and c.saved_by >= (5, 0)
    return by or has_names_of_5(c)


def has_names_of_5(c: ModelConfig) -> bool:
    """Whether GPTQModel wrote Mixtral as transformers 5 has it in memory (recorded with 7.6)."""
    meta = _quantized(c).get("meta")
    by = meta.get("quantizer") if isinstance(meta, Mapping) else None
    names = by if isinstance(by, list) else [by]
    is_named = any(isinstance(name, str) and name.startswith("gptqmodel:") for name in names)
    return c.kind == "mixtral" and is_named and c.saved_by is not None and c.saved_by >= (5, 0)


def _quantized(c: ModelConfig) -> Mapping[str, object]:
    section = c.file_values.get("quantization_config")
    return section if isinstance(section, Mapping) else {}


def lettered(expert: str = "MLP", *, act: bool = True, of: str = "") -> Callable[[Mixture], Module]:
    """The same in files with Mixtral's names: w1 (gate), w3 (up) and w2 (down); ``of`` ends the
    name of a class that holds them, where there is one."""

    def part(m: Mixture) -> Module:
        if _is_taken_apart(m.c):
            return each(m)
        shown = (m.d.act(m.c) or "Identity") if act else None
        one = w_expert(f"{m.d.name}{expert}", m.width, m.inner, act=shown)
        return experts(m.count, m.used, one, class_name=(of and f"{m.d.name}{of}") or "ModuleList")

    return part


def stacked(*, act: bool = False, transposed: bool = False) -> Callable[[Mixture], Module]:
    """All experts in two tensors (see ``stacked_experts``); ``act``: next to their activation."""
    return lambda m: stacked_experts(
        f"{m.d.name}Experts",
        m.count,
        m.used,
        m.width,
        m.inner,
        act=m.d.act(m.c) if act else None,
        transposed=transposed,
    )


def scores(ending: str = "TopKRouter") -> Callable[[Mixture], Module]:
    """The router: weight (experts, hidden)."""
    return lambda m: router(f"{m.d.name}{ending}", m.width, m.count)


def scored_by(ending: str, name: str) -> Callable[[Mixture], Module]:
    """A router that keeps its scores in a linear of that name."""
    return lambda m: Module(
        f"{m.d.name}{ending}",
        {name: Linear(m.width, m.count, bias=False)},
        component=Component.ROUTER,
    )


def corrected(ending: str = "TopkRouter") -> Callable[[Mixture], Module]:
    """The router and the bias that balances the load of the experts."""
    return lambda m: corrected_router(f"{m.d.name}{ending}", m.width, m.count)


def correction(m: Mixture) -> Parameter:
    """Such a bias by itself: a buffer in float32."""
    return Buffer(m.count, dtype="F32", component=Component.ROUTER)


def always(m: Mixture) -> Module | None:
    """The expert that all tokens share."""
    return None if m.shared is None else gated_of(m.d, m.c, m.shared, "shared_expert")


def biased(m: Mixture) -> Module | None:
    """The same with biases where mlp_bias says so: 0 wide it holds the bias of its sum."""
    bias = m.c.flag("mlp_bias", default=False)
    if m.shared is None or not (m.shared or bias):
        return None
    return gated_mlp(
        f"{m.d.name}MLP", m.width, m.shared, bias=bias, act=m.d.act(m.c), kind="shared_expert"
    )


def mixtral(
    count: ReadDim, used: int, expert: str = "BlockSparseTop2MLP", **before: MixturePart
) -> Callable[[Decoder, ModelConfig], Module]:
    """Mixtral's experts and their router; ``used`` is a default."""
    parts = {**before, "gate": scores(), "experts": lettered(expert)}
    return sparse("SparseMoeBlock", parts, count=count, used=used)


#: Experts as DeepSeek-V3's classes hold them.
DEEPSEEK: dict[str, MixturePart] = {"experts": each, "gate": corrected(), "shared_experts": always}
#: And as Qwen's do: the shared one, where there is one, is behind a gate.
QWEN: dict[str, MixturePart] = {
    "gate": scores(),
    "experts": each,
    "shared_expert": always,
    "shared_expert_gate": lambda m: (
        Linear(m.width, 1, bias=False, component=Component.ROUTER) if m.shared else None
    ),
}


def qwen(
    count: ReadDim, used: int, inner: int | None = None, shared: int | None = None
) -> Callable[[Decoder, ModelConfig], Module]:
    """Qwen's experts; without ``inner`` as wide as the MLP. The numbers are defaults."""
    common = as_wide("shared_expert_intermediate_size", default=shared) if shared else None
    return sparse("SparseMoeBlock", QWEN, count=count, used=used, inner=inner, shared=common)
