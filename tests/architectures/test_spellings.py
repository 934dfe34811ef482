"""Keys that config classes know by a second name, as those classes weigh the two."""

from __future__ import annotations

import pytest

from hfinspect.trees.prediction import predict


def layers(config: dict[str, object]) -> dict[str | None, int]:
    found: dict[str | None, set[int | None]] = {}
    for spec in predict(config).tensors:
        if spec.layer is not None:
            found.setdefault(spec.name.split(".")[0], set()).add(spec.layer)
    return {stack: len(numbers) for stack, numbers in found.items()}


@pytest.mark.parametrize("model_type", ["t5", "mt5", "umt5", "switch_transformers"])
def test_t5s_second_name_for_layers_is_the_encoders(model_type: str) -> None:
    """Where both are given it wins, and the decoder follows the first name."""
    config = {"model_type": model_type, "num_hidden_layers": 2, "num_decoder_layers": 3}
    assert layers(config) == {"encoder": 2, "decoder": 3}
    both = {"model_type": model_type, "num_hidden_layers": 2, "num_layers": 4}
    assert layers({**both, "num_decoder_layers": None}) == {"encoder": 2, "decoder": 4}


def test_switch_spaces_experts_by_the_first_name() -> None:
    """A step of 12 // 3 = 4, and so one sparse layer among the first three."""
    config = {"model_type": "switch_transformers", "num_hidden_layers": 3}
    experts = {
        spec.layer
        for spec in predict(config).tensors
        if spec.name.startswith("encoder.") and ".experts." in spec.name
    }
    assert experts == {1}
