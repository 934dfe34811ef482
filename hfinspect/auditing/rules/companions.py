"""HI31x to HI32x: the tokenizer and generation_config against the config, and odd layers."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ...analysis.vocabulary_rows import embedding_rows, vocab_size
from ...core.text import byte_size
from ..facts.companions_read import added_ids
from ..facts.problems import problems
from ..facts.target import Folder, TargetFacts
from ..facts.tokenizers_read import tokenizers_of
from ..registry import RuleFinding, rule

#: Fewer layers than this have no rule to be an exception from.
_ENOUGH_LAYERS = 4


def _rows(folder: Folder) -> tuple[int, str] | None:
    """How many ids the model has room for, and who says so."""
    return embedding_rows(folder.judged.inspection, folder.config, folder.config_path)


@rule("HI314", "tokenizer-beyond-vocabulary", "error")
def tokenizer_beyond_vocabulary(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The tokenizer has an id that the embedding has no row for.

    Why: the first text with that token ends in an index error, on a GPU in a crash.

    Fix: resize the embedding (`resize_token_embeddings`), or remove the added tokens.
    """
    for folder, tokens in zip(facts.folders, tokenizers_of(facts), strict=True):
        gguf = tokens.vocabulary
        rows = _rows(folder)
        if rows is None and gguf.rows is not None:
            rows = gguf.rows, gguf.rows_by
        if rows is None:
            continue
        ids = [(folder.tokenizer.highest, folder.tokenizer.file)] if folder.tokenizer else []
        if folder.tokenizer is None and gguf.file is not None and gguf.highest is not None:
            ids.append((gguf.highest, gguf.file))
        ids += list(added_ids(folder.json))
        ids += [(one.given, one.file) for one in tokens.added_tokens if one.given and one.file]
        worst: dict[str, int] = {}
        for number, file in ids:
            worst[file] = max(number, worst.get(file, -1))
        for file, number in worst.items():
            if number >= rows[0]:
                text = f"its highest id is {number:,}"
                yield RuleFinding(text, file, None, f"below {rows[0]:,}, the {rows[1]}")


@rule("HI316", "padded-vocabulary", "note")
def padded_vocabulary(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The embedding has more rows than the tokenizer has ids.

    Why: usually padding to a round number; the rows beyond are never trained, and a sampler that
    draws one of them produces a token that cannot be decoded.

    Fix: none needed if it is padding.
    """
    for folder in facts.folders:
        rows = _rows(folder)
        if rows is None or folder.tokenizer is None or folder.tokenizer.coverage != "all":
            continue
        highest = max([folder.tokenizer.highest, *(n for n, _ in added_ids(folder.json))])
        if 0 <= highest < rows[0] - 1:
            text = f"{rows[0] - 1 - highest:,} rows beyond the tokenizer's highest id, {highest:,}"
            yield RuleFinding(text, folder.config_path, None, f"{highest + 1:,} rows")


@rule("HI321", "token-id", "warning")
def token_id(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A special token id in config.json or generation_config.json lies outside the vocabulary.

    Why: padding or ending with it indexes beyond the embedding; generation may never stop.

    Fix: correct the id, or leave it out.
    """
    refused = {(folder.path, problem.example) for folder, problem in problems(facts, "odd_values")}
    for folder in facts.folders:
        size = vocab_size(folder.config)
        if size is None:
            continue
        for name in ("config.json", "generation_config.json"):
            for key, value in _token_ids(folder.mapping(name) or {}):
                if name == "config.json" and (folder.path, key) in refused:
                    continue  # HI349 says it
                if not 0 <= value < size:
                    text = f"{key} is {value}"
                    yield RuleFinding(text, folder.path + name, None, f"0 to {size - 1:,}")
    for tokens in tokenizers_of(facts):
        for finding in tokens.findings:
            if finding.rule == "token-id":
                yield RuleFinding(finding.text, finding.file)


def _token_ids(config: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    for key, value in config.items():
        if key.endswith(("_token_id", "_token_ids")) and not key.startswith(_OTHER_VOCABULARIES):
            for item in value if isinstance(value, list) else [value]:
                if type(item) is int:
                    yield key, item


#: Ids of pictures and sounds count in vocabularies of their own in some models.
_OTHER_VOCABULARIES = ("image_", "video_", "audio_", "vision_", "boi_", "eoi_", "codec_", "tts_")


@rule("HI322", "odd-layer", "warning")
def odd_layer(facts: TargetFacts) -> Iterator[RuleFinding]:
    """One layer's tensor takes another number of bytes than the same tensor of all other layers.

    Why: that layer was saved in another dtype or comes from another model.

    Fix: compare the layer with its source, and save it like the others.
    """
    for folder in facts.folders:
        inspection = folder.judged.inspection
        if inspection is None:
            continue
        prediction = folder.judged.prediction
        specs = {s.name: s.shape for s in prediction.specs} if prediction else {}
        groups: dict[tuple[str, str], list[tuple[int, str, tuple[int, ...], str | None, int]]] = {}
        for info in inspection.tensors:
            if info.layer is None or info.stack is None or info.nbytes is None:
                continue
            _, _, suffix = info.name.partition(f"{info.stack}.{info.layer}.")
            if suffix:
                row = (info.nbytes, info.name, info.shape, info.dtype, info.layer)
                groups.setdefault((info.stack, suffix), []).append(row)
        for (stack, _), rows in groups.items():
            if len(rows) < _ENOUGH_LAYERS:
                continue
            sizes = Counter(row[0] for row in rows)
            if len(sizes) != 2:
                continue
            usual, odd = (size for size, _ in sizes.most_common())
            if sizes[odd] != 1:
                continue
            row = next(row for row in rows if row[0] == odd)
            alike = next(row for row in rows if row[0] == usual)
            if specs.get(row[1]) == row[2] and row[3] == alike[3]:
                continue  # the config makes this layer different
            text = f"takes {byte_size(odd)} ({row[3]}) in layer {row[4]} of {stack}"
            expected = f"{byte_size(usual)} ({alike[3]}), as in the {len(rows) - 1} others"
            file = folder.main.file_of.get(row[1]) if folder.main is not None else None
            yield RuleFinding(text, file, row[1], expected)
