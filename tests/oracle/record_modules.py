"""Record what the real modules of transformers say: which tensors are parameters, what each is for.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle record modules             # every class of every type: some minutes
    python -m tests.oracle record modules TYPE...      # of these types, in place of what was known
    python -m tests.oracle record modules --rates     # how names alone do, from what is recorded

Each class that transformers has for a type is built on the meta device, with the type's default
config and few layers (or the small config of a recorded case where that one fails), and its tensors
are taken under the names that a save writes.  A class that can't be built at all is named and left
out; a run needs no torchvision, which some backbones do.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from . import real_modules
from .module_kinds import kind_of
from .real_modules import RealClass, Row, Rows

#: Seconds for one build.
PATIENCE = 40
_DTYPES = {
    "float32": "F32",
    "bfloat16": "BF16",
    "float16": "F16",
    "float64": "F64",
    "complex64": "C64",
    "int64": "I64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def rows_of(cls: Any, config: Any) -> Rows:
    """The tensors of a fresh model as a save names them."""
    import torch
    from transformers.core_model_loading import revert_weight_conversion

    with torch.device("meta"):
        model = cls._from_config(config)
    modules = dict(model.named_modules())
    state = dict(model.state_dict())
    trained = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    own = {id(tensor): name for name, tensor in state.items()}
    buffers = {name.rpartition(".")[2] for name in state.keys() - trained}
    buffers -= {name.rpartition(".")[2] for name in trained}
    for name in (
        *(getattr(model, "all_tied_weights_keys", None) or ()),
        *(getattr(model, "_keys_to_ignore_on_save", None) or ()),
    ):
        state.pop(name, None)
    rows: Rows = {}
    firsts: dict[str, str] = {}
    for name, tensor in revert_weight_conversion(model, state).items():
        source = own.get(id(tensor))
        kind = None
        # What a conversion has split or joined is no module's tensor: parameters, as a rule.
        is_parameter = name.rpartition(".")[2] not in buffers
        if source is not None:
            is_parameter = source in trained
        around = _around(modules, source or name)
        # Experts that a save writes one by one are not modules of their own.
        is_expert = type(around[-1]).__name__.endswith("Experts")
        if is_parameter and (source is not None or is_expert):
            kind = kind_of(source or name, around, name)
        template = ".".join("N" if part.isdecimal() else part for part in name.split("."))
        first = firsts.setdefault(template, name)
        shape = tuple(tensor.shape)
        dtype = str(tensor.dtype).removeprefix("torch.")
        old = rows.get(first, Row(shape, _DTYPES[dtype], is_parameter, kind, 0, 0))
        rows[first] = old._replace(tensors=old.tensors + 1, elements=old.elements + prod(shape))
    return rows


def _around(modules: dict[str, Any], name: str) -> list[Any]:
    """The modules that a tensor stands in, the outermost first."""
    parts = name.split(".")
    paths = (".".join(parts[:depth]) for depth in range(len(parts)))
    return [modules[path] for path in paths if path in modules]


def built(model_type: str) -> Iterator[RealClass]:
    """All classes of a type; a line on stderr for each that can't be built."""
    from transformers import CONFIG_MAPPING

    from . import saved

    for name in saved.classes_of(model_type):
        cls = saved.model_class(name, model_type)
        if cls.config_class is not CONFIG_MAPPING[model_type]:
            continue
        failure = ""
        for values in _configs(model_type):
            try:
                with _patience():
                    rows = rows_of(cls, CONFIG_MAPPING[model_type](**values))
            except Exception as error:
                failure = failure or f"{type(error).__name__}: {str(error).strip()[:100]}"
                continue
            yield RealClass(model_type, name, rows)
            break
        else:
            print(f"{model_type} {name}: {failure}", file=sys.stderr)


def _configs(model_type: str) -> Iterator[dict[str, Any]]:
    """Few layers of the default, the default itself, a backbone that needs no other library, small
    recorded ones."""
    from transformers import CONFIG_MAPPING

    from . import fuzz, mutating

    try:
        yield mutating.shrunk(CONFIG_MAPPING[model_type])
    except Exception as error:
        print(f"{model_type}: {type(error).__name__} of its default config", file=sys.stderr)
    yield {}
    stages = ["stage1", "stage2", "stage3", "stage4"]
    backbone = {"model_type": "resnet", "depths": [1, 1, 1, 1], "out_features": stages}
    for out in (stages[-1:], stages[1:]):
        yield {"backbone_config": {**backbone, "out_features": out}, "use_timm_backbone": False}
    yield {"prediction_length": 2}
    yield from fuzz.case_configs().get(model_type, ())


@contextmanager
def _patience() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError("took too long to build")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)


def rates() -> None:
    """How often names alone say something else, and where."""
    from tests.analysis.test_real_modules import judged

    whole: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for one in map(judged, real_modules.real_classes()):
        whole.update(one.whole)
        wrong.update(one.wrong)
        for line in one.lines:
            print(line)
    for group in sorted(whole):
        print(f"{group}: {wrong[group]} of {whole[group]}, {wrong[group] / whole[group]:.2%}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--rates", action="store_true", help="judge what is recorded, need no torch"
    )
    parser.add_argument("types", nargs="*", help="model types; all if none is given")
    options = parser.parse_args()
    if options.rates:
        rates()
        return 0
    warnings.simplefilter("ignore")
    import torch
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    torch.set_num_threads(1)
    types = options.types or sorted(CONFIG_MAPPING_NAMES)
    kept = [
        one for one in real_modules.real_classes() if options.types and one.model_type not in types
    ]
    fresh = [one for name in types if name in CONFIG_MAPPING for one in built(name)]
    real_modules.write([*kept, *fresh])
    return 0


if __name__ == "__main__":
    sys.exit(main())
