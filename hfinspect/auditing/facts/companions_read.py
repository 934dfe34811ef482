"""The small files next to the weights that an audit reads, and the tokenizer's ids."""

from collections.abc import Iterable, Mapping

from ...checkpoints.one_file import Read
from ...checkpoints.token_table import ADDING, added_by

#: Small files that say how weights are to be used; each costs a request on the Hub.
CONFIGS = tuple(
    "config.json generation_config.json adapter_config.json tokenizer_config.json "
    "special_tokens_map.json added_tokens.json hf_quant_config.json quantize_config.json "
    "quantization_config.json quant_config.json preprocessor_config.json "
    "processor_config.json chat_template.json model_index.json modules.json "
    "scheduler_config.json router_config.json cnn_config.json lstm_config.json "
    "wordembedding_config.json video_preprocessor_config.json image_processor_config.json "
    "modular_config.json modular_model_index.json sentence_bert_config.json "
    "config_sentence_transformers.json params.json".split()
)

#: Other JSON files are looked at only on disk, where it costs nothing, and up to so many bytes in
#: all, the smallest first: a directory of results may hold gigabytes that are none of the model's.
MAX_OTHER_JSON = 32 * 1024 * 1024

#: And so many of them: a directory of results may hold thousands.
MAX_OTHER_FILES = 1_000

#: What an audit of a repo downloads of one tokenizer; with ``deep`` all of it.
MAX_REMOTE_TOKENIZER_BYTES = 20 * 1024 * 1024


def added_ids(json_files: Mapping[str, Read[object]]) -> Iterable[tuple[int, str]]:
    """(id, file) of tokens that the other tokenizer files add."""
    for name in ADDING:
        read = json_files.get(name)
        if read is not None and read.mapping is not None:
            yield from ((one.id, read.path) for one in added_by(read.path, read.mapping))
