"""What recordings of CLIP do not hold: the safety checker of Stable Diffusion 1."""

from __future__ import annotations

from hfinspect.trees.prediction import predict

CHECKER = {
    "architectures": ["StableDiffusionSafetyChecker"],
    "model_type": "clip",
    "projection_dim": 768,
    "text_config": {"hidden_size": 768, "model_type": "clip_text_model"},
    "vision_config": {"hidden_size": 512, "model_type": "clip_vision_model"},
    "vision_config_dict": {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "patch_size": 14,
    },
}


def test_safety_checker() -> None:
    """A ViT-L/14 without text, 1024·768, (17 + 3)·768 and 17 + 3."""
    prediction = predict(CHECKER)
    assert prediction.parameters == 303_981_588
    shapes = {spec.name: spec.shape for spec in prediction.tensors}
    assert shapes["vision_model.vision_model.embeddings.class_embedding"] == (1024,)
    assert shapes["concept_embeds"] == (17, 768)
    assert shapes["special_care_embeds_weights"] == (3,)
    assert not [name for name in shapes if "text" in name or "logit_scale" in name]
