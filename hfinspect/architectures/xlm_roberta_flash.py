"""jina-embeddings-v3 and jina-reranker-v2 as released (Sturua et al. 2024): model_type
``xlm-roberta`` with code of their own. transformers' ``jina_embeddings_v3`` is the converted form.
Source of shapes: modeling_xlm_roberta.py and modeling_lora.py in
jinaai/xlm-roberta-flash-implementation; an MLC conversion of the embeddings reads the same names.

The converted form's tensors, with learned positions where the config has them; with
``lora_adaptations`` every linear and table carries a low-rank pair for each task, under
``parametrizations``.
"""

from collections.abc import Mapping

from ..core.config import ModelConfig
from ..layers.bert_encoders import Encoder, roberta_forms
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import Builder, register
from ..trees.modules import Embedding, Module, Parameter, Weight
from .jina_embeddings_v3 import DEFAULTS, JINA


def _whole(e: Encoder, c: ModelConfig) -> Module:
    root = JINA.whole(e, c)
    if c.text("position_embedding_type", default="rotary") == "absolute":
        positions = Embedding(c.dim("max_position_embeddings"), hidden(c), kind="position")
        root.inside("embeddings").children["position_embeddings"] = positions
        del root.children["rotary_emb"]
    return root


_FLASH = JINA.like("XLMRobertaFlash", "roberta", whole=_whole)


def is_flash(c: ModelConfig) -> bool:
    """Whether a config of model_type xlm-roberta means this code."""
    code = c.raw("auto_map")
    named = isinstance(code, dict) and any("xlm-roberta-flash" in str(x) for x in code.values())
    return named or c.has("lora_adaptations")


# ---- low-rank adaptations


def _adapted_weight(weight: Parameter, *, table: bool, tasks: int, rank: int) -> Module:
    """``original`` and the pair: (n, r, in) and (n, out, r) of a linear, (n, rows, r) and
    (n, r, width) of a table."""
    first, second = weight.shape
    if table:
        pair = Weight(tasks, first, rank), Weight(tasks, rank, second)
    else:
        pair = Weight(tasks, rank, second), Weight(tasks, first, rank)
    return Module(
        "ParametrizationList",
        {
            "original": weight,
            "0": Module("LoRAParametrization", lora_A=pair[0], lora_B=pair[1]),
        },
    )


def adapt(root: Module, tasks: int, rank: int, seen: set[int]) -> None:
    """Give every linear and every table its pairs, in place."""
    if id(root) in seen:
        return
    seen.add(id(root))
    weight = root.children.get("weight")
    if root.class_name in ("Linear", "Embedding") and isinstance(weight, Parameter):
        pairs = _adapted_weight(
            weight, table=root.class_name == "Embedding", tasks=tasks, rank=rank
        )
        rest = {name: child for name, child in root.children.items() if name != "weight"}
        root.children = {**rest, "parametrizations": Module("ModuleDict", weight=pairs)}
        root.class_name = f"Parametrized{root.class_name}"
        return
    for child in root.children.values():
        if isinstance(child, Module):
            adapt(child, tasks, rank, seen)


def with_tasks(c: ModelConfig) -> Module:
    """The embeddings' class: the base model, every weight adapted for each task."""
    if not c.has("lora_adaptations"):
        return _FLASH.model(c)
    tasks, rank = len(c.strings("lora_adaptations")), c.dim("lora_rank", default=4)
    base = _FLASH.model(c)
    if tasks:
        adapt(base, tasks, rank, set())
    return Module("XLMRobertaLoRA", roberta=base)


_FORMS = {
    f"XLMRoberta{ending}": form
    for ending, form in roberta_forms(_FLASH).items()
    if ending not in _FLASH.lacks
}
CLASSES: Mapping[str, Builder] = with_defaults(
    {**DEFAULTS, "position_embedding_type": "rotary"},
    composed({"XLMRobertaModel": with_tasks, **_FORMS}),
)

register(
    "xlm-roberta-flash",
    CLASSES,
    base_prefix="roberta",
    category="encoder",
    source="modeling_xlm_roberta.py of jinaai/xlm-roberta-flash-implementation",
)
