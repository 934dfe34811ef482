"""What a repo's processor files say, read as the library reads them, with its defaults behind.

Sources: ``image_processing_base.py``, ``video_processing_utils.py`` and ``processing_utils.py`` of
transformers (November 2026): ``processor_config.json`` holds a section for each part since
version 5; older repos have ``preprocessor_config.json``, which videos and sounds share.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ..core import data_files
from ..core.library_versions import TRANSFORMERS

#: The small files that hold settings, in the library's words.
PROCESSOR: Final = "processor_config.json"
PREPROCESSOR: Final = "preprocessor_config.json"
VIDEO: Final = "video_preprocessor_config.json"
FILES: Final = (PROCESSOR, PREPROCESSOR, VIDEO)

#: SettingsPart -> its sections of processor_config.json, and the older files that stand for it.
_PARTS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "image": (("image_processor",), (PREPROCESSOR,)),
    "video": (("video_processor",), (VIDEO, PREPROCESSOR)),
    "audio": (("feature_extractor", "audio_processor"), (PREPROCESSOR,)),
}

#: More than any processor sets; keeps numbers and loops small.
MAX_SETTING: Final = 2**31
#: Grids of tiles are tried one by one.
MAX_TILES: Final = 256
MAX_PINPOINTS: Final = 4_096


class UnknownTokensError(Exception):
    """Why the tokens of an item are not known; the message is shown as it is."""


class ProcessorSettings:
    """The settings of one model's processor: of its parts, and its own.

    ``files`` are the repo's small JSON files by name, ``config`` is its config.json.
    """

    def __init__(
        self, model_type: str, config: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.model_type = model_type
        self.config = config
        self._files = files
        self._defaults = _mapping(_recorded("defaults").get(model_type))
        self._used: set[str] = set()

    def part(self, name: str) -> "SettingsPart":
        """The image, the video or the audio part. Raises UnknownTokensError where neither a file
        nor the library's defaults hold it."""
        sections, older = _PARTS[name]
        processor = self._files.get(PROCESSOR, {})
        values = next((processor[one] for one in sections if _mapping(processor.get(one))), None)
        where = PROCESSOR
        if values is None:
            where = next((one for one in older if self._files.get(one)), "")
            values = self._files.get(where)
        default = next((_mapping(self._defaults[s]) for s in sections if s in self._defaults), None)
        if values is None and default is None:
            raise UnknownTokensError(
                f"there is no {older[0]}, and the library's own defaults for "
                f"{self.model_type} are not recorded"
            )
        if values is None:
            self._check_default(default or {})
        self._used.add(where or LIBRARY)
        values = dict(_mapping(values))
        set_by_class = _mapping(_mapping(_recorded("calls").get(self.model_type)).get(name))
        if "size" in set_by_class:  # older names of the same
            values.pop("min_pixels", None)
            values.pop("max_pixels", None)
        return SettingsPart(where or LIBRARY, {**values, **set_by_class}, default or {})

    def _check_default(self, default: Mapping[str, Any]) -> None:
        """Raises UnknownTokensError where config.json shows that the model was not trained with
        what the library sets by itself."""
        vision = _mapping(self.config.get("vision_config"))
        for key, name in (("patch_size", "patch_size"), ("merge_size", "spatial_merge_size")):
            default_value = default.get(key)
            trained = vision.get(name)
            if type(default_value) is type(trained) is int and default_value != trained:
                raise UnknownTokensError(
                    f"there is no {PREPROCESSOR}, and the library's own {key} {default_value} is "
                    f"not the model's {trained}"
                )

    @property
    def root(self) -> "SettingsPart":
        """What the processor itself sets, outside of its parts."""
        values = self._files.get(PROCESSOR, {})
        return SettingsPart(PROCESSOR if values else LIBRARY, values, self._defaults)

    def section(self, *names: str) -> "SettingsPart":
        """A section of config.json; the file itself without a name."""
        at: Mapping[str, Any] = self.config
        for name in names:
            at = _mapping(at.get(name))
        return SettingsPart("config.json", at, {})

    @property
    def source(self) -> str:
        """Which files the answer is from."""
        return ", ".join(sorted(self._used))


#: Where the class's own defaults were taken, as nothing in the repo says them.
LIBRARY: Final = f"the defaults of transformers {TRANSFORMERS}"


class SettingsPart:
    """Keys of one section, each checked as it is read."""

    def __init__(self, where: str, values: Mapping[str, Any], default: Mapping[str, Any]) -> None:
        self.where = where
        self._values = values
        self._default = default

    def raw(self, key: str) -> Any:
        """What the file says, or else the class's default; None where neither does."""
        value = self._values.get(key)
        return self._default.get(key) if value is None else value

    def says(self, key: str) -> bool:
        """Whether the repo's own file has the key."""
        return self._values.get(key) is not None

    def count(self, key: str, *, least: int = 1, most: int = MAX_SETTING) -> int:
        """A whole number. Raises UnknownTokensError."""
        return self._number(key, self.raw(key), least, most)

    def optional(self, key: str, default: int, *, least: int = 0) -> int:
        """A whole number, or the rule's own where neither file nor class has it."""
        value = self.raw(key)
        return default if value is None else self._number(key, value, least, MAX_SETTING)

    def share(self, key: str) -> float:
        """A number from zero on; zero where neither file nor class has it."""
        return self.ratio(key) if self.raw(key) else 0.0

    def ratio(self, key: str) -> float:
        """A number that is not zero. Raises UnknownTokensError."""
        value = self.raw(key)
        if type(value) not in (int, float) or not 0 < value < MAX_SETTING:
            raise self._wrong(key, value, "a number")
        return float(value)

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def text(self, key: str, default: str = "") -> str:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._wrong(key, value, "a text")
        return value

    def inner(self, key: str, *names: str) -> int:
        """A number of a mapping (``size.longest_edge``): the first of ``names`` that it has."""
        value = self.raw(key)
        if type(value) is int:  # a side, as older files write a size
            return self._number(key, value, 1, MAX_SETTING)
        section = _mapping(value)
        for name in names:
            if section.get(name) is not None:
                return self._number(f"{key}.{name}", section[name], 1, MAX_SETTING)
        raise self._wrong(f"{key}.{names[0]}", None, "a whole number")

    def couple(self, key: str, *, least: int = 1) -> tuple[int, int]:
        """A list of two numbers. Raises UnknownTokensError."""
        return self._two(key, self.raw(key), least)

    def pairs(self, key: str) -> list[tuple[int, int]]:
        """A list of (height, width). Raises UnknownTokensError."""
        value = self.raw(key)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_PINPOINTS:
            raise self._wrong(key, value, "a list of sizes")
        return [self._two(key, pair, 1) for pair in value]

    def _two(self, key: str, value: Any, least: int) -> tuple[int, int]:
        if not isinstance(value, list) or len(value) != 2:
            raise self._wrong(key, value, "two numbers")
        first, second = (self._number(key, one, least, MAX_SETTING) for one in value)
        return first, second

    def _number(self, key: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(key, value, f"a whole number from {least:,} to {most:,}")
        return int(value)

    def _wrong(self, key: str, value: Any, expected: str) -> UnknownTokensError:
        if value is None:
            return UnknownTokensError(f"{self.where} does not say {key}")
        return UnknownTokensError(f"{key} in {self.where} is not {expected}")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@cache
def _recorded(what: str) -> Mapping[str, Any]:
    """Model type -> what its processor's class sets by itself, in the form of processor_config.json
    (``defaults``), or passes to a part at every call, over those of the file (``calls``).

    Recorded by ``tests/oracle/record_media_tokens.py``.
    """
    defaults: Mapping[str, Any] = data_files.read(__package__, "library_defaults.json")[what]
    return defaults
