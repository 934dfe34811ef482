"""Building on the meta device what the catalog does not know (needs the extra transformers)."""

from __future__ import annotations

import pytest

from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.inspecting import meta_device as fallback
from hfinspect.inspecting.meta_answer import Built
from hfinspect.inspecting.meta_child import tied
from hfinspect.trees.prediction import predict

UNKNOWN = UnknownArchitectureError("model_type 'x'", "is not in the catalog")


@pytest.mark.oracle
@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2},
        {"model_type": "bert", "architectures": ["BertForMaskedLM"], "num_hidden_layers": 2},
        {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_hidden_layers": 2},
    ],
)
def test_it_gives_what_the_catalog_gives(config: dict[str, object]) -> None:
    """Where both know a model: same names, shapes, components, layers, ties."""
    built = fallback.build(config, UNKNOWN)
    known = predict(config)
    assert built.family is None
    assert "built by transformers" in built.because
    assert built.parameters == known.parameters
    assert built.tied == known.tied
    labels = {(t.name, t.shape, t.component, t.stack, t.layer) for t in built.tensors}
    assert labels == {(t.name, t.shape, t.component, t.stack, t.layer) for t in known.tensors}


@pytest.mark.oracle
def test_what_transformers_does_not_know_stays_unknown() -> None:
    with pytest.raises(UnknownArchitectureError):
        fallback.build({"model_type": "nobody-knows"}, UNKNOWN)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["AutoTokenizer", "__builtins__", "os", "pipeline"])
def test_only_model_classes_are_built(name: str) -> None:
    """A name from a file is looked up among transformers' model classes and nowhere else."""
    with pytest.raises(UnknownArchitectureError):
        fallback.build({"architectures": [name]}, UNKNOWN)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["LlamaForMultipleChoice", "LlamaForFooBar", 5])
def test_an_unknown_class_is_not_taken_for_the_base_model(name: object) -> None:
    """What config.json names is built or nothing: its head would be missing."""
    with pytest.raises(UnknownArchitectureError):
        fallback.build({"model_type": "llama", "architectures": [name]}, UNKNOWN)


@pytest.mark.oracle
def test_without_a_class_the_base_model_is_built() -> None:
    small = {"model_type": "gpt2", "n_layer": 1, "n_embd": 12, "n_head": 2, "vocab_size": 9}
    assert fallback.build(small, UNKNOWN).architecture == "GPT2Model"


@pytest.mark.oracle
def test_a_config_that_transformers_refuses_is_an_error_of_ours() -> None:
    with pytest.raises(ConfigError, match="refused by transformers"):
        fallback.build({"model_type": "gpt2", "n_embd": "wide"}, UNKNOWN)


class _Shape:
    shape = (4, 2)


class _TiesABuffer:
    """As PE's audio model does: the kept name is a buffer, which ``get_parameter`` refuses."""

    def __init__(self) -> None:
        self.all_tied_weights_keys = {"left.bands": "right.bands"}

    def state_dict(self) -> dict[str, _Shape]:
        return {"right.bands": _Shape()}


def test_a_tied_buffer_has_the_shape_of_the_one_that_is_kept() -> None:
    assert tied(_TiesABuffer()) == [("left.bands", "right.bands", [4, 2])]
    built = Built(
        architecture="Model",
        model_type="",
        version="5",
        tensors={"right.bands": ((4, 2), False)},
        tied={"left.bands": ("right.bands", (4, 2))},
        modules={},
    )
    root = fallback._tree(built)
    assert root.inside("left").tensor("bands").tied_to == "right.bands"
    assert tuple(root.inside("left").tensor("bands").shape) == (4, 2)
