"""How each type of projector counts an image: llama.cpp's ``clip_n_output_tokens``, and what its
tokenizer writes around the pictures (``tools/mtmd`` of November 2026)."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...core.media_tokens import ImageItem
from ..processor_settings import UnknownTokensError
from ..rule import ItemTokens, marked
from . import resized_images as resized
from . import sliced_images as sliced
from .projector_keys import MAX_PIXELS, ProjectorKeys, divided
from .resized_images import Pixels
from .sliced_images import Pictures


class ShownImage(NamedTuple):
    """An image or one of its pictures, the keys, and how many patches a side are a token."""

    size: Pixels
    keys: ProjectorKeys
    merge: int = 1

    @property
    def square(self) -> int:
        """Pixels a side of a token."""
        return self.keys.patch * self.merge


Cut = Callable[[ShownImage], Pictures]
CountImage = Callable[[ShownImage], int]


class Around(NamedTuple):
    """Markers of an item, of its overview, of all slices, of each slice, and of each row but the
    last."""

    item: int = 0
    overview: int = 0
    slices: int = 0
    each: int = 0
    row: int = 0


class Projector(NamedTuple):
    """``merge`` is the default of patches a side in a token, ``merge_key`` the key over it."""

    cut: Cut
    tokens: CountImage
    around: Around = Around()
    merge: int = 1
    merge_key: str = ""


# --- pictures ---


def _fixed(image: ShownImage) -> Pictures:
    return Pictures(overview=(image.keys.side, image.keys.side))


def _llava(image: ShownImage) -> Pictures:
    points = image.keys.pinpoints()
    return sliced.listed(image.size, image.keys.side, points) if points else _fixed(image)


def _between(least: int, most: int) -> Cut:
    """Numbers of tokens that stand in llama.cpp's code."""

    def cut(image: ShownImage) -> Pictures:
        return _within(image, least * image.square**2, most * image.square**2)

    return cut


def _within(image: ShownImage, least: int, most: int) -> Pictures:
    if not 0 < least <= most <= MAX_PIXELS:
        raise UnknownTokensError("the least pixels of the mmproj file are more than the most")
    return Pictures(overview=resized.preserved_ratio(image.size, image.square, least, most))


def _pixels(image: ShownImage) -> Pictures:
    least = image.keys.count("image_min_pixels")
    most = image.keys.count("image_max_pixels")
    return _within(image, least, most)


def _kimi(image: ShownImage) -> Pictures:
    least, most = (image.keys.count(f"image_{one}_pixels", 0, least=0) for one in ("min", "max"))
    if least and most:
        return _within(image, least, most)
    return _between(2, 4096)(image)


def _hunyuan(image: ShownImage) -> Pictures:
    area = (image.keys.patch * 2) ** 2
    least = image.keys.count("image_min_pixels", 256 * area)
    return _within(image, least, image.keys.count("image_max_pixels", 16_384 * area))


def _glm5(image: ShownImage) -> Pictures:
    least = image.keys.count("image_min_pixels")
    most = image.keys.count("image_max_pixels")
    return Pictures(overview=resized.aligned_up(image.size, image.square, least, most))


def _youtu(image: ShownImage) -> Pictures:
    most = 62_500 * image.square**2 // image.keys.patch**2
    return Pictures(
        overview=resized.by_small_steps(image.size, image.keys.patch, image.square, most)
    )


def _muse(image: ShownImage) -> Pictures:
    return Pictures(overview=resized.nearest_shape(image.size, image.square, 4_096))


def _longest(image: ShownImage) -> Pictures:
    longest = image.keys.count("preproc_image_size", image.keys.side, most=65_536)
    return Pictures(overview=resized.preserved_ratio(image.size, image.square, 0, 0, longest))


def _idefics(image: ShownImage) -> Pictures:
    return sliced.idefics(image.size, image.keys)


def _minicpm(image: ShownImage) -> Pictures:
    return sliced.free_slices(*image)


def _minicpm_merged(image: ShownImage) -> Pictures:
    return sliced.minicpm_merged(*image)


def _internvl(image: ShownImage) -> Pictures:
    most = image.keys.count("preproc_max_tiles", 12)
    least = image.keys.count("preproc_min_tiles", 1, most=most)
    candidates = image.keys.pinpoints() + sliced.in_squares(least, most, image.keys.side)
    if not candidates:
        raise UnknownTokensError("no grid has so many tiles")
    return sliced.listed(image.size, image.keys.side, candidates)


def _llama4(image: ShownImage) -> Pictures:
    side = image.keys.side
    three = range(1, 4)
    grids = [(x * side, y * side) for x in three for y in three if x * y > 1]
    return sliced.listed(image.size, side, image.keys.pinpoints() + grids)


def _lfm(image: ShownImage) -> Pictures:
    area = image.square**2
    return sliced.lfm(image.size, image.keys, image.merge, 64 * area, 256 * area)


def _step(image: ShownImage) -> Pictures:
    return sliced.windows(image.size, image.keys)


def _granite(image: ShownImage) -> Pictures:
    points = image.keys.pinpoints()
    if not points:
        raise UnknownTokensError("clip.vision.image_grid_pinpoints of the mmproj file is not there")
    side = image.keys.side
    best = resized.best_candidate(image.size, points)
    return Pictures(best[0] // side, best[1] // side, None, (side, side))


# --- tokens of one picture ---


def _patches(image: ShownImage) -> int:
    return _by_square(image.size, image.keys.patch)


def _merged(image: ShownImage) -> int:
    return _patches(image) // image.merge**2


def _merged_up(image: ShownImage) -> int:
    return -(-_patches(image) // image.merge**2)


def _quarter(image: ShownImage) -> int:
    return _patches(image) // 4


def _edge(image: ShownImage) -> int:
    return _quarter(image) + (2 if "adapter.boi" in image.keys.tensors else 0)


def _pairs(image: ShownImage) -> int:
    """Two patches a side, whatever the file's merge."""
    return _by_square(image.size, image.keys.patch * 2)


def _squares(image: ShownImage) -> int:
    return _by_square(image.size, image.square)


def _by_square(size: Pixels, side: int) -> int:
    return (size[0] // side) * (size[1] // side)


def _squares_up(image: ShownImage) -> int:
    side = image.square
    return -(-image.size[0] // side) * -(-image.size[1] // side)


def _cog(image: ShownImage) -> int:
    return _patches(image) + 2


def _yasa(_: ShownImage) -> int:
    return 64


def _queries(image: ShownImage) -> int:
    version = image.keys.count("clip.minicpmv_version", 0, least=0)
    if version not in _MINICPM:
        raise UnknownTokensError(f"llama.cpp has no MiniCPM-V of version {version}")
    queries = image.keys.count("clip.minicpmv_query_num", 0, least=0)
    return queries or (96 if version in (0, 2) else 64)


_MINICPM: Final = (0, 2, 3, 4, 5, 6, 100_045)


def _mobile(image: ShownImage) -> int:
    return image.keys.side // image.keys.patch


def _rows(image: ShownImage) -> int:
    rows = image.size[1] // image.keys.patch // image.merge
    ends = rows - 1 if "v.token_embd.img_break" in image.keys.tensors else 0
    return rows * (image.size[0] // image.keys.patch // image.merge) + ends


def _ended_rows(image: ShownImage) -> int:
    wide, high = (side // image.keys.patch // image.merge for side in image.size)
    return (wide + 1) * high + 2


#: Projector type -> how it counts.
PROJECTORS: Final[Mapping[str, Projector]] = {
    "mlp": Projector(_llava, _patches),
    "ldp": Projector(_llava, _quarter),
    "ldpv2": Projector(_llava, _quarter),
    "adapter": Projector(_llava, _edge),
    "cogvlm": Projector(_llava, _cog),
    "janus_pro": Projector(_llava, _patches),
    "phi4": Projector(_pixels, _patches),
    "yasa2": Projector(_fixed, _yasa, Around(2)),
    "resampler": Projector(_minicpm, _queries, Around(0, 2, 0, 2, 1)),
    "minicpmv4_6": Projector(
        _minicpm_merged, _merged, Around(0, 2, 0, 2, 1), 4, "projector.scale_factor"
    ),
    **dict.fromkeys(
        ("qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger", "ling3vl", "glm4v"),
        Projector(_between(8, 4096), _pairs, Around(2), 2, "spatial_merge_size"),
    ),
    "minimax_m3": Projector(_between(8, 576), _pairs, Around(2), 2, "spatial_merge_size"),
    **dict.fromkeys(
        ("mimovl", "exaone4_5"), Projector(_pixels, _pairs, Around(2), 2, "spatial_merge_size")
    ),
    "glm5v": Projector(_glm5, _pairs, Around(2), 2, "spatial_merge_size"),
    "youtuvl": Projector(_youtu, _pairs, Around(2), 2, "spatial_merge_size"),
    "muse-glimmer": Projector(_muse, _pairs, Around(2), 2, "spatial_merge_size"),
    "step3vl": Projector(_step, _squares, Around(0, 2, 0, 2, 1), 4, "projector.scale_factor"),
    "gemma3": Projector(_fixed, _merged, Around(2), 4, "projector.scale_factor"),
    "gemma3nv": Projector(_fixed, _mobile, Around(2)),
    "gemma4v": Projector(_between(70, 1120), _merged, Around(2), 3, "projector.scale_factor"),
    "gemma4uv": Projector(_between(70, 1120), _squares, Around(2), 3, "projector.scale_factor"),
    "idefics3": Projector(_idefics, _merged, Around(0, 4, 0, 2, 1), 1, "projector.scale_factor"),
    "internvl": Projector(_internvl, _merged, Around(2), 1, "projector.scale_factor"),
    "nemotron_v2_vl": Projector(_fixed, _merged, Around(), 1, "projector.scale_factor"),
    "llama4": Projector(_llama4, _merged, Around(2), 1, "projector.scale_factor"),
    "pixtral": Projector(_between(8, 1024), _rows, Around(1), 1, "spatial_merge_size"),
    "lightonocr": Projector(_longest, _rows, Around(2), 1, "spatial_merge_size"),
    "lfm2": Projector(_lfm, _squares_up, Around(2, 1, 0, 1), 1, "projector.scale_factor"),
    "kimivl": Projector(_between(8, 1024), _squares_up, Around(2), 1, "projector.scale_factor"),
    "kimik25": Projector(_kimi, _squares_up, Around(2), 1, "projector.scale_factor"),
    "paddleocr": Projector(_pixels, _merged_up, Around(2), 2),
    "dots_ocr": Projector(_pixels, _merged_up, Around(2), 1, "projector.scale_factor"),
    "dots3note_v": Projector(_pixels, _merged_up, Around(2), 1, "spatial_merge_size"),
    "hunyuanvl": Projector(_hunyuan, _ended_rows, Around(2), 2, "spatial_merge_size"),
}


def image_tokens(image: ImageItem, keys: ProjectorKeys) -> ItemTokens:
    """Raises UnknownTokensError."""
    size = image.width, image.height
    resized.check_pixels(*size)
    kind = keys.projector
    if kind in ("deepseekocr", "deepseekocr2", "granite4_vision"):
        return _in_one(kind, size, keys)
    projector = PROJECTORS.get(kind)
    if projector is None:
        raise UnknownTokensError(f"no rule yet for the projector {kind!r} of the mmproj file")
    merge = projector.merge
    if projector.merge_key:
        merge = keys.count(projector.merge_key, merge, most=65_535)
    shown = ShownImage(size, keys, merge)
    pictures = projector.cut(shown)
    around = projector.around
    if kind == "resampler" and keys.count("clip.minicpmv_version", 0, least=0) in (0, 2):
        around = around._replace(slices=2)
    if kind == "lfm2" and pictures.size is None:
        around = around._replace(overview=0)
    return _with_markers(pictures, around, lambda one: projector.tokens(shown._replace(size=one)))


def _with_markers(pictures: Pictures, around: Around, count: Callable[[Pixels], int]) -> ItemTokens:
    tokens = 0
    markers = around.item
    words = []
    if pictures.size is not None:
        each = count(pictures.size)
        slices = pictures.columns * pictures.rows
        tokens += slices * each
        markers += around.slices + slices * around.each + (pictures.rows - 1) * around.row
        words.append(f"{slices:,} x {each:,}")
    if pictures.overview is not None:
        overview = count(pictures.overview)
        tokens += overview
        markers += around.overview
        words.append(f"{overview:,}")
    counted = f"{' + '.join(words)} tokens{marked(markers)}"
    return ItemTokens(tokens + markers, (pictures.step, counted))


def _in_one(kind: str, size: Pixels, keys: ProjectorKeys) -> ItemTokens:
    """Types whose tokens are not those of each picture alone."""
    if kind == "granite4_vision":
        return _unpadded(size, keys)
    tile, most = (640, 9) if kind == "deepseekocr" else (768, 6)
    pictures = sliced.pages(size, keys, tile, most)
    side = tile // 64
    page = (sliced.PAGE // 64) ** 2
    if kind == "deepseekocr":
        each = (side * pictures.columns + 1) * side * pictures.rows
        overview = page + 16 + 1
    else:
        each = pictures.columns * pictures.rows * side**2
        overview = page + 1
    steps = (pictures.step, f"{each:,} + {overview:,} tokens with ends of rows, 1 marker")
    return ItemTokens(each + overview + 1, steps)


def _unpadded(size: Pixels, keys: ProjectorKeys) -> ItemTokens:
    """Granite 4 Vision: LLaVA-NeXT's grid without its padding, an end at each row."""
    pictures = _granite(ShownImage(size, keys))
    windows = keys.side // keys.patch // keys.count("projector.window_side")
    side = keys.count("projector.query_side", most=65_535) * windows
    wide = pictures.columns * side
    high = pictures.rows * side
    if wide and high:
        width, height = size
        if divided(width, height) > divided(wide, high):
            new = int(height * wide / width + 1e-7)
            high -= 2 * int((high - new) / 2)
        else:
            new = int(width * high / height + 1e-7)
            wide -= 2 * int((wide - new) / 2)
    tokens = side**2 + (high * (wide + 1) if pictures.columns and pictures.rows else 0)
    grid = f"an overview and {pictures.columns} x {pictures.rows} squares of {keys.side:,} pixels"
    return ItemTokens(tokens + 1, (grid, f"{tokens:,} tokens with ends of rows, 1 marker"))
