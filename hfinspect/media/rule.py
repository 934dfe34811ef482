"""What every family of processors answers: the tokens of an image, of a video and of a sound."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple, NoReturn, TypeVar

from ..core.media_tokens import AudioItem, ImageItem, VideoItem
from .processor_settings import ProcessorSettings, UnknownTokensError


class ItemTokens(NamedTuple):
    """Tokens of one item, and the steps to them; ``cross``: those that cross-attention keeps."""

    tokens: int
    steps: tuple[str, ...]
    cross: int = 0


class TokenRule(ABC):
    """One way to count. All three are answered, with a number or with UnknownTokensError, so that a
    family cannot be half there. ``source`` is the code of transformers (``TRANSFORMERS``) that the
    rule follows."""

    source: ClassVar[str]

    @abstractmethod
    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens: ...

    @abstractmethod
    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens: ...

    @abstractmethod
    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens: ...


#: Model type -> how its processor counts.
REGISTERED: Final[dict[str, TokenRule]] = {}

R = TypeVar("R", bound=TokenRule)


def counts(types: str, source: str | None = None) -> Callable[[type[R]], type[R]]:
    """Register a rule for model types, as words; without a ``source`` it is that of its base."""

    def register(rule: type[R]) -> type[R]:
        rule.source = source or rule.source
        REGISTERED.update(dict.fromkeys(types.split(), rule()))
        return rule

    return register


def marked(markers: int, before: str = ", ") -> str:
    """``, 2 markers``; nothing where there are none."""
    return f"{before}{markers:,} marker{'' if markers == 1 else 's'}" if markers else ""


class NoSuchPartError(UnknownTokensError):
    """The processor takes no item of this kind."""


def takes_no(kind: str, settings: ProcessorSettings) -> NoReturn:
    """Raises NoSuchPartError: the processor has no such part."""
    raise NoSuchPartError(f"the processor of {settings.model_type} takes no {kind}")


def not_judged(kind: str, settings: ProcessorSettings) -> NoReturn:
    """Raises UnknownTokensError: the processor has such a part, and no rule here follows it."""
    raise UnknownTokensError(f"no rule yet for {kind} of {settings.model_type}")


class NoSounds(TokenRule):
    """A rule whose processor has no sounds."""

    def audio(self, audio: AudioItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("audio", settings)


class ImagesOnly(NoSounds):
    """A rule whose processor has neither videos nor sounds."""

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)


class SoundsOnly(TokenRule):
    """A rule whose processor has neither images nor videos."""

    def image(self, image: ImageItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("image", settings)

    def video(self, video: VideoItem, settings: ProcessorSettings) -> ItemTokens:
        takes_no("video", settings)
