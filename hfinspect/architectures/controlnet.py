"""ControlNetModel (Zhang et al. 2023). Source: diffusers/models/controlnets/controlnet.py. The way
down and the middle of a UNet2DConditionModel, and convolutions for what the UNet will add."""

from ..layers.unet_ladder import Ladder, condition_encoder, control_net
from ..trees import Layers, ModelConfig, Module, register

#: Settings of the UNet that a ControlNet copies into its config but does not have.
_NOT_HERE = """time_embedding_type time_embedding_dim time_cond_proj_dim conv_in_kernel
    attention_type class_embeddings_concat dual_cross_attention num_attention_heads""".split()


def model(config: ModelConfig) -> Module:
    values = {key: value for key, value in config.values.items() if key not in _NOT_HERE}
    if config.has("num_attention_heads"):
        values["attention_head_dim"] = config.raw("num_attention_heads")
    if values.get("class_embed_type") == "simple_projection":  # the UNet's, read past here
        values["class_embed_type"] = "identity"
    c = ModelConfig(values, config.path)
    c.count("layers_per_block", default=2)  # one number here, not a list
    ladder = Ladder(c)
    condition = condition_encoder(c, ladder.channels[0])
    return control_net("ControlNetModel", ladder, condition, Layers(ladder.way()), ladder.middle())


register((), {"ControlNetModel": model}, category="diffusion", source="diffusers")
