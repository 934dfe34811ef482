"""Images that an encoder sees, and the text's decoder through cross-attention: they take no place
in the text, but positions of the cache next to it."""

from collections.abc import Mapping
from typing import Final

from ..core.media_tokens import ImageItem
from .processor_settings import ProcessorSettings, SettingsPart, UnknownTokensError
from .rule import ImagesOnly, ItemTokens, counts, not_judged


def _seen(image: ImageItem, settings: ProcessorSettings, count: int, step: str) -> ItemTokens:
    if image.several:
        raise UnknownTokensError(f"{settings.model_type} sees one image a sequence")
    text = "positions of cross-attention, no token in the text"
    return ItemTokens(0, (step, f"{count:,} {text}"), count)


def _page(settings: ProcessorSettings) -> tuple[int, int]:
    """Height and width of what the encoder sees, whatever the image's own."""
    part = settings.part("image")
    if part.raw("do_pad") is False or not part.flag("do_resize", default=True):
        not_judged("images that keep their own size", settings)
    if part.says("image_size"):
        return part.count("image_size"), part.count("image_size")
    if isinstance(part.raw("size"), list):  # Donut's older files, the width first
        wide, high = part.couple("size")
        return high, wide
    key = "crop_size" if part.flag("do_center_crop") else "size"
    return part.inner(key, "height", "shortest_edge"), part.inner(key, "width", "shortest_edge")


def _across(settings: ProcessorSettings, vision: SettingsPart, side: int, patch: int) -> int:
    """Patches in a row of the one square that an encoder with learned places takes. ``side`` and
    ``patch``: of its class, where config.json does not say them."""
    page = _page(settings)
    patch = vision.optional("patch_size", patch, least=1)
    trained = vision.optional("image_size", side, least=1)
    if page != (trained, trained):
        raise UnknownTokensError(
            f"its processor makes {page[1]:,} x {page[0]:,} pixels, and its encoder takes only "
            f"{trained:,} x {trained:,}"
        )
    return trained // patch


#: Encoders with learned places -> pixels of a side and of a patch where config.json does not say
#: them, tokens that are no patches, and patches in one.
_SQUARES: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "blip": (384, 16, 1, 1),
    "pp_formulanet": (512, 16, 0, 4),
    "vit": (224, 16, 1, 1),
    "beit": (224, 16, 1, 1),
    "deit": (224, 16, 2, 1),
}


@counts(
    "blip pp_formulanet vision-encoder-decoder",
    "models/vision_encoder_decoder/modeling_vision_encoder_decoder.py",
)
class VisionEncoder(ImagesOnly):
    """BLIP, PP-FormulaNet, TrOCR, Donut, Nougat, captioners: the patches and class tokens of ViT,
    DeiT or BEiT, or what Swin merges by two at each stage."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        kind = settings.model_type
        vision = settings.section("vision_config")
        if kind not in _SQUARES:
            vision = settings.section("encoder")
            kind = vision.text("model_type")
        if kind in _SQUARES:
            side, patch, more, merged = _SQUARES[kind]
            rows = columns = -(-_across(settings, vision, side, patch) // merged)
        elif kind in ("swin", "donut-swin"):
            high, wide = _page(settings)
            depths = vision.raw("depths")
            more = 0
            stages = min(max(len(depths), 1), 32) if isinstance(depths, list) else 4
            merged = vision.optional("patch_size", 4, least=1) << stages - 1
            rows = -(-high // merged)
            columns = -(-wide // merged)
        else:
            not_judged(f"the encoder {kind[:40]!r}", settings)
        step = f"the encoder's {columns} x {rows} patches{f', {more} more' * bool(more)}"
        return _seen(image, settings, rows * columns + more, step)


@counts("pix2struct", "models/pix2struct/processing_pix2struct.py")
class Pix2Struct(ImagesOnly):
    """Pix2Struct: padded to the number of patches that the processor passes at every call."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        most = settings.part("image").count("max_patches")
        return _seen(image, settings, most, f"resized, and padded to {most:,} patches")


@counts("idefics", "models/idefics/modeling_idefics.py")
class Idefics(ImagesOnly):
    """Idefics: a token between two markers; what the cross-attention sees of an image is computed
    again for each token, and not kept."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        count = _across(settings, settings.section("vision_config"), 224, 14) ** 2 + 1
        if settings.section().flag("use_resampler"):
            perceiver = settings.section("perceiver_config")
            count = perceiver.optional("resampler_n_latents", 64, least=1)
        step = f"{count:,} positions of cross-attention, of which nothing is kept"
        return ItemTokens(3, ("1 token, 2 markers", step))
