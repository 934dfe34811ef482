"""The verbs, which join the rooms. Those that only pages and pictures need are in
``pictures.py``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .core.choices import WEIGHT_METHODS, SourceChoice, WeightMethod, check_source, checked
from .core.given_config import HasConfig, config_given
from .core.memory_options import CacheOptions, MemoryOptions
from .core.option_field import called_with
from .core.progress import Progress, joined
from .core.read_fields import ConfigPart, ModelPart
from .core.records import dataclass
from .core.refs import Origin
from .core.results import Inspection
from .core.runs_options import RunsOptions
from .errors import HfinspectError, UsageError
from .inspecting.config_alone import not_derivable
from .inspecting.config_alone import predict as predict_config
from .inspecting.read_options import ListedOptions, ReadOptions, inspect_with
from .sources.access_options import AccessOptions
from .sources.deadline import Deadline, Timeout
from .sources.login import Session
from .sources.opening import local_source
from .sources.source import Source

# What only one verb needs is imported by it: a command starts in a third of a second.
if TYPE_CHECKING:
    from .analysis.differences import Comparison
    from .core.cache_derivation import CacheDerivation
    from .core.engine_answers import EngineAnswers
    from .core.explanation import Explanation
    from .core.footprint import Memory
    from .core.recipe_list import RecipeList
    from .core.tensor import TensorInfo
    from .core.tokenizer_facts import TokenizerFacts
    from .core.verdicts import AuditResult
    from .core.weight_changes import ReadingCost
    from .inspecting.pipelines import DeclaredPart
    from .sources.header_cache import HeaderCache
    from .trees.prediction import Prediction

Target = str | os.PathLike[str] | Mapping[str, Any] | HasConfig

__all__ = [
    "SourceChoice", "audit", "compare", "explain", "explain_cache", "inspect", "memory", "predict",
    "predict_parts", "recipes", "runs", "tokenizer",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InspectCall(ListedOptions):
    """The arguments of ``inspect``."""

    target: Target = field(kw_only=False)


@dataclass(frozen=True, kw_only=True)
class TensorsCall(InspectCall):
    """The arguments of ``iter_tensors``."""

    match: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditCall(AccessOptions, ModelPart):
    """The arguments of ``audit``."""

    target: str | Path = field(kw_only=False)
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    reference: str | Path | None = None
    deep: bool = False
    pointers: bool = False


@dataclass(frozen=True, kw_only=True)
class PredictCall(AccessOptions, ConfigPart):
    """The arguments of ``predict``."""

    config: Target = field(kw_only=False)


@dataclass(frozen=True, kw_only=True)
class PartsCall(AccessOptions, ConfigPart):
    """The arguments of ``predict_parts``."""

    target: Target = field(kw_only=False)


@dataclass(frozen=True, kw_only=True)
class ReadCall(ReadOptions):
    """The arguments of ``tokenizer``, which most verbs have too."""

    target: Target = field(kw_only=False)


@dataclass(frozen=True, kw_only=True)
class ExplainCall(ReadCall):
    """The arguments of ``explain``."""

    against: int | str | None = None


@dataclass(frozen=True, kw_only=True)
class RecipesCall(ReadCall):
    """The arguments of ``recipes``."""

    names: Sequence[str] | None = field(default=None, kw_only=False)


@dataclass(frozen=True, kw_only=True)
class CacheCall(ReadCall, CacheOptions):
    """The arguments of ``explain_cache``."""


@dataclass(frozen=True, kw_only=True)
class MemoryCall(ReadCall, MemoryOptions):
    """The arguments of ``memory``."""


@dataclass(frozen=True, kw_only=True)
class RunsCall(ReadCall, RunsOptions):
    """The arguments of ``runs``."""


@called_with(InspectCall)
def inspect(call: InspectCall) -> Inspection:
    """What is inside a model, from headers or config.json alone.

    ``target`` is a repo id (``org/name``, ``org/name@revision``), an ``hf://`` or Hub URL, a local
    file or directory, or a config: a mapping, or an object with ``to_dict`` (transformers'
    PreTrainedConfig). ``source``: ``checkpoint`` reads weight headers, ``config`` only config.json,
    ``auto`` headers if there are any. ``file`` picks one weight file. ``overrides`` change config
    keys (dotted for nested ones) and imply ``config``. ``token`` as in huggingface_hub: None is the
    saved one, False none; ``session`` is an object that has token and endpoint
    (``huggingface_hub.HfApi``), in place of both. ``timeout`` is in seconds, for everything that is
    read of the model (600 if None); a ``Deadline`` can be cancelled. ``client`` shares
    connections and rate limits between calls, ``cache`` keeps headers between runs,
    ``listing`` is the Hub's file list of the target where it is known already.
    ``progress`` is called while headers are read: see ``hfinspect.core.progress``.

    Raises HfinspectError subclasses: see ``hfinspect.errors``.
    """
    inspected, _ = inspect_with(call, call.target)
    return inspected.inspection


@called_with(TensorsCall)
def iter_tensors(call: TensorsCall) -> Iterator[TensorInfo]:
    """The tensors of a model, one after the other: those of ``inspect(target).tensors``.

    ``match`` is a pattern for names (``*.q_proj.*``); the other arguments are those of
    ``inspect``. Nothing is read before the first is taken.

    Raises what ``inspect`` raises.
    """
    inspected, _ = inspect_with(call, call.target)
    for tensor in inspected.inspection.tensors:
        if call.match is None or fnmatchcase(tensor.name, call.match):
            yield tensor


# Its arguments are listed here, not called_with a dataclass: no field is "any number of targets",
# ``*targets`` cannot stand next to ``**kwargs: P.kwargs``, and Unpack needs a TypedDict: a second
# list. A test holds them equal to the fields of ReadOptions.
def compare(
    *targets: Target,
    names: Sequence[str] | None = None,
    source: SourceChoice = "auto",
    overrides: Mapping[str, Any] | None = None,
    weights: WeightMethod | None = None,
    announce: Callable[[ReadingCost], None] | None = None,
    token: str | bool | None = None,
    session: Session | None = None,
    endpoint: str | None = None,
    timeout: Timeout = None,
    cache: HeaderCache | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Models side by side, the others against the first.

    ``names`` are what the report calls them, one for each target (default: the targets).
    ``overrides`` change config keys of the last one; then all are read by their configs alone.
    ``weights`` reads weights too, which no other verb does: ``sample`` 4,096 bytes of each tensor,
    ``values`` all bytes of models on this machine; ``announce`` is called with what that reads,
    before it does. ``timeout`` is in seconds for each of them, or one ``Deadline`` for all;
    ``cache`` keeps headers between runs; ``progress`` is called with their sums. Raises UsageError
    for fewer than two, and what ``inspect`` raises.
    """
    from .lineage.opened import ModelToCompare, compared_models

    if len(targets) < 2:
        raise UsageError("compare", "needs two models or more", expected="A B [C ...]")
    if names is not None and len(names) != len(targets):
        raise UsageError(
            f"{len(names)} names", "do not fit", expected=f"one for each of {len(targets)} models"
        )
    check_source(source, overrides)
    if weights is not None:
        checked("weights", weights, WEIGHT_METHODS)
        if overrides or source == "config":
            raise UsageError("weights", "cannot be compared by configs alone")
    changes = [*[None] * (len(targets) - 1), overrides or None]
    shares = joined(progress, len(targets)) if progress else [None] * len(targets)
    access = AccessOptions(
        session=session, token=token, endpoint=endpoint, timeout=timeout, cache=cache
    ).access()
    models = [
        ModelToCompare(target, replace(access, progress=share), changed)
        for target, share, changed in zip(targets, shares, changes, strict=True)
    ]
    choice = "config" if overrides else source
    return compared_models(models, choice, names, weights, announce, progress)


@called_with(ExplainCall)
def explain(call: ExplainCall) -> Explanation:
    """The derivation of a model's parameter count, in symbols and in numbers.

    Arguments as for ``inspect``; where headers are read, they stand next to the derivation.
    ``against`` is another count, whose difference is explained by the usual conventions; as text it
    may be rounded (``"124M"``, ``"1.5B"``). A GGUF file is derived from its own key-values, a LoRA
    adapter from its rank and its headers.

    Raises what ``inspect`` raises, NothingToInspectError for a model without a config.json to
    derive from, and UnknownArchitectureError for one that is not in the catalog.
    """
    from .explaining.adapter_tree import adapter_derivation
    from .explaining.derivation import Derivation
    from .explaining.derive import explained
    from .explaining.gguf_tree import gguf_derivation
    from .explaining.reconcile import compared, parse_count
    from .inspecting.pipelines import folder_of, several_models

    request = None if call.against is None else parse_count(call.against)
    inspected, _ = inspect_with(call, call.target)
    inspection = inspected.inspection
    if inspection.config is None and inspection.members:
        raise several_models(
            inspection.target, [(folder_of(m), m.declared) for m in inspection.members]
        )
    if inspection.config is not None:
        derivation = Derivation(
            inspected.prediction or predict_config(inspection.config), inspection.config
        )
    else:
        of_file = gguf_derivation(inspection) or adapter_derivation(inspection)
        if of_file is None:
            raise not_derivable(inspection)
        derivation = of_file
    explanation = explained(inspection.target, inspection, derivation)
    return explanation if request is None else compared(explanation, derivation, request)


@called_with(CacheCall)
def explain_cache(call: CacheCall) -> CacheDerivation:
    """The derivation of a model's cache, line by line: ``2·L·G·d_k`` numbers a token, and so on.

    Arguments as for ``memory``, whose number the lines sum up to; without ``context`` it is that of
    the model's own (32,768 tokens where the config names none).

    Raises what ``memory`` raises, and NothingToInspectError for a model that keeps nothing between
    tokens or whose layout no rule knows.
    """
    from .explaining.cache_ledger import cache_explained
    from .sizing.memory_request import cache_request

    request = cache_request(call)
    inspected, _ = inspect_with(call, call.target)
    return cache_explained(inspected.inspection, inspected.prediction, request)


@called_with(MemoryCall)
def memory(call: MemoryCall) -> Memory:
    """What a model needs to run: bytes of weights, cache and workspace, and what fits.

    ``context`` is in tokens (``4096``, ``"32k"``); without it the sum is given at 8,192, 32,768 and
    the model's own. ``engine`` names whose rules the cache follows: ``logical`` (the least that any
    must hold), ``transformers``, ``transformers-static``, ``vllm``, ``sglang``, ``llama.cpp``.
    ``cache_dtype`` is that of keys and values (default: the model's; llama.cpp takes two,
    ``"q8_0/f16"``). ``encoder_tokens`` are the positions that the encoder gives out, after its
    convolutions (default: as many as ``context``; for Whisper its fixed ones). ``step_tokens`` are
    those of one step: vLLM's max_num_batched_tokens (8,192) or llama.cpp's ubatch (512). ``slots``
    (llama-server's ``-np``), ``split_cache`` (its ``--no-kv-unified``: ``context`` is then that of
    each slot), ``swa_full`` and ``flash_attention`` (``-fa``) are settings of engine ``llama.cpp``.
    ``on`` is a device: ``"24GB"``, ``"2x80GB"``, ``"RTX 4090"``. ``tensor_parallel`` is the number
    of devices that share each layer, ``pipeline_parallel`` that of stages, ``expert_parallel`` that
    of devices that share the experts; bytes are then those of the fullest. With engine
    ``llama.cpp``, ``Memory.offload`` has the weights by layer and what goes to the GPU.
    ``bandwidth`` of a device's memory (``"3.35TB/s"``) limits tokens a second. ``width`` sizes the
    weights at another dtype than they are stored in: a recipe (``"Q4_K_M"``, ``"awq"``). ``image``
    (``"1024x768"``), ``images`` of that size, ``video`` (``"640x480x64"``: width, height, frames)
    and ``audio`` (``"30s"``) add their tokens to ``context``; ``Memory.media`` has the tokens and
    bytes of each, by the rules of the model's processor. The other arguments are those of
    ``inspect``.

    ``train`` (``full``, ``lora``, ``qlora``) adds ``Memory.training``: what one device holds in a
    step over ``batch`` sequences of ``seq`` tokens (default 2,048). ``rank`` and ``targets`` are
    those of adapters (names, or ``"all-linear"``; default: peft's for the model type),
    ``modules_to_save`` the modules that are trained whole next to them; ``optimizer`` (``adamw``,
    ``sgd``, ...) keeps a state for each parameter; ``precision`` (``mixed``, ``bf16``, ``fp32``,
    ``amp``) is that of full training, and of the frozen weights next to adapters where it is not
    ``mixed``; ``gpus`` and ``zero`` are the devices and the ZeRO stage, ``checkpointing`` whether
    activations are computed again, ``attention`` the kernel whose activations wait (``sdpa``,
    ``eager``; default: the library's).

    ``Memory.verdict`` says whether the device holds it (with ``train``: the training), always;
    ``Memory.recipes`` are usual quantisations by context, on the device or on cards of the usual
    sizes. Several devices share the model by ``tensor_parallel`` or ``pipeline_parallel``, or by a
    split that a note names. An adapter is sized with its base model, where that is reached.

    Raises UsageError for a context, an engine, a dtype or a device that is none, and what
    ``inspect`` raises. A cache whose layout is not known is refused in ``Memory.cache_unknown``.
    """
    from .inspecting.base_model import with_base
    from .inspecting.media_read import with_media
    from .sizing.memory_request import memory_request
    from .sizing.planned import planned

    request = memory_request(call)
    unsized = request.device is not None
    inspected, access = inspect_with(call, call.target, unsized=unsized)
    request = with_media(inspected, request, call.target, access, call.revision)
    inspected, request = with_base(inspected, request, access)
    return planned(inspected.inspection, inspected.prediction, request)


@called_with(RecipesCall)
def recipes(call: RecipesCall) -> RecipeList:
    """What a model weighs under recipes: as it is stored, in llama.cpp's mixes (``"Q4_K_M"``), as
    ``"AWQ 4-bit"``, ``"GPTQ 4-bit"``, ``"FP8"``, ``"NF4"``, ``"MLX 4-bit"`` ...; all that are known
    without ``names``. Bytes are exact; where they do not follow from what was read,
    ``RecipeSize.why_unknown`` says why. The other arguments are those of ``inspect``.

    Raises UsageError for a name that is no recipe, and what ``inspect`` raises.
    """
    from .core.recipe_list import RecipeList
    from .sizing.recipes import RECIPES, find_recipe, recipe_sizes

    names = call.names
    chosen = list(RECIPES) if names is None else [find_recipe(name).name for name in names]
    (inspected, prediction, *_), _ = inspect_with(call, call.target)
    sizes = recipe_sizes(inspected, prediction, chosen)
    return RecipeList(inspected.target, inspected.origin, inspected.parameters, sizes)


@called_with(ReadCall)
def tokenizer(call: ReadCall) -> TokenizerFacts:
    """A model's tokenizer next to the model: tokens and rows, special ids, chat templates, lengths.

    Arguments as for ``inspect``, without ``overrides``; ``file`` also names a folder that holds a
    tokenizer (``"tokenizer"`` of a pipeline, whose tokenizers are ``TokenizerFacts.parts``). Read
    are the model as ``inspect`` reads it, then tokenizer.json (or vocab.json, vocab.txt,
    tekken.json, a file of SentencePiece or tiktoken), tokenizer_config.json and other small files,
    and chat templates, a request each that is there; of a GGUF file its key-values. Templates are
    parsed, never rendered. ``TokenizerFacts.findings`` say where the files disagree.

    Raises what ``inspect`` raises for a target that cannot be read, and NothingToInspectError for
    one without a tokenizer. A model of unknown size is a finding.
    """
    from .inspecting.tokenizer_run import tokenizer_target

    check_source(call.source, call.overrides)
    if call.overrides:
        raise UsageError(
            "overrides", "are for models, and a tokenizer's files are read as they are"
        )
    return tokenizer_target(
        call.target, call.access(), revision=call.revision, source=call.source, file=call.file
    )


@called_with(RunsCall)
def runs(call: RunsCall) -> EngineAnswers:
    """Which engines load a model, why others do not, and with what line.

    ``engine`` names them (``"vllm,sglang"``, or a list): ``transformers``, ``vllm``, ``sglang``,
    ``llama.cpp``, ``mlx-lm``, ``onnx``, ``tensorrt-llm``; all without it. Classes, types and
    methods of quantisation are those that the engines' own sources list (``EngineAnswer.version``).
    ``on`` is a device: with it each line has the numbers that the rules of ``memory`` give for
    ``context`` tokens (default: the longest that fits) and ``batch`` sequences, and an engine whose
    memory it exceeds answers ``no``. ``train`` (``full``, ``lora``, ``qlora``) adds
    ``EngineAnswers.training``: FSDP and DeepSpeed. The other arguments are those of ``inspect`` and
    ``memory``. An adapter is answered for its base model, where that is reached.

    Raises UsageError for an engine, a context or a device that is none, and what ``inspect``
    raises.
    """
    from .inspecting.base_model import with_base
    from .running.answers import answered, checked_options
    from .sizing.engines.registry import LOGICAL
    from .sizing.memory_request import MemoryRequest

    checked_options(call)
    inspected, access = inspect_with(call, call.target, unsized=True)
    inspected, _ = with_base(inspected, MemoryRequest(LOGICAL), access)
    return answered(inspected.inspection, inspected.prediction, call)


@called_with(AuditCall)
def audit(call: AuditCall) -> AuditResult:
    """Whether a checkpoint is whole, consistent and safe, judged by coded rules from its headers.

    ``target`` is a repo, a local file or directory (with all below it). ``select`` and ``ignore``
    are codes or their beginnings (``HI2``); the longer one wins. ``reference`` is a model that
    should have the same tensors of the same shapes, or the base of an adapter. ``deep`` also reads
    every value and compares checksums, for which ``timeout`` holds only request by request.
    ``pointers`` takes a local pointer of Git LFS as the file that it stands for: judged by name and
    size, its content listed as not checked (without it, a pointer is an error).
    ``progress`` is called while headers, and then values, are read. ``cache`` keeps headers between
    runs, for an audit that is not deep. A damaged or unreadable file is a finding and stops
    nothing; nothing is changed in what is audited.

    Raises UsageError for unknown codes, AccessErrors where the target as a whole cannot be read,
    and what ``inspect`` raises for a ``reference`` that cannot.
    """
    from .auditing.reference import read_reference
    from .auditing.run import run_audit
    from .sources.pointers import PointerSource

    # All values are no headers: a deep audit keeps nothing.
    access = (replace(call, cache=None) if call.deep else call).access()
    ref = access.resolve(call.target, call.revision)
    access = access.started()
    base = base_config = None
    if call.reference is not None:
        other = access.resolve(call.reference)
        with closing(access.open(other)) as source:
            base, base_config = read_reference(source, other.file)
    if ref.path is not None:
        path = Path(ref.path).expanduser()
        opened: Source = PointerSource(path) if call.pointers else local_source(path)
    else:
        endless = call.deep and not isinstance(call.timeout, Deadline)
        opened = (replace(access, timeout=Deadline.never()) if endless else access).open(ref)
    with closing(opened):
        result = run_audit(
            str(call.target),
            opened,
            select=call.select,
            ignore=call.ignore,
            deep=call.deep,
            file=ref.file or call.file,
            reference=base,
            reference_name=None if call.reference is None else str(call.reference),
            reference_config=base_config,
            progress=call.progress,
        )
    access.check(ref)
    return result


@called_with(PredictCall)
def predict(call: PredictCall) -> Prediction:
    """The tensors that a config.json predicts, from the catalog; weights are not read.

    ``config`` is a mapping, an object with ``to_dict``, or anything that ``inspect`` takes, of
    which config.json is read. For a type that the catalog does not know, and only if the extra
    ``hfinspect[transformers]`` is installed, from the class that transformers builds on the meta
    device (``Prediction.family`` is then None and ``because`` says so). Raises ConfigError, which
    names the key, UnknownArchitectureError, which names the nearest known types, UsageError for
    unknown overrides, and for a target AccessErrors; NothingToInspectError where there is no config
    or it is a model of several parts.
    """
    access = call.access()
    config = config_given(call.config)
    if config is not None and not call.overrides:
        from .inspecting.overriding import check_spelling

        check_spelling(config)
        return predict_config(config)
    from .inspecting.config_parts import declared_parts
    from .inspecting.pipelines import several_models

    parts, _ = declared_parts(call.config, access, call)
    if len(parts) > 1:
        raise several_models(str(call.config), [(part.name, part.declared) for part in parts])
    prediction = parts[0].prediction
    if isinstance(prediction, HfinspectError):
        raise prediction
    return prediction


@called_with(PartsCall)
def predict_parts(call: PartsCall) -> tuple[tuple[DeclaredPart, ...], Origin]:
    """Predictions from config.json alone: of a pipeline one for every component, of any other
    model one, without a name.

    ``file`` names a folder, or a weight file whose config is meant. A component whose config
    predicts nothing has the error in place of a prediction. Raises NothingToInspectError where
    there is no config, and for a single model ConfigError and UnknownArchitectureError.
    """
    from .inspecting.config_parts import declared_parts

    return declared_parts(call.target, call.access(), call)
