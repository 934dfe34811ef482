"""HI5xx: nothing is broken, but it could be better."""

from collections.abc import Iterator

from ...analysis.vocabulary_rows import vocab_size
from ...checkpoints.filenames import FileKind
from ...checkpoints.repo_layout import config_name
from ...core.components import Role
from ...core.text import byte_size
from ...layers.sentence_modules import SIZED_BY_TOKENIZER, own_class
from ..facts.compared import declared_dtype
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule

_LICENCES = ("license", "licence", "copying", "notice", "use_policy", "usage_policy")
_TOKENIZERS = tuple(
    "tokenizer.json tokenizer.model vocab.json vocab.txt tokenizer_config.json "
    "spiece.model sentencepiece.bpe.model tekken.json spm.model merges.txt source.spm".split()
)


def _has_model(facts: TargetFacts) -> bool:
    return not facts.single and any(
        copy.kind in (FileKind.MODEL, FileKind.WEIGHTS) for _, copy in facts.copies()
    )


def _names(facts: TargetFacts) -> set[str]:
    return {path.rpartition("/")[2].lower() for path in facts.files}


@rule("HI501", "no-safetensors", "warning")
def no_safetensors(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The weights are there as pickles only.

    Why: loading a pickle can run code; safetensors cannot, and loads faster.

    Fix: save the model again with safetensors (`save_pretrained` does).
    """
    for folder in facts.folders:
        copies = [
            c for c in folder.copies if c.kind in (FileKind.MODEL, FileKind.WEIGHTS) and c.files
        ]
        if copies and all(copy.format == "torch" for copy in copies):
            yield RuleFinding("only PyTorch pickles", copies[0].label)


@rule("HI502", "no-licence", "note")
def no_licence(facts: TargetFacts) -> Iterator[RuleFinding]:
    """There is neither a licence file nor a licence in the model card.

    Why: without one nobody may use the model.

    Fix: add a LICENSE file, and `license:` to the card's header.
    """
    if not _has_model(facts) or facts.card.licence:
        return
    if not any(name.startswith(_LICENCES) for name in _names(facts)):
        yield RuleFinding("no licence")


@rule("HI503", "no-model-card", "note")
def no_model_card(facts: TargetFacts) -> Iterator[RuleFinding]:
    """There is no README.md.

    Why: nobody knows what the model is for and what it was trained on.

    Fix: write a model card.
    """
    if _has_model(facts) and "readme.md" not in _names(facts):
        yield RuleFinding("no README.md")


@rule("HI504", "float32", "warning")
def float32(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The weights are float32 although the config says 16 bits.

    Why: the files are twice as large as what is loaded.

    Fix: save the model in the config's dtype, or correct the config.
    """
    for folder in facts.folders:
        inspection = folder.judged.inspection
        declared = declared_dtype(folder.config)
        if inspection is None or declared not in ("F16", "BF16") or folder.main is None:
            continue
        if "quantization_config" in (folder.config or {}):
            continue
        sizes = {True: 0, False: 0}
        for info in inspection.tensors:
            if info.role is Role.PARAMETER and (nbytes := info.own_nbytes) is not None:
                sizes[info.dtype == "F32"] += nbytes
        if sizes[True] > sizes[False]:
            text = f"{byte_size(sizes[True])} of float32"
            expected = f"{declared} by {folder.config_path}, half of it"
            yield RuleFinding(text, folder.main.label, None, expected)


@rule("HI505", "no-tokenizer", "note")
def no_tokenizer(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A language model comes without a tokenizer.

    Why: the weights cannot be used without the one they were trained with.

    Fix: put the tokenizer's files next to the weights.
    """
    root = facts.root
    if root is None or root.main is None or facts.single or root.main.format == "gguf":
        return
    config = root.config or {}
    parts = config.keys() & {"vision_config", "audio_config"}
    if vocab_size(config) is None or root.adapter is not None or parts:
        return
    if not _names(facts) & set(_TOKENIZERS):
        yield RuleFinding("no tokenizer")


@rule("HI506", "no-config", "warning")
def no_config(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Weights lie in a directory without a config.json.

    Why: loaders do not know which model they are of.

    Fix: put the config next to the weights.
    """
    if facts.single:
        return
    for folder in facts.folders:
        configs = (config_name(folder.declared), "adapter_config.json", "params.json")
        if own_class(folder.declared) in SIZED_BY_TOKENIZER:
            continue  # a table of embeddings has none
        if folder.main is None or folder.main.kind is not FileKind.MODEL:
            continue
        if folder.main.format == "gguf":
            continue
        if not any(folder.path + name in facts.files for name in configs):
            yield RuleFinding("no config.json", folder.main.label)


@rule("HI507", "no-format-metadata", "warning")
def no_format_metadata(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A safetensors file does not say `format: pt` in its metadata.

    Why: many versions of transformers refuse such a file; what it was saved from is a guess.

    Fix: pass metadata={"format": "pt"} to save_file.
    """
    for _, copy in facts.copies():
        if copy.format != "safetensors" or copy.kind not in (FileKind.MODEL, FileKind.ADAPTER):
            continue
        for file in copy.files:
            if file.shard is not None and file.sound and "format" not in file.shard.metadata:
                yield RuleFinding("its metadata has no format", file.path, None, "format: pt")
