"""Which tensors are routed experts, and how many of them serve a token, for models that the catalog
does not know: known by the config's or the file's numbers together with names and shapes."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.tensor import StoredTensor

#: Experts that serve one token, by the config keys of model families.
_USED = tuple(
    """num_experts_per_tok num_experts_per_token experts_per_token moe_topk moe_top_k top_k_experts
    num_selected_experts num_activated_experts moe_k""".split()
)
_ALL = tuple(
    """num_local_experts n_routed_experts num_experts num_routed_experts moe_num_experts
    n_experts""".split()
)
_SECTIONS = ("text_config", "llm_config", "language_config", "ffn_config")

#: Modules whose children are numbered experts, or whose tensors have one slice an expert.
_LISTS = frozenset({"experts", "local_experts", "switch_mlp", "switch_glu"})
#: GGUF's tensors with one slice an expert.
_SLICED = frozenset({"ffn_up_exps", "ffn_gate_exps", "ffn_down_exps", "ffn_gate_up_exps"})

#: More experts than any model has.
_MAX_EXPERTS = 100_000

#: (experts that serve a token, experts of a layer)
Routing = tuple[int, int]


def routing_of(
    config: Mapping[str, object] | None, metadata: Mapping[str, object]
) -> Routing | None:
    """(k, n) if the config or a GGUF file's key-values say both, else None."""
    sections = [config or {}]
    sections += [
        value for key in _SECTIONS if isinstance(value := (config or {}).get(key), Mapping)
    ]
    for section in sections:
        routing = _checked(_first(section, _USED), _first(section, _ALL))
        if routing is not None:
            return routing
    if "general.architecture" not in metadata:
        return None
    from ...formats.gguf.gguf import describe

    facts = describe(metadata)
    return _checked(facts.experts_used, facts.experts)


def _first(section: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((value for key in keys if (value := section.get(key)) is not None), None)


def _checked(used: object, experts: object) -> Routing | None:
    if type(used) is not int or type(experts) is not int:
        return None
    return (used, experts) if 0 < used < experts <= _MAX_EXPERTS else None


def is_list_of_experts(head: str) -> bool:
    """Whether the numbers that come after ``head`` in names are those of experts."""
    return bool(_LISTS.intersection(head.split(".")[-2:]))


def is_routed(name: str, stored: StoredTensor, routing: Routing) -> bool:
    """Whether a tensor is one of n experts, or holds all n of them as slices."""
    segments = name.split(".")
    for at, segment in enumerate(segments):
        if segment in _LISTS:
            following = segments[at + 1] if at + 1 < len(segments) else ""
            if following.isdecimal():
                return len(following) <= 6 and int(following) < routing[1]
            return len(stored.shape) >= 2 and stored.shape[0] == routing[1]
        if segment in _SLICED:
            return len(stored.shape) >= 2 and stored.shape[0] == routing[1]
    return False
