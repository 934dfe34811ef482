"""What is tied: what the files leave out of it, what the head counts apart, what is there twice."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..analysis.labels.place import Labelled
from ..core.checkpoint import Finding
from ..core.components import Component
from ..trees.prediction import Prediction, is_saved

#: Types and classes whose head is its own in transformers, whatever ``tie_word_embeddings`` says
#: (it is true by default): classes without ``_tied_weights_keys`` for the head. Asked where
#: nothing is predicted: the catalog lacks the type, or the config is malformed.
_OWN_HEAD = frozenset(
    """pop2piano AudioFlamingo3ForConditionalGeneration BailingHybridForCausalLM
    BigBirdPegasusForCausalLM ClvpForCausalLM Cosmos3EdgeForConditionalGeneration
    DiaForConditionalGeneration EsmcForMaskedLM GlmImageForConditionalGeneration
    HiggsAudioV2ForConditionalGeneration Inkling2ForCausalLM Inkling2ForConditionalGeneration
    InklingForCausalLM InklingForConditionalGeneration KimiLinearForCausalLM LukeForMaskedLM
    MllamaForCausalLM MllamaForConditionalGeneration Molmo2ForConditionalGeneration
    MoshiForCausalLM MuseSparkForConditionalGeneration MusicFlamingoForConditionalGeneration
    NemotronHForCausalLM PPFormulaNetForConditionalGeneration ParakeetForRNNT
    Qwen2AudioForConditionalGeneration ReformerForMaskedLM ReformerModelWithLMHead
    RemBertForCausalLM RemBertForMaskedLM VibeVoiceAsrForConditionalGeneration
    VoxtralForConditionalGeneration xLSTMForCausalLM""".split()
)


def vocabulary(config: Mapping[str, Any] | None) -> frozenset[int]:
    """How many tokens a config that ties its embeddings and its sections say that there are."""
    if config is None or not _OWN_HEAD.isdisjoint(_named_in(config)):
        return frozenset()
    sections = [config, *(v for v in config.values() if isinstance(v, Mapping))]
    sizes = (section.get("vocab_size") for section in sections)
    return frozenset(size for size in sizes if type(size) is int)


def _named_in(config: Mapping[str, Any]) -> Iterator[str]:
    """The model type and the classes of a config, as far as they are text."""
    classes = config.get("architectures")
    for name in (config.get("model_type"), *(classes if isinstance(classes, list) else ())):
        if isinstance(name, str):
            yield name


def with_unstored_ties(labelled: Labelled, prediction: Prediction | None) -> Labelled:
    """Ties whose left-out end is, as usual, in no file."""
    if prediction is None or not prediction.tied:
        return labelled
    stored_as = {spec.name: name for name, spec in labelled.specs.items()}
    tied = dict(labelled.tied)
    for name, keeper in prediction.tied.items():
        if name not in stored_as and keeper in stored_as:
            tied.setdefault(name, stored_as[keeper])
    return labelled._replace(tied=tied)


def head_apart(labelled: Labelled, prediction: Prediction | None) -> int:
    """Parameters of the head where it is tied to something that is no head."""
    if not labelled.tied and (prediction is None or not prediction.tied):
        return 0
    stored = {info.name: info for info in labelled.tensors}
    count = 0
    counted = set()
    labelled_specs = labelled.specs
    for name, keeper_name in labelled.tied.items():
        info = stored.get(name)
        keeper = stored.get(keeper_name)
        if info is None and keeper is not None and prediction is None:
            count += keeper.parameters or 0  # a head that GGUF leaves out
        if info is None or keeper is None:
            continue
        if info.component is Component.HEAD and keeper.component is not Component.HEAD:
            count += info.parameters or 0
            spec = labelled_specs.get(name)
            counted.add(spec.name if spec else name)
    if prediction is None:
        return count
    in_files = {spec.name for spec in labelled_specs.values()}
    find = prediction.specs.find
    for name in prediction.tied:
        spec = find(name)
        if (
            spec is None
            or name in counted
            or name in in_files
            or spec.component is not Component.HEAD
        ):
            continue
        keeper_spec = find(spec.tied_to or "")
        if keeper_spec is None or not is_saved(keeper_spec):
            continue
        if keeper_spec.component is not Component.HEAD:
            count += spec.parameters
    return count


def tie_findings(labelled: Labelled) -> list[Finding]:
    if not labelled.tied:
        return []
    stored = {info.name: info for info in labelled.tensors}
    findings = []
    for name, keeper in labelled.tied.items():
        if name not in stored:
            continue
        rule = "tied-stored-twice"
        text = f"{name} is stored although it is tied to {keeper}"
        if stored[name].view_of is not None:
            rule = "tied-view"
            text = f"{name} is a view of {stored[name].view_of}"
        findings.append(Finding(rule, f"{text}; it is counted once", tensor=name, severity="note"))
    return findings
