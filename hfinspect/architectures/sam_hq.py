"""SAM-HQ (Ke et al. 2023): Segment Anything with one more mask, drawn from early and late features
of the image. Source of shapes: transformers/models/sam_hq/modeling_sam_hq.py."""

from functools import partial

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..trees.catalog import register_part
from ..trees.modules import Conv, Embedding, Module
from . import sam


def mask_decoder(c: ModelConfig) -> Module:
    d, seen = c.dim("hidden_size", default=256), c.dim("vit_dim", default=768)
    quarter, eighth, norm = d // 4, d // 8, partial(sam.norm, "Sam")
    larger = partial(Conv, kernel=2, stride=2, transposed=True)
    return sam.mask_decoder(c).adding(
        hq_token=Embedding(1, d),
        hq_mask_mlp=sam.forward((d, d, eighth), 3),
        compress_vit_conv1=larger(seen, d),
        compress_vit_norm=norm(d),
        compress_vit_conv2=larger(d, eighth),
        encoder_conv1=larger(d, quarter),
        encoder_norm=norm(quarter),
        encoder_conv2=larger(quarter, eighth),
        mask_conv1=Conv(eighth, quarter, 3),
        mask_norm=norm(quarter),
        mask_conv2=Conv(quarter, eighth, 3),
    )


def model(c: ModelConfig) -> Module:
    finer = mask_decoder(c.section("mask_decoder_config"))
    return renamed(sam.model(c).adding(mask_decoder=finer), "Sam", "SamHQ")


def vision_model(c: ModelConfig) -> Module:
    root = Module("SamVisionModel", vision_encoder=sam.vision_encoder(c), part="vision")
    return renamed(root, "Sam", "SamHQ")


register_part("sam_hq", "SamHQModel", model, "vision")
register_part("sam_hq_vision_model", "SamHQVisionModel", vision_model, "vision")
