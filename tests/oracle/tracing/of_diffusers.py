"""diffusers behind the recorder's seam: a kind is a class, its config keys are the arguments that
its constructor registers (``register_to_config``), its names those of ``state_dict``."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from .changing import IDLE, alternatives
from .library import Given
from .observing import Saved
from .symbols import Int

#: Counts of layers, which a small build has two of.
_DEPTH = re.compile(r"(^|_)(n|num|depth)_.*layers?$|^(depth|layers|n_layers?|num_layers?)$")
_LEAST = 2
#: Class -> configs as they were released, less what is default: of conversion scripts and repos.
_RELEASED = Path(__file__).resolve().parents[3] / "fixtures" / "oracle" / "released.json"


#: Classes that model_index.json may name and the package does not export: their modules.
_OF_PIPELINES = {
    "LTX2DurationHead": "ltx2.duration_head",
    "LTX2LatentUpsamplerModel": "ltx2.latent_upsampler",
    "LTX2TextConnectors": "ltx2.connectors",
    "LTX2Vocoder": "ltx2.vocoder",
    "LTX2VocoderWithBWE": "ltx2.vocoder",
    "LTXLatentUpsamplerModel": "ltx.modeling_latent_upsampler",
    "LearnedClassifierFreeSamplingEmbeddings": "deprecated.vq_diffusion.pipeline_vq_diffusion",
    "PaellaVQModel": "deprecated.wuerstchen.modeling_paella_vq_model",
    "ShapERenderer": "shap_e.renderer",
    "SpectrogramContEncoder": "deprecated.spectrogram_diffusion.continuous_encoder",
    "SpectrogramNotesEncoder": "deprecated.spectrogram_diffusion.notes_encoder",
    "StableUnCLIPImageNormalizer": "stable_diffusion.stable_unclip_image_normalizer",
    "UNetFlatConditionModel": "deprecated.versatile_diffusion.modeling_text_unet",
    "UnCLIPTextProjModel": "deprecated.unclip.text_proj",
    "WuerstchenDiffNeXt": "deprecated.wuerstchen.modeling_wuerstchen_diffnext",
    "WuerstchenPrior": "deprecated.wuerstchen.modeling_wuerstchen_prior",
}


@cache
def _released() -> dict[str, list[dict[str, Any]]]:
    released: dict[str, list[dict[str, Any]]] = json.loads(_RELEASED.read_text())["diffusers"]
    return released


class Diffusers:
    """diffusers: ``hfinspect`` finds its classes by a config's ``_class_name``."""

    name = "diffusers"
    packages: tuple[str, ...] = ("diffusers.models.", "diffusers.pipelines.")

    def __init__(self) -> None:
        import diffusers
        import torch

        diffusers.logging.set_verbosity(50)
        torch.set_num_threads(1)
        self.version = diffusers.__version__

    def named(self, name: str) -> Any:
        """A class by its name."""
        import diffusers

        if name in _OF_PIPELINES:
            module = importlib.import_module(f"diffusers.pipelines.{_OF_PIPELINES[name]}")
            return getattr(module, name)
        return getattr(diffusers, name)

    def types(self) -> list[str]:
        import diffusers

        names = [*_OF_PIPELINES]
        for name in dir(diffusers):
            try:
                cls = getattr(diffusers, name)
            except Exception:  # a class of another library that is not installed
                continue
            if inspect.isclass(cls) and issubclass(cls, diffusers.ModelMixin):
                names.append(name)
        return [name for name in names if name != "ModelMixin" and self._arguments(name)]

    def _arguments(self, name: str) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.named(name).__init__).parameters
        wanted = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {k: p for k, p in parameters.items() if k != "self" and p.kind in wanted}

    def model_type(self, kind: str) -> str | None:
        return None

    def classes(self, kind: str) -> list[str]:
        return [kind]

    def released(self, kind: str, class_name: str) -> list[dict[str, Any]]:
        return _released().get(class_name, [])

    def starts(
        self, kind: str, class_name: str, released: Given | None = None
    ) -> Iterator[dict[str, Any]]:
        hidden = sorted(k for k in self._arguments(class_name) if IDLE.search(k))
        if set(hidden) - {"dtype", "use_cache", "model_type"}:  # of which the class takes one
            raise ValueError(f"has arguments that are never varied: {', '.join(hidden)}")
        released = dict(released or {})
        whole = self.full(kind, class_name, released)
        depth = {
            k: _LEAST
            for k, v in whole.items()
            if type(v) is int and v > _LEAST and _DEPTH.search(k)
        }
        if depth:
            yield {**released, **depth}
        yield dict(released)

    def full(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        defaults = {
            k: None if p.default is p.empty else p.default
            for k, p in self._arguments(class_name).items()
        }
        values: dict[str, Any] = json.loads(json.dumps({**defaults, **given}))
        return values

    def build(self, kind: str, class_name: str, given: Given) -> Saved:
        import torch

        with torch.device("meta"), _no_init():
            model = self.named(class_name)(**given)
        state = dict(model.state_dict(keep_vars=True))
        if len({id(tensor) for tensor in state.values()}) < len(state):
            raise ValueError("shares tensors")
        trained = frozenset(n for n, _ in model.named_parameters()) & state.keys()
        own = {name: name for name in state}
        return Saved(
            {n: (tuple(t.shape), str(t.dtype).removeprefix("torch.")) for n, t in state.items()},
            own,
            {},
            trained,
            {n: type(m).__name__ for n, m in model.named_modules()},
        )

    def _loaded(self, class_name: str, given: Given) -> Any:
        """A model as its folder is loaded: from the config."""
        import torch

        with torch.device("meta"), _no_init():
            return self.named(class_name).from_config({"_class_name": class_name, **given})

    def as_saved(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        values = json.loads(self._loaded(class_name, given).to_json_string())
        return {k: v for k, v in values.items() if not k.startswith("_")}

    def saved_names(self, kind: str, class_name: str, given: Given) -> dict[str, tuple[int, ...]]:
        state = self._loaded(class_name, given).state_dict()
        return {name: tuple(tensor.shape) for name, tensor in state.items()}

    loaded_names = saved_names

    def mutated(self, kind: str, class_name: str, base: Given, rng: Random) -> dict[str, Any]:
        """One to four arguments changed; in full, as saved, or only what differs."""
        whole = self.full(kind, class_name, base)
        kinds = self.optional(kind, class_name)
        changes: dict[str, Any] = {}
        for key in rng.sample(sorted(whole), min(len(whole), rng.choice((1, 1, 2, 2, 3, 4)))):
            options = alternatives(key, whole[key], kinds[key], set(), set())
            if options and not IDLE.search(key):
                changes[key] = rng.choice(options)
        spelling = rng.choice(("given", "given", "saved", "full"))
        given = {**base, **changes}
        if spelling == "saved":
            return self.as_saved(kind, class_name, given)
        return given if spelling == "given" else {**whole, **changes}

    def run(self, kind: str, class_name: str, given: Given) -> None:
        """Also with each flag turned and each absent number there: other branches propose too."""
        arguments = self._arguments(class_name)
        written = self.optional(kind, class_name)
        others: list[dict[str, Any]] = []
        for key, argument in arguments.items():
            value = given.get(key, argument.default)
            if isinstance(value, bool):
                others.append({key: not value})
            elif isinstance(value, int) and "None" in written[key]:
                others.append({key: None})
            elif value is None and "int" in written[key] and "tuple" not in written[key]:
                others += [{key: Int(size, key)} for size in (64, 8)]
        for other in ({}, *others[:24]):
            # What was noted until an error still proposes.
            with _no_init(), suppress(Exception):
                self.named(class_name)(**{**given, **other})

    def sections(self, kind: str, class_name: str) -> dict[str, str]:
        return {}

    def optional(self, kind: str, class_name: str) -> dict[str, str]:
        options = {}
        source = inspect.getsource(self.named(class_name))
        for key, argument in self._arguments(class_name).items():
            annotation = argument.annotation
            options[key] = annotation if isinstance(annotation, str) else str(annotation)
            options[key] = options[key].replace("<class '", "").replace("'>", "")
            if "None" not in options[key] and re.search(rf"\b{key} is (not )?None\b", source):
                options[key] += " | None"  # which the annotation does not say
        return options

    def looked_at(self, kind: str, class_name: str, given: Given) -> set[str]:
        """Any argument may be read."""
        return set(self._arguments(class_name))

    def words(self, kind: str, class_name: str) -> Mapping[str, set[str]]:
        """Constructors compare their arguments themselves, which is noted as they run."""
        return {}

    def unlisted(self, kind: str, class_name: str) -> dict[str, list[Any]]:
        """A class takes its arguments and nothing else."""
        return {}

    def hidden(self, kind: str, class_name: str) -> dict[str, Any]:
        return {}

    def config_json(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        return {"_class_name": class_name, **given}

    def about(self, kind: str) -> dict[str, Any]:
        return {"base": None, "base_prefix": "", "category": "diffusion"}


def _no_init() -> Any:
    from transformers.initialization import no_init_weights

    return no_init_weights()


@cache
def diffusers() -> Diffusers:
    warnings.simplefilter("ignore")
    return Diffusers()
