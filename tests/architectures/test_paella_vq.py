"""Stable Cascade's codec, which diffusers keeps apart from the classes that can be recorded."""

from __future__ import annotations

from hfinspect.trees.prediction import predict


def test_the_released_sizes() -> None:
    """The count is that of the class itself, in diffusers/pipelines/deprecated/wuerstchen."""
    prediction = predict({"_class_name": "PaellaVQModel", "levels": 2, "bottleneck_blocks": 12})
    shapes = {spec.name: spec.shape for spec in prediction.tensors}
    assert shapes["in_block.1.weight"] == (192, 12, 1, 1)
    assert shapes["down_blocks.1.weight"] == (384, 192, 4, 4)
    assert shapes["down_blocks.3.1.running_var"] == (4,)
    assert shapes["vquantizer.embedding.weight"] == (8192, 4)
    assert shapes["up_blocks.13.weight"] == (384, 192, 4, 4)
    assert shapes["up_blocks.14.gammas"] == (6,)
    assert prediction.parameters == 18_406_894
    assert prediction.buffers == 9
