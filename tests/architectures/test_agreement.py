"""Labels from the tree and labels from names alone, on every class of the catalog.

Recorded models are taken as they were recorded, all other classes with the sizes that they have by
default and with small ones.
``python -m tests.architectures.test_agreement [FAMILY ...]`` prints where the two differ.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from hfinspect.analysis.labels.by_name import layer_of
from hfinspect.analysis.labels.context import labeller
from hfinspect.core.components import KINDS, Role
from hfinspect.trees import catalog as registry
from hfinspect.trees.prediction import Prediction, predict
from hfinspect.trees.trace_files import TRACED

from . import recordings, test_remote_catalog, test_remote_code, test_remote_malformed

SMALL = test_remote_catalog.SMALL
MOE = {"n_routed_experts": 2, "num_experts_per_tok": 1, "num_hidden_layers": 2}

#: Small sizes by model_type.
SAMPLES: dict[str, dict[str, Any]] = {
    **test_remote_code.SAMPLES,
    **test_remote_malformed.SAMPLES,
    "aquila": SMALL,
    "solar": SMALL,
    "kimi_k2": MOE,
    "kimi_k25": {"text_config": {"model_type": "kimi_k2", **MOE}},
}

#: Classes that need sizes, and those whose default ones are too large for a test.
WITHOUT_DEFAULTS = frozenset(
    {"aquila", "baichuan", "llama_bidirec", "openelm", "qwen2_reward", "solar"}
    | {"kimi_k2", "kimi_k25", "kimi_vl"}
)

#: Sizes of models with layers that predict further tokens.
PREDICTORS: dict[str, dict[str, Any]] = {
    **{name: config for name, (config, _, _) in test_remote_catalog.PREDICTORS.items()},
    "deepseek_v3": {"num_hidden_layers": 2, "n_routed_experts": 8, "num_nextn_predict_layers": 1},
    "deepseek_v4": {
        "num_hidden_layers": 2,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "num_nextn_predict_layers": 1,
    },
    "qwen3_next": {"num_hidden_layers": 2, "num_experts": 2, "num_experts_per_tok": 1},
    "nemotron_h": {
        "num_hidden_layers": 4,
        "hybrid_override_pattern": "M*-E",
        "num_nextn_predict_layers": 1,
    },
}


#: Where a name leaves the role open: what one class trains and another doesn't, names that say
#: nothing; causal masks (``attn.bias``) are known by their shape, indexes by their dtype.
ROLE_BY_CLASS = frozenset(
    """moe_statics.e_score_correction_bias experts.e_score_correction_bias mlp.expert_bias
    shared_image_embedding.positional_embedding shared_embedding.positional_embedding mean scale
    attn.bias attention.bias crossattention.bias ple_embedding.ngram_heads_vocab_sizes
    rotary_emb.alpha lerope.alpha
    ple_embedding.ngram_heads_offsets ple_embedding.layer_multipliers pos_embed.pe
    latents_mean latents_std patch_embedding.pos_embed pos_embed.pos_embed
    bottleneck.running_std blur_down.kernel mesh_decoder.cases mesh_decoder.masks void.background
    down.kernel up.kernel silence_latent lowpass.filter
    _latents_mean _latents_std encoder_mean encoder_std attn.recall_gate""".split()
)


_LOOP = (
    r".*controllers\.(attn|mlp)\.(down|gain|forget)_weight: (attention|mlp), other|"
    r".*middle_cycle_cross_pass_(kv_)?queries: (attention|embedding), other"
)
#: Disagreements that stay: a rule for such names would serve one model, which the tree knows.
#: Family -> the names, what they say and what the tree says (a regular expression), and why.
ACCEPTED: dict[str, tuple[str, str]] = {
    "cohere_asr": (
        r"log_softmax\.mlp\.layer0\.(weight|bias): mlp, head",
        "NeMo calls the head for CTC by what follows it",
    ),
    "depth_pro": (
        r"(depth_pro\.)?neck\.feature_projection\.projections\.N\.weight: embedding, conv",
        "convolutions between maps, in a list with the name of what makes tokens of features",
    ),
    "eomt": (r"query\.weight: attention, embedding", "learned queries, in a module of their own"),
    "inkling2": (
        r"(model\.visual|vision_tower)\.proj_out\.(weight|bias): head, projector",
        "the end of a tower, under the name that diffusers gives to heads",
    ),
    "inkling2_loop": (
        r"(model\.visual|vision_tower)\.proj_out\.(weight|bias): head, projector|" + _LOOP,
        "the same, and what mixes in the pass before, named by what it is mixed into",
    ),
    "inkling2_loop_text": (_LOOP, "what mixes in the pass before, named by what it is mixed into"),
    "jev": (r"weight: other, head", "the file is one matrix, which scores options"),
    "mistral_large4": (
        r"lerope\.alpha: other, embedding",
        "learned rotary positions, under a name of the first release",
    ),
    "pe_audio": (
        r"audio_encoder\.output\.weight: mlp, head",
        "the end of an encoder, under the name of an MLP's second matrix in BERT",
    ),
}


def named(model_type: str, class_name: str) -> dict[str, Any]:
    """A config of default sizes; model_type is empty for diffusers."""
    if not model_type:
        return {"_class_name": class_name}
    return {"model_type": model_type, "architectures": [class_name]}


@cache
def recorded_configs(*, every: bool = True) -> dict[str, tuple[dict[str, Any], ...]]:
    """Of each recorded family: every small config, or the first of each class."""
    records = recordings.of if every else recordings.sample
    return {
        family: tuple(
            recordings.spellings(record)["given"]
            for record in records(family).values()
            if not recordings.is_default(record)
        )
        for family in recordings.FAMILIES
    }


@cache
def other_configs() -> dict[str, tuple[dict[str, Any], ...]]:
    """Of each family with classes that are not recorded."""
    recorded = reached(recorded_configs())
    configs: dict[str, tuple[dict[str, Any], ...]] = {}
    for family in registry.families():
        names = missing(family, recorded)
        # timm's names share a few roots, and test_traced.py compares each with its recording.
        for class_name in names[::8] if family.source == "timm" else names:
            key = (family.model_types or (class_name,))[0]
            configs[key] = (*configs.get(key, ()), *sized(family, class_name))
    return configs


def sized(family: registry.Family, class_name: str) -> Iterator[dict[str, Any]]:
    types = family.model_types or ("",)
    if family.file.startswith(TRACED):
        # What the recorder built; of some classes the default config is no model.
        yield from traced_configs(family.file, class_name)
        return
    for model_type in types:
        sample = SAMPLES.get(model_type)
        if sample is not None:
            yield {**sample, **named(model_type, class_name)}
    if types[0] not in WITHOUT_DEFAULTS:
        yield named(types[0], class_name)


def traced_configs(file: str, class_name: str) -> Iterator[dict[str, Any]]:
    content = json.loads((recordings.RECORDED.parent / f"{file}.json").read_text())
    for record in content["recordings"].values():
        if record["architecture"] != class_name:
            continue
        if record["library"] == "timm":
            yield record["given"]
        else:
            yield {**record["given"], **named(record["model_type"], class_name)}


def reached(configs: Mapping[str, Iterable[dict[str, Any]]]) -> set[tuple[str, str]]:
    """The pairs of model_type and class that some configs name."""
    return {
        (config.get("model_type", ""), class_name)
        for group in configs.values()
        for config in group
        for class_name in config.get("architectures") or [_own_name(config)]
    }


def _own_name(config: dict[str, Any]) -> str:
    """What a config without model_type names: diffusers' class, timm's architecture."""
    return str(config.get("_class_name") or config["architecture"])


def missing(family: registry.Family, pairs: set[tuple[str, str]]) -> list[str]:
    """The classes of a family that are in no pair with any of its types."""
    types = family.model_types or ("",)
    return [name for name in family.classes if pairs.isdisjoint((t, name) for t in types)]


def predictions(family: str, *, every: bool) -> Iterator[Prediction]:
    """The last with further tokens' layers, of which the others have none."""
    recorded = recorded_configs(every=every)
    for config in (*recorded.get(family, ()), *other_configs().get(family, ())):
        yield predict(config)
    if family in PREDICTORS:
        yield predict({"model_type": family, **PREDICTORS[family]})


def disagreements(family: str, *, every: bool = True) -> frozenset[str]:
    """``family template: component of the name, component of the tree``, and the same of layers."""
    lines: set[str] = set()
    for prediction in predictions(family, every=every):
        # Files on the Hub have more tensors than transformers saves.
        tensors = [*prediction.tensors, *prediction.extras]
        labels_of = labeller((tensor.name, tensor.shape) for tensor in tensors)
        for tensor in tensors:
            labels = labels_of(tensor.name)
            told = (tensor.stack, tensor.layer)
            if tensor.kind and tensor.kind not in KINDS:
                lines.add(f"{family} {template(tensor.name)}: {tensor.kind} is no kind")
            if labels.component is not tensor.component and tensor.role is Role.PARAMETER:
                said = f"{labels.component}, {tensor.component}"
                lines.add(f"{family} {template(tensor.name)}: {said}")
            if labels.role is not tensor.role and name_end(tensor.name) not in ROLE_BY_CLASS:
                said = f"{labels.role}, {tensor.role}"
                lines.add(f"{family} {template(tensor.name)}: {said}")
            if layer_of(tensor.name, labels) != told:
                kind = "no layer" if labels.position is None else f"layer at {labels.position}"
                lines.add(f"{family} {template(tensor.name)}: {kind} by its name")
    return frozenset(lines)


def name_end(name: str) -> str:
    """Its last two segments."""
    return ".".join(name.split(".")[-2:])


def template(name: str) -> str:
    """The name with N for every number."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "N", name)


ALL = sorted({*recorded_configs(), *other_configs()})


def accepted(family: str, differing: Collection[str]) -> set[str]:
    """Those of the lines that are accepted. Fails where there are others."""
    pattern, _why = ACCEPTED.get(family, ("", ""))
    expected = {line for line in differing if re.fullmatch(f"{family} {pattern}", line)}
    what = "set component= or kind= where the module is built, or the rule in analysis/labels/"
    lines = sorted(set(differing) - expected)
    assert not lines, "\n".join([f"names say, the tree says; {what}", *lines])
    return expected


@pytest.mark.parametrize("family", ALL)
def test_names_and_tree_agree(family: str) -> None:
    accepted(family, disagreements(family, every=False))


@pytest.mark.all_recordings
@pytest.mark.parametrize("family", ALL)
def test_names_and_tree_agree_in_every_recording(family: str) -> None:
    expected = accepted(family, disagreements(family))
    assert bool(expected) == (family in ACCEPTED), "they agree by now: ACCEPTED needs no line"


def test_every_class_is_reached() -> None:
    pairs = reached(recorded_configs()) | reached(other_configs())
    assert not {
        str(family.model_types): names
        for family in registry.families()
        if family.source != "timm" and (names := missing(family, pairs))
    }


def main() -> None:
    for family in sys.argv[1:] or ALL:
        for line in sorted(disagreements(family)):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
