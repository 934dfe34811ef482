"""A list of layers as a strip: a column for each, as high as its bytes, in pieces by component."""

from collections.abc import Sequence

from .drawings import Stretch, sized
from .palette import ink_of

_WIDTH = 1000
_HEIGHT = 96
#: Of more layers equal neighbours are one column.
_MAX_COLUMNS = 160


def strip_svg(name: str, stretches: Sequence[Stretch], unit: str) -> str:
    """``name`` is escaped already. One path for each component: a page of 61 layers of seven
    components takes 2 kB for it."""
    order = sorted(
        ((layer, stretch) for stretch in stretches for layer in stretch.layers),
        key=lambda item: item[0],
    )
    columns = _columns([stretch for _, stretch in order])
    most = max((sum(s.components.values()) for s in stretches), default=0)
    if not columns or not most:
        return ""
    step = _WIDTH / len(order)
    gap = min(step * 0.14, 3.0) if len(columns) == len(order) else 0.0
    paths: dict[str, list[str]] = {}
    for first, count, stretch in columns:
        bottom = float(_HEIGHT)
        for component, size in stretch.components.items():
            height = size / most * _HEIGHT
            if height >= 0.4:
                x = first * step
                w = count * step - gap
                paths.setdefault(ink_of(component), []).append(
                    f"M{x:.1f} {bottom:.1f}v{-height:.1f}h{w:.1f}v{height:.1f}z"
                )
            bottom -= height
    drawn = "".join(f'<path fill="url(#p-{ink})" d="{"".join(d)}"/>' for ink, d in paths.items())
    kinds = len({id(s.components) for s in stretches})
    largest = sized(most, unit)
    return (
        f'<figure><svg class="strip" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{len(order)} layers, {kinds} kinds, {unit} of each">{drawn}</svg>'
        f"<figcaption><code>{name}</code> {order[0][0]} to {order[-1][0]}, {unit} of each layer; "
        f"the largest has {largest}</figcaption></figure>\n"
    )


def _columns(stretches: Sequence[Stretch]) -> list[tuple[int, int, Stretch]]:
    """(first layer, how many, of which kind)."""
    if len(stretches) <= _MAX_COLUMNS:
        return [(i, 1, stretch) for i, stretch in enumerate(stretches)]
    runs: list[tuple[int, int, Stretch]] = []
    for i, stretch in enumerate(stretches):
        if runs and runs[-1][2] is stretch:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, stretch)
        else:
            runs.append((i, 1, stretch))
    return runs[:2000]
