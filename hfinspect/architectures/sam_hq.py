"""SAM-HQ (Ke et al. 2023): Segment Anything with one more mask, drawn from early and late features
of the image. Source of shapes: transformers/models/sam_hq/modeling_sam_hq.py."""

from functools import partial

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..trees.catalog import register_part
from ..trees.modules import Conv, Embedding, Module
from . import sam


def mask_decoder(c: ModelConfig) -> Module:
    d, wide = c.dim("hidden_size", default=256), c.dim("vit_dim", default=768)
    quarter, eighth, norm = d // 4, d // 8, partial(sam.norm, "Sam")
    larger = partial(Conv, kernel=2, stride=2, transposed=True)
    seen = {"conv1": larger(wide, d), "norm": norm(d), "conv2": larger(d, eighth)}
    encoded = {"conv1": larger(d, quarter), "norm": norm(quarter), "conv2": larger(quarter, eighth)}
    masked = {"conv1": Conv(eighth, quarter, 3), "norm": norm(quarter)}
    masked["conv2"] = Conv(quarter, eighth, 3)
    root = sam.mask_decoder(c).adding(hq_token=Embedding(1, d))
    root.adding(hq_mask_mlp=sam.forward((d, d, eighth), 3))
    for at, parts in (("compress_vit", seen), ("encoder", encoded), ("mask", masked)):
        root.adding(**{f"{at}_{name}": part for name, part in parts.items()})
    return root


def model(c: ModelConfig) -> Module:
    finer = mask_decoder(c.section("mask_decoder_config"))
    return renamed(sam.model(c).adding(mask_decoder=finer), "Sam", "SamHQ")


def vision_model(c: ModelConfig) -> Module:
    root = Module("SamVisionModel", vision_encoder=sam.vision_encoder(c), part="vision")
    return renamed(root, "Sam", "SamHQ")


register_part("sam_hq", "SamHQModel", model, "vision")
register_part("sam_hq_vision_model", "SamHQVisionModel", vision_model, "vision")
