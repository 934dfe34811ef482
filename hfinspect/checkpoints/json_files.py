"""config.json and its companions as mappings."""

import json
import math

from ..core.nesting import MAX_CONFIG_DEPTH, NestingError, loads
from ..errors import ConfigError

#: Real ones stay below a few hundred kilobytes, even with a quantisation entry for every layer.
MAX_CONFIG_BYTES = 16 * 1024 * 1024

#: Where a diffusers pipeline names its parts.
PIPELINE_FILE = "model_index.json"

#: Files next to config.json that say how weights are packed; most repeat what it says.
QUANTIZATION_FILES = ("hf_quant_config.json", "quantize_config.json")

#: How transformers 5 spells floats that JSON cannot (configuration_utils.py).
_FLOATS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


def parse_json(path: str, data: bytes) -> object:
    """Any JSON value of a repo's small files (some are lists), read as Python reads it: NaN and
    Infinity are accepted, the last of equal keys counts, ``{"__float__": "Infinity"}`` is that
    float. Raises ConfigError."""
    try:
        return loads(data.decode(), MAX_CONFIG_DEPTH, object_hook=_decoded_float)
    except UnicodeDecodeError as error:
        raise ConfigError(path, f"is not UTF-8 at byte {error.start:,}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        hint = _PAGE_HINT if data.lstrip()[:1] == b"<" else None
        problem = "is empty" if not data.strip() else f"is not JSON: {error.msg}"
        raise ConfigError(path, problem, where=where, hint=hint) from None
    except NestingError as error:
        raise ConfigError(path, error.found, expected=error.expected) from None
    except ValueError:
        raise ConfigError(path, "holds a number of too many digits") from None


_PAGE_HINT = "it looks like an HTML page; download it again"


def _decoded_float(item: dict[str, object]) -> object:
    if len(item) == 1 and isinstance(word := item.get("__float__"), str):
        return _FLOATS.get(word, item)
    return item
