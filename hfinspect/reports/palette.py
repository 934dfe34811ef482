"""One colour and one pattern for each component, the same in a page, an SVG and a notebook.

Every colour carries white text at 4.5 to 1 at least, in the light and in the dark scheme, and lines
of a pattern are darker still, so that text stands on them too. Who sees no colours knows components
by their patterns and names.
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, NamedTuple


class Ink(NamedTuple):
    """``light`` and ``dark`` are the fills of the two schemes; ``lines`` a path on a square of
    eight, drawn over and over."""

    light: str
    dark: str
    lines: str


INKS: Final = MappingProxyType(
    {
        "embedding": Ink("#1c63b0", "#2f72b9", "M0 8L8 0"),
        "attention": Ink("#1f7040", "#2b7a4b", "M2 0v3M6 4v3"),
        "mlp": Ink("#7b3fa8", "#8850b1", "M0 0L8 8"),
        "router": Ink("#0d6b73", "#1d777e", "M0 8L8 0M0 0L8 8"),
        "ssm": Ink("#8a5208", "#95611c", "M0 4h8"),
        "conv": Ink("#7d5330", "#875f3e", "M0 4h8M4 0v8"),
        "projector": Ink("#5a4fc4", "#675dc9", "M4 0v8"),
        "norm": Ink("#565c66", "#686e78", ""),
        "head": Ink("#a8336b", "#b04576", "M0 2h8M0 6h8"),
        "other": Ink("#4a5058", "#646a72", "M2 5v3"),
        "beyond": Ink("#6b5b1e", "#75662c", "M0 4L4 8M4 0L8 4"),
    }
)

#: Fill of a pipeline's part in both schemes; its components lie on it in their own colours.
PART: Final = "#3d434b"

#: What memory is for, in the colours of components that stand for as much elsewhere.
_ALIKE: Final = MappingProxyType({"weights": "mlp", "cache": "attention", "workspace": "norm"})


def ink_of(component: str) -> str:
    """The name under which a component has its colour."""
    return component if component in INKS else _ALIKE.get(component, "other")


def variables(scheme: str, names: Iterable[str] = tuple(INKS)) -> str:
    """CSS variables of one scheme: ``--mlp:#7b3fa8;...``."""
    return "".join(f"--{name}:{getattr(INKS[name], scheme)};" for name in names)


def patterns(names: Iterable[str]) -> str:
    """SVG patterns ``p-mlp`` that fill with a component's colour and its lines."""
    return "".join(
        f'<pattern id="p-{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path d="M0 0h8v8h-8z" fill="var(--{name})"/>'
        + (f'<path d="{lines}" class="l"/>' if (lines := INKS[name].lines) else "")
        + "</pattern>"
        for name in names
    )
