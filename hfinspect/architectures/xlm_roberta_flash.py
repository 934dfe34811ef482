"""jina-embeddings-v3 and jina-reranker-v2 as released (Sturua et al. 2024): type ``xlm-roberta``
and code of their own. transformers' ``jina_embeddings_v3`` is the converted form."""

from ..layers.bert_encoders import Encoder, roberta_forms
from ..layers.composing import with_defaults
from ..layers.encoders import hidden
from ..trees import Embedding, ModelConfig, Module, Parameter, Weight, each_module, register
from .jina_embeddings_v3 import DEFAULTS, JINA


def _whole(e: Encoder, c: ModelConfig) -> Module:
    root = JINA.make_model(e, c)
    if c.text("position_embedding_type", default="rotary") == "absolute":
        positions = Embedding(c.dim("max_position_embeddings"), hidden(c), kind="position")
        root.without("rotary_emb").inside("embeddings").adding(position_embeddings=positions)
    return root


_DEFAULTS = {**DEFAULTS, "position_embedding_type": "rotary"}
_FLASH = JINA.like(
    "XLMRoberta", "roberta", defaults=_DEFAULTS, make_model=_whole, forms=roberta_forms
)


def _adapt(root: Module, tasks: int, rank: int) -> None:
    """Give every linear and every table its pairs, in place: (n, r, in) and (n, out, r) of a
    linear, (n, rows, r) and (n, r, width) of a table."""
    for module in list(each_module(root)):
        weight = module.children.get("weight")
        kind = module.class_name
        if kind not in ("Linear", "Embedding") or not isinstance(weight, Parameter):
            continue
        rows, width = weight.shape
        wide = (tasks, rank, width)
        tall = (tasks, rows, rank)
        first, second = (wide, tall) if kind == "Linear" else (tall, wide)
        pair = Module("LoRAParametrization", lora_A=Weight(*first), lora_B=Weight(*second))
        pairs = Module("ParametrizationList", {"original": weight, "0": pair})
        adapted = Module("ModuleDict", weight=pairs)
        module.called(f"Parametrized{kind}").without("weight").adding(parametrizations=adapted)


def with_tasks(c: ModelConfig) -> Module:
    """The embeddings' class: the base model, every weight adapted for each task."""
    base = _FLASH.model(c)
    tasks = len(c.strings("lora_adaptations", default=()))
    if tasks:
        _adapt(base, tasks, c.dim("lora_rank", default=4))
    return Module("XLMRobertaLoRA", roberta=base) if c.has("lora_adaptations") else base


CLASSES = {**_FLASH.classes(), **with_defaults(_DEFAULTS, {"XLMRobertaModel": with_tasks})}
_SOURCE = "modeling_xlm_roberta.py of jinaai/xlm-roberta-flash-implementation"
register("xlm-roberta-flash", CLASSES, base_prefix="roberta", category="encoder", source=_SOURCE)
