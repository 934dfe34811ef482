"""Which pipelines of diffusers are whole: every component with weights is a class of the catalog.

pip install 'hfinspect[oracle]'
python -m tests.oracle pipelines           # how many, and what the others lack
"""

from __future__ import annotations

import inspect
import sys
import typing
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from hfinspect.trees.catalog import index

#: What a pipeline's constructor names and no folder of it holds: bases of many classes, of which
#: the published pipelines take one that the catalog has.
BASES = {
    "Gemma2PreTrainedModel": "Gemma2Model",
    "GemmaPreTrainedModel": "GemmaModel",
    "PreTrainedModel": "LlamaForCausalLM",
}


class Pipeline(NamedTuple):
    """A pipeline, and per component without a known class the classes that it may have."""

    name: str
    lacking: tuple[str, ...]


def pipelines() -> Iterator[Pipeline]:
    """All pipelines of the installed diffusers that have components with weights."""
    import diffusers

    for name in sorted(dir(diffusers)):
        cls = _class(diffusers, name)
        if cls is None or not issubclass(cls, diffusers.DiffusionPipeline):
            continue
        optional = set(getattr(cls, "_optional_components", ()))
        components = [(key, _models(kind)) for key, kind in _hints(cls).items()]
        components = [(key, models) for key, models in components if models]
        if components and cls is not diffusers.DiffusionPipeline:
            lacking = [
                "|".join(dict.fromkeys(models))
                for key, models in components
                if key not in optional and not any(map(_known, models))
            ]
            yield Pipeline(name, tuple(dict.fromkeys(lacking)))


def _class(module: Any, name: str) -> Any:
    try:
        cls = getattr(module, name)
    except Exception:  # of a library that is not installed
        return None
    return cls if inspect.isclass(cls) else None


def _hints(cls: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls.__init__)
    except Exception:  # a name that exists for type checkers alone
        parameters = inspect.signature(cls.__init__).parameters
        return {key: parameter.annotation for key, parameter in parameters.items()}


def _models(annotation: Any) -> list[str]:
    """The classes with weights that an annotation names."""
    import diffusers
    import transformers

    if inspect.isclass(annotation):
        bases = (diffusers.ModelMixin, transformers.PreTrainedModel)
        is_model = issubclass(annotation, bases) and annotation is not diffusers.ModelMixin
        return [annotation.__name__] if is_model else []
    return [name for part in typing.get_args(annotation) for name in _models(part)]


def _known(name: str) -> bool:
    return BASES.get(name, name) in index().classes


def main() -> int:
    warnings.simplefilter("ignore")
    every = list(pipelines())
    whole = [pipeline for pipeline in every if not pipeline.lacking]
    print(f"{len(whole)} of {len(every)} pipelines are whole")
    missing: dict[str, list[str]] = {}
    for pipeline in every:
        for kind in pipeline.lacking:
            missing.setdefault(kind, []).append(pipeline.name)
    for kind, names in sorted(missing.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"  {kind}: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
