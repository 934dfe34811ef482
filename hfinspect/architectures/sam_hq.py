"""SAM-HQ (Ke et al. 2023): Segment Anything with one more mask, drawn from early and late features
of the image. Source of shapes: transformers/models/sam_hq/modeling_sam_hq.py."""

from functools import partial

from ..layers.composing import renamed
from ..trees import Conv, Embedding, ModelConfig, Module, register_part
from . import sam


def model(c: ModelConfig) -> Module:
    section = c.section("mask_decoder_config")
    root = sam.model(c)
    d = section.dim("hidden_size", default=256)
    wide = section.dim("vit_dim", default=768)
    quarter = d // 4
    eighth = d // 8
    finer = sam.forward((d, d, d // 8), 3)
    masks = root.inside("mask_decoder").adding(hq_token=Embedding(1, d), hq_mask_mlp=finer)
    rows = {"compress_vit": (wide, d), "encoder": (d, quarter), "mask": (eighth, quarter)}
    for at, (inputs, middle) in rows.items():
        larger = partial(Conv, kernel=2, stride=2, transposed=True)
        to = partial(Conv, kernel=3) if at == "mask" else larger
        masks.adding(**{f"{at}_conv1": to(inputs, middle), f"{at}_norm": sam.norm("Sam", middle)})
        masks.adding(**{f"{at}_conv2": to(middle, eighth)})
    return renamed(root, "Sam", "SamHQ")


def vision_model(c: ModelConfig) -> Module:
    root = Module("SamVisionModel", vision_encoder=sam.vision_encoder(c), part="vision")
    return renamed(root, "Sam", "SamHQ")


register_part("sam_hq", "SamHQModel", model, "vision")
register_part("sam_hq_vision_model", "SamHQVisionModel", vision_model, "vision")
