"""HI307 and HI308: dtypes of the weights against the config's."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ...core.components import Role
from ..facts.compared import declared_dtype
from ..facts.target import Folder, TargetFacts
from ..registry import RuleFinding, rule

_FLOATS = ("F64", "F32", "F16", "BF16")
_SIXTEEN = ("F16", "BF16")


@rule("HI307", "dtype", "warning")
def dtype(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Most weights are of another dtype than the config says.

    Why: with dtype="auto" the model is loaded in the config's, so it is cast without a word.

    Fix: correct `dtype` (formerly `torch_dtype`) in the config, or save the weights in it.
    """
    for folder, declared, counts in _dtypes(facts):
        most = max(counts, key=lambda name: counts[name])
        if most != declared and not (most == "F32" and declared in _SIXTEEN):
            text = f"most weights are {most}"
            yield RuleFinding(text, folder.main.label if folder.main else None, None, declared)


@rule("HI308", "mixed-precision", "note")
def mixed_precision(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The weights are of several float dtypes.

    Why: it is often meant (routers, norms and state-space parameters in float32), and sometimes
    one shard that was saved differently.

    Fix: none needed if it is meant.
    """
    for folder, _, counts in _dtypes(facts):
        if len(counts) > 1:
            shown = ", ".join(f"{count:,} parameters {name}" for name, count in counts.items())
            yield RuleFinding(shown, folder.main.label if folder.main else None)


def _dtypes(facts: TargetFacts) -> Iterator[tuple[Folder, str | None, Mapping[str, int]]]:
    """(folder, the config's dtype, parameters by float dtype) where weights are plain floats."""
    for folder in facts.folders:
        inspection = folder.judged.inspection
        if inspection is None or folder.config is None or "quantization_config" in folder.config:
            continue
        counts: Counter[str] = Counter()
        for info in inspection.tensors:
            if info.dtype in _FLOATS and info.role is Role.PARAMETER:
                counts[info.dtype] += info.own_elements
        declared = declared_dtype(folder.config)
        if counts and declared is not None:
            yield folder, declared, dict(counts.most_common())
