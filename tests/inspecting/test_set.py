"""``--set``: changes what the config says under whatever name the family knows it, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.overrides import Override
from hfinspect.errors import UsageError

from ..cli.program import hfinspect as run
from ..schemas import conforms

MODELS = Path(__file__).resolve().parents[2] / "fixtures" / "models"
LLAMA, GPT2, BLOOM = (str(MODELS / name) for name in ("llama-3-8b", "gpt2", "bloom-1b4-zh"))
SET = ("--set", "num_hidden_layers=40")


def parameters(config: str | dict[str, Any], **overrides: object) -> int | None:
    return hfinspect.inspect(config, overrides=overrides).parameters


def test_every_form_shows_what_was_changed() -> None:
    for command in ((), ("explain",), ("tensors",), ("tree",)):
        out = run(*command, LLAMA, *SET).out
        assert "changed num_hidden_layers = 40 (was 32)" in " ".join(out.split())
        if command != ("tree",):
            assert "llama-3-8b with num_hidden_layers = 40" in out.splitlines()[0]
    for command in ((), ("explain",)):
        out = run(*command, LLAMA, *SET, "-f", "markdown").out.replace("\\", "")
        assert "llama-3-8b with num_hidden_layers = 40" in out.splitlines()[0]
        assert "- **changed**: num_hidden_layers = 40 (was 32)" in out
        document = json.loads(run(*command, LLAMA, *SET, "-f", "json").out)
        assert document["overrides"] == [{"key": "num_hidden_layers", "value": 40, "was": 32}]
    conforms(json.loads(run(LLAMA, *SET, "-f", "json").out))
    assert hfinspect.inspect(LLAMA).overrides == ()


@pytest.mark.parametrize("model", [GPT2, BLOOM])
@pytest.mark.parametrize("key", ["num_hidden_layers", "n_layer"])
def test_any_spelling_sets_the_key(model: str, key: str) -> None:
    """The families' own key is n_layer; what the config has need not be the one that is set."""
    config = json.loads((Path(model) / "config.json").read_text())
    fewer = {name: value for name, value in config.items() if "layer" not in name}
    expected = parameters({**fewer, "n_layer": 2})
    for spelled in ("num_hidden_layers", "n_layer"):
        inspection = hfinspect.inspect({**fewer, spelled: 12}, overrides={key: 2})
        assert inspection.parameters == expected
        assert inspection.overrides == (Override(key, 2, 12),)


def test_every_alias_of_a_class_sets_the_key() -> None:
    """Whichever of the two the config has, also where no tensor depends on it."""
    tiny = {"model_type": "bart", "d_model": 64, "encoder_layers": 2, "vocab_size": 20}
    pairs = [
        ("num_attention_heads", "encoder_attention_heads", 4),
        ("hidden_size", "d_model", 32),
        ("num_hidden_layers", "encoder_layers", 3),
    ]
    for alias, own, value in pairs:
        counts = set()
        for there in (alias, own):
            rest = {key: old for key, old in tiny.items() if key not in (alias, own)}
            config = {**rest, there: 2 if "layers" in there else 16}
            counts |= {parameters(config, **{key: value}) for key in (alias, own)}
        assert len(counts) == 1
        assert None not in counts


def test_a_fallback_is_no_spelling() -> None:
    """Where moe_intermediate_size is absent the family takes intermediate_size, but the two are
    two keys: setting one leaves the other alone."""
    config = {
        "model_type": "qwen2_moe",
        "architectures": ["Qwen2MoeForCausalLM"],
        "vocab_size": 64,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_experts": 4,
        "intermediate_size": 12,
        "moe_intermediate_size": 4,
        "num_key_value_heads": 2,
        "shared_expert_intermediate_size": 4,
        "mlp_only_layers": [0],
    }
    first = {t.name: t.shape for t in hfinspect.inspect(config).tensors}
    second = {
        t.name: t.shape
        for t in hfinspect.inspect(config, overrides={"intermediate_size": 20}).tensors
    }
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {f"model.layers.0.mlp.{n}_proj.weight" for n in ("gate", "up", "down")}


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    done = run(LLAMA, "--set", "num_hiden_layers=4")
    assert done.code == 2
    assert "config key num_hiden_layers" in done.err
    assert "num_hidden_layers" in done.err.splitlines()[1]
    with pytest.raises(UsageError, match="neither the config nor its model type has it"):
        hfinspect.explain(LLAMA, overrides={"zzz": 1})
    assert run("tree", LLAMA, "--set", "zzz=1").code == 2


@pytest.mark.parametrize(
    ("key", "value", "effect"),
    [
        ("initializer_range", 0.1, False),
        ("pretraining_tp", 2, False),
        ("return_dict", False, False),
        ("rope_parameters.rope_theta", 1, False),
        ("rope_scaling.factor", 2, False),
        ("attention_bias", True, True),
        ("head_dim", 32, True),
        ("tie_word_embeddings", True, True),
        ("num_labels", 5, False),
    ],
)
def test_a_key_that_the_model_type_has_is_known(key: str, value: object, effect: bool) -> None:
    """Whether or not the config has it: the config class in transformers does."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 64,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 12,
    }
    before = hfinspect.inspect(config)
    inspection = hfinspect.inspect(config, overrides={key: value})
    assert (inspection.parameters != before.parameters) == effect
    notes = [f.text for f in inspection.findings if f.rule == "override-without-effect"]
    assert notes == ([] if effect else [f"{key} changes no tensor"])


def test_the_number_of_labels_is_a_key_of_every_class() -> None:
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}
    more = (parameters(config, num_labels=5) or 0) - (parameters(config) or 0)
    assert more == 3 * (768 + 1)


def test_a_key_of_a_section_that_the_class_has() -> None:
    config = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
    known = hfinspect.inspect(config, overrides={"text_config.initializer_range": 0.1})
    assert known.parameters == parameters(config)
    with pytest.raises(UsageError):
        parameters(config, **{"text_config.initialiser_range": 0.1})


def test_a_key_of_a_section_is_known_by_its_dotted_name() -> None:
    config = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
    more = parameters(config, **{"text_config.num_hidden_layers": 3})
    assert more is not None
    assert more < (parameters(config) or 0)
    with pytest.raises(UsageError) as caught:
        parameters(config, num_hidden_layer=3)
    assert "text_config.num_hidden_layers" in (caught.value.hint or "")


def test_a_key_that_changes_no_tensor_is_a_note() -> None:
    inspection = hfinspect.inspect(LLAMA, overrides={"rope_theta": 1, "vocab_size": 100})
    notes = [f.text for f in inspection.findings if f.rule == "override-without-effect"]
    assert notes == ["rope_theta changes no tensor"]
    assert [one.was for one in inspection.overrides] == [500000.0, 128256]
    for command in "explain", "tree":
        assert "rope_theta changes no tensor" in run(command, LLAMA, "--set", "rope_theta=1").out
    form = json.loads(run("tree", LLAMA, "--set", "rope_theta=1", "-f", "json").out)
    conforms(form, "tree")
    assert form["notes"] == ["rope_theta changes no tensor"]
    assert form["overrides"] == [{"key": "rope_theta", "value": 1, "was": 500000.0}]


def test_what_json_cannot_spell_is_a_word() -> None:
    inspection = hfinspect.inspect(LLAMA, overrides={"rope_theta": float("inf")})
    assert (
        json.loads(json.dumps(inspection.to_dict(), allow_nan=False))["overrides"][0]["value"]
        == "inf"
    )
    assert run(LLAMA, "--set", "rope_theta=NaN", "-f", "json").code == 0
