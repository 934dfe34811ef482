"""HI5xx: nothing is broken, but it could be better."""

from __future__ import annotations

from collections.abc import Iterator

from ...checkpoints.filenames import Kind
from ...checkpoints.repo_layout import config_name
from ...core.components import Role
from ...core.text import byte_size
from ...layers.sentence_modules import SIZED_BY_TOKENIZER, own_class
from ..facts.compared import said_dtype, vocab_size
from ..facts.target import Facts
from ..registry import Found, rule

_LICENCES = ("license", "licence", "copying", "notice", "use_policy", "usage_policy")
_TOKENIZERS = (
    "tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tokenizer_config.json",
    "spiece.model", "sentencepiece.bpe.model", "tekken.json", "spm.model", "merges.txt",
    "source.spm",
)  # fmt: skip


def _has_model(facts: Facts) -> bool:
    return not facts.single and any(
        copy.kind in (Kind.MODEL, Kind.WEIGHTS) for _, copy in facts.copies()
    )


def _names(facts: Facts) -> set[str]:
    return {path.rpartition("/")[2].lower() for path in facts.files}


@rule("HI501", "no-safetensors", "warning")
def no_safetensors(facts: Facts) -> Iterator[Found]:
    """The weights are there as pickles only.

    Why: loading a pickle can run code; safetensors cannot, and loads faster.

    Fix: save the model again with safetensors (`save_pretrained` does).
    """
    for folder in facts.folders:
        copies = [c for c in folder.copies if c.kind in (Kind.MODEL, Kind.WEIGHTS) and c.files]
        if copies and all(copy.format == "torch" for copy in copies):
            yield Found("only PyTorch pickles", copies[0].label)


@rule("HI502", "no-licence", "note")
def no_licence(facts: Facts) -> Iterator[Found]:
    """There is neither a licence file nor a licence in the model card.

    Why: without one nobody may use the model.

    Fix: add a LICENSE file, and `license:` to the card's header.
    """
    if not _has_model(facts) or facts.card.licence:
        return
    if not any(name.startswith(_LICENCES) for name in _names(facts)):
        yield Found("no licence")


@rule("HI503", "no-model-card", "note")
def no_model_card(facts: Facts) -> Iterator[Found]:
    """There is no README.md.

    Why: nobody knows what the model is for and what it was trained on.

    Fix: write a model card.
    """
    if _has_model(facts) and "readme.md" not in _names(facts):
        yield Found("no README.md")


@rule("HI504", "float32", "warning")
def float32(facts: Facts) -> Iterator[Found]:
    """The weights are float32 although the config says 16 bits.

    Why: the files are twice as large as what is loaded.

    Fix: save the model in the config's dtype, or correct the config.
    """
    for folder in facts.folders:
        found, said = folder.judged.inspection, said_dtype(folder.config)
        if found is None or said not in ("F16", "BF16") or folder.main is None:
            continue
        if "quantization_config" in (folder.config or {}):
            continue
        sizes = {True: 0, False: 0}
        for info in found.tensors:
            if info.role is Role.PARAMETER and (own := info.own_nbytes) is not None:
                sizes[info.dtype == "F32"] += own
        if sizes[True] > sizes[False]:
            text = f"{byte_size(sizes[True])} of float32"
            expected = f"{said} by {folder.config_path}, half of it"
            yield Found(text, folder.main.label, None, expected)


@rule("HI505", "no-tokenizer", "note")
def no_tokenizer(facts: Facts) -> Iterator[Found]:
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
        yield Found("no tokenizer")


@rule("HI506", "no-config", "warning")
def no_config(facts: Facts) -> Iterator[Found]:
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
        if folder.main is None or folder.main.kind is not Kind.MODEL:
            continue
        if folder.main.format == "gguf":
            continue
        if not any(folder.path + name in facts.files for name in configs):
            yield Found("no config.json", folder.main.label)


@rule("HI507", "no-format-metadata", "warning")
def no_format_metadata(facts: Facts) -> Iterator[Found]:
    """A safetensors file does not say `format: pt` in its metadata.

    Why: many versions of transformers refuse such a file; what it was saved from is a guess.

    Fix: pass metadata={"format": "pt"} to save_file.
    """
    for _, copy in facts.copies():
        if copy.format != "safetensors" or copy.kind not in (Kind.MODEL, Kind.ADAPTER):
            continue
        for file in copy.files:
            if file.shard is not None and file.sound and "format" not in file.shard.metadata:
                yield Found("its metadata has no format", file.path, None, "format: pt")
