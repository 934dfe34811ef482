"""UNet2DModel: the unconditional UNet of DDPM and its kin (Ho et al. 2020). Source of shapes:
diffusers/models/unets/{unet_2d,unet_2d_blocks}.py. On some rungs the image looks at itself."""

from functools import partial

from ..layers import diffusion
from ..trees import Component, Dim, ModelConfig, register
from ..trees.modules import Activation, Conv, Embedding, Layers, Module, Weight


def model(c: ModelConfig) -> Module:
    channels = diffusion.widths(c, default=(224, 448, 672, 896))
    head_of = "attention_head_dim"
    time = c.dim("time_embedding_dim", default=4 * (first := channels[0]))
    residual = diffusion.timed(c, time)
    last = channels[-1]

    def look(width: Dim, groups: int | None) -> Module:
        """Heads of ``attention_head_dim`` channels; null is one head."""
        head = width if c.says(head_of) and not c.has(head_of) else c.dim(head_of, default=8)
        return diffusion.attention(width, width // head * head, bias=True, groups=groups)

    def block(rung: diffusion.Rung) -> Module:
        if not rung.kind.startswith("Attn"):  # which takes a convolution whatever the key says
            return rung.block(residual)
        form = c.word("upsample_type" if rung.up else "downsample_type", "conv", "resnet")
        looks = [look(rung.width, residual.groups)] * len(rung.coming)
        return rung.block(residual, looks, residual=form == "resnet")

    middle = None
    if c.has("mid_block_type") or not c.says("mid_block_type"):
        usual = None if residual.scale_shift else residual.groups
        groups = c.optional_dim("attn_norm_num_groups") or usual
        looks = [look(last, groups)] if c.flag("add_attention", default=True) else []
        middle = diffusion.middle_block(last, residual, looks)
    layers = [c.count("layers_per_block", default=2)] * len(channels)
    rungs = partial(diffusion.rungs, c, channels, layers, ("DownBlock2D", *["AttnDownBlock2D"] * 3))
    # What makes channels of the time, and how many.
    time_form = c.word("time_embedding_type", "positional", "fourier", "learned")
    inputs = first
    projection = Activation("Timesteps")
    if time_form == "fourier":
        drawn = {"weight": Weight(first, component=Component.EMBEDDING)}
        inputs = 2 * first
        projection = Module("GaussianFourierProjection", drawn)
    elif time_form == "learned":
        projection = Embedding(c.dim("num_train_timesteps"), first, kind=None)
    form = c.text("class_embed_type")
    count = c.optional_dim("num_class_embeds")
    table = Embedding(count, time) if form is None and count is not None else None
    times = diffusion.timestep_embedding(inputs, time)
    classes = {"timestep": times, "identity": Activation("Identity")}
    parts: dict[str, Module | None] = {
        "conv_in": Conv(c.dim("in_channels", default=3), first, 3),
        "time_proj": projection,
        "time_embedding": times,
        "class_embedding": classes.get(form or "", table),
        "down_blocks": Layers(map(block, rungs())),
        "mid_block": middle,
        "up_blocks": Layers(map(block, rungs(up=True))),
        **diffusion.unet_end(c, first, residual, outputs=3),
    }
    return Module("UNet2DModel", parts, part="vision")


register((), {"UNet2DModel": model}, category="diffusion", source="diffusers")
