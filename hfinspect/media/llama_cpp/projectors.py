"""How each type of projector counts an image: llama.cpp's ``clip_n_output_tokens``, and what its
tokenizer writes around the pictures (``tools/mtmd`` of November 2026)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...core.media_tokens import ImageItem
from ..processor_settings import UnknownTokensError
from ..rule import ItemTokens, marked
from . import resized_images as resized
from . import sliced_images as sliced
from .projector_keys import MAX_PIXELS, ProjectorKeys, divided
from .resized_images import Size
from .sliced_images import Pictures


class Seen(NamedTuple):
    """An image or one of its pictures, the keys, and how many patches a side are a token."""

    size: Size
    keys: ProjectorKeys
    merge: int = 1

    @property
    def square(self) -> int:
        """Pixels a side of a token."""
        return self.keys.patch * self.merge


Cut = Callable[[Seen], Pictures]
Count = Callable[[Seen], int]


class Around(NamedTuple):
    """Markers of an item, of its whole, of all slices, of each slice, and of each row but the
    last."""

    item: int = 0
    whole: int = 0
    slices: int = 0
    each: int = 0
    row: int = 0


class Projector(NamedTuple):
    """``merge`` is the default of patches a side in a token, ``merge_key`` the key over it."""

    cut: Cut
    tokens: Count
    around: Around = Around()
    merge: int = 1
    merge_key: str = ""


# --- pictures ---


def _fixed(seen: Seen) -> Pictures:
    return Pictures(whole=(seen.keys.side, seen.keys.side))


def _llava(seen: Seen) -> Pictures:
    points = seen.keys.pinpoints()
    return sliced.listed(seen.size, seen.keys.side, points) if points else _fixed(seen)


def _between(least: int, most: int) -> Cut:
    """Numbers of tokens that stand in llama.cpp's code."""

    def cut(seen: Seen) -> Pictures:
        return _within(seen, least * seen.square**2, most * seen.square**2)

    return cut


def _within(seen: Seen, least: int, most: int) -> Pictures:
    if not 0 < least <= most <= MAX_PIXELS:
        raise UnknownTokensError("the least pixels of the mmproj file are more than the most")
    return Pictures(whole=resized.preserved_ratio(seen.size, seen.square, least, most))


def _pixels(seen: Seen) -> Pictures:
    least, most = seen.keys.count("image_min_pixels"), seen.keys.count("image_max_pixels")
    return _within(seen, least, most)


def _kimi(seen: Seen) -> Pictures:
    least, most = (seen.keys.count(f"image_{one}_pixels", 0, least=0) for one in ("min", "max"))
    if least and most:
        return _within(seen, least, most)
    return _between(2, 4096)(seen)


def _hunyuan(seen: Seen) -> Pictures:
    area = (seen.keys.patch * 2) ** 2
    least = seen.keys.count("image_min_pixels", 256 * area)
    return _within(seen, least, seen.keys.count("image_max_pixels", 16_384 * area))


def _glm5(seen: Seen) -> Pictures:
    least, most = seen.keys.count("image_min_pixels"), seen.keys.count("image_max_pixels")
    return Pictures(whole=resized.aligned_up(seen.size, seen.square, least, most))


def _youtu(seen: Seen) -> Pictures:
    most = 62_500 * seen.square**2 // seen.keys.patch**2
    return Pictures(whole=resized.by_small_steps(seen.size, seen.keys.patch, seen.square, most))


def _muse(seen: Seen) -> Pictures:
    return Pictures(whole=resized.nearest_shape(seen.size, seen.square, 4_096))


def _longest(seen: Seen) -> Pictures:
    longest = seen.keys.count("preproc_image_size", seen.keys.side, most=65_536)
    return Pictures(whole=resized.preserved_ratio(seen.size, seen.square, 0, 0, longest))


def _idefics(seen: Seen) -> Pictures:
    return sliced.idefics(seen.size, seen.keys)


def _minicpm(seen: Seen) -> Pictures:
    return sliced.free_slices(*seen)


def _minicpm_merged(seen: Seen) -> Pictures:
    return sliced.minicpm_merged(*seen)


def _internvl(seen: Seen) -> Pictures:
    most = seen.keys.count("preproc_max_tiles", 12)
    least = seen.keys.count("preproc_min_tiles", 1, most=most)
    candidates = seen.keys.pinpoints() + sliced.in_squares(least, most, seen.keys.side)
    if not candidates:
        raise UnknownTokensError("no grid has so many tiles")
    return sliced.listed(seen.size, seen.keys.side, candidates)


def _llama4(seen: Seen) -> Pictures:
    side, three = seen.keys.side, range(1, 4)
    grids = [(x * side, y * side) for x in three for y in three if x * y > 1]
    return sliced.listed(seen.size, side, seen.keys.pinpoints() + grids)


def _lfm(seen: Seen) -> Pictures:
    area = seen.square**2
    return sliced.lfm(seen.size, seen.keys, seen.merge, 64 * area, 256 * area)


def _step(seen: Seen) -> Pictures:
    return sliced.windows(seen.size, seen.keys)


def _granite(seen: Seen) -> Pictures:
    points = seen.keys.pinpoints()
    if not points:
        raise UnknownTokensError("clip.vision.image_grid_pinpoints of the mmproj file is not there")
    side, best = seen.keys.side, resized.best_candidate(seen.size, points)
    return Pictures(best[0] // side, best[1] // side, None, (side, side))


# --- tokens of one picture ---


def _patches(seen: Seen) -> int:
    return _by_square(seen.size, seen.keys.patch)


def _merged(seen: Seen) -> int:
    return _patches(seen) // seen.merge**2


def _merged_up(seen: Seen) -> int:
    return -(-_patches(seen) // seen.merge**2)


def _quarter(seen: Seen) -> int:
    return _patches(seen) // 4


def _edge(seen: Seen) -> int:
    return _quarter(seen) + (2 if "adapter.boi" in seen.keys.tensors else 0)


def _pairs(seen: Seen) -> int:
    """Two patches a side, whatever the file's merge."""
    return _by_square(seen.size, seen.keys.patch * 2)


def _squares(seen: Seen) -> int:
    return _by_square(seen.size, seen.square)


def _by_square(size: Size, side: int) -> int:
    return (size[0] // side) * (size[1] // side)


def _squares_up(seen: Seen) -> int:
    side = seen.square
    return -(-seen.size[0] // side) * -(-seen.size[1] // side)


def _cog(seen: Seen) -> int:
    return _patches(seen) + 2


def _yasa(_: Seen) -> int:
    return 64


def _queries(seen: Seen) -> int:
    version = seen.keys.count("clip.minicpmv_version", 0, least=0)
    if version not in _MINICPM:
        raise UnknownTokensError(f"llama.cpp has no MiniCPM-V of version {version}")
    queries = seen.keys.count("clip.minicpmv_query_num", 0, least=0)
    return queries or (96 if version in (0, 2) else 64)


_MINICPM: Final = (0, 2, 3, 4, 5, 6, 100_045)


def _mobile(seen: Seen) -> int:
    return seen.keys.side // seen.keys.patch


def _rows(seen: Seen) -> int:
    rows = seen.size[1] // seen.keys.patch // seen.merge
    ends = rows - 1 if "v.token_embd.img_break" in seen.keys.tensors else 0
    return rows * (seen.size[0] // seen.keys.patch // seen.merge) + ends


def _ended_rows(seen: Seen) -> int:
    wide, high = (side // seen.keys.patch // seen.merge for side in seen.size)
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
    seen = Seen(size, keys, merge)
    pictures, around = projector.cut(seen), projector.around
    if kind == "resampler" and keys.count("clip.minicpmv_version", 0, least=0) in (0, 2):
        around = around._replace(slices=2)
    if kind == "lfm2" and pictures.size is None:
        around = around._replace(whole=0)
    return _with_markers(pictures, around, lambda one: projector.tokens(seen._replace(size=one)))


def _with_markers(pictures: Pictures, around: Around, count: Callable[[Size], int]) -> ItemTokens:
    tokens, markers, words = 0, around.item, []
    if pictures.size is not None:
        each, slices = count(pictures.size), pictures.columns * pictures.rows
        tokens += slices * each
        markers += around.slices + slices * around.each + (pictures.rows - 1) * around.row
        words.append(f"{slices:,} x {each:,}")
    if pictures.whole is not None:
        whole = count(pictures.whole)
        tokens += whole
        markers += around.whole
        words.append(f"{whole:,}")
    counted = f"{' + '.join(words)} tokens{marked(markers)}"
    return ItemTokens(tokens + markers, (pictures.step, counted))


def _in_one(kind: str, size: Size, keys: ProjectorKeys) -> ItemTokens:
    """Types whose tokens are not those of each picture alone."""
    if kind == "granite4_vision":
        return _unpadded(size, keys)
    tile, most = (640, 9) if kind == "deepseekocr" else (768, 6)
    pictures, side = sliced.pages(size, keys, tile, most), tile // 64
    page = (sliced.PAGE // 64) ** 2
    if kind == "deepseekocr":
        each, whole = (side * pictures.columns + 1) * side * pictures.rows, page + 16 + 1
    else:
        each, whole = pictures.columns * pictures.rows * side**2, page + 1
    steps = (pictures.step, f"{each:,} + {whole:,} tokens with ends of rows, 1 marker")
    return ItemTokens(each + whole + 1, steps)


def _unpadded(size: Size, keys: ProjectorKeys) -> ItemTokens:
    """Granite 4 Vision: LLaVA-NeXT's grid without its padding, an end at each row."""
    pictures = _granite(Seen(size, keys))
    windows = keys.side // keys.patch // keys.count("projector.window_side")
    side = keys.count("projector.query_side", most=65_535) * windows
    wide, high = pictures.columns * side, pictures.rows * side
    if wide and high:
        width, height = size
        if divided(width, height) > divided(wide, high):
            new = int(height * wide / width + 1e-7)
            high -= 2 * int((high - new) / 2)
        else:
            new = int(width * high / height + 1e-7)
            wide -= 2 * int((wide - new) / 2)
    tokens = side**2 + (high * (wide + 1) if pictures.columns and pictures.rows else 0)
    grid = f"the whole and {pictures.columns} x {pictures.rows} squares of {keys.side:,} pixels"
    return ItemTokens(tokens + 1, (grid, f"{tokens:,} tokens with ends of rows, 1 marker"))
