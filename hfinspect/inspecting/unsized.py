"""A model that is there and of which nothing says how large it is: an inspection without tensors.

Whoever asks what is inside gets an error; whoever asks whether it fits gets an answer, which is
that nobody knows (``memory`` with a device).
"""

from collections.abc import Mapping
from typing import Any, Final

from ..analysis.key_facts import facts_of
from ..core.checkpoint import Finding
from ..core.expectation import NO_SIZES
from ..core.refs import Origin
from ..core.results import Inspection
from ..errors import HfinspectError, NoComponentError, UnknownArchitectureError, UnnamedModelError
from .build import Inspected
from .pipelines import not_there

#: Errors of what is read well and says no sizes; a file that is broken is none of them.
UNSIZED: Final = (UnknownArchitectureError, NoComponentError, UnnamedModelError)


def unsized(
    name: str, origin: Origin, error: HfinspectError, config: Mapping[str, Any] | None = None
) -> Inspected:
    """What is known without any size: the keys of the ``config``, and as a finding the reason.
    ``error`` is kept in ``Inspected.refused``."""
    values = config or {}
    model_type = values.get("model_type")
    classes = values.get("architectures")
    class_name = classes[0] if isinstance(classes, list) and classes else None
    inspection = Inspection(
        target=name,
        origin=origin,
        source="config",
        tensors=(),
        parameters=None,
        logical=None,
        stored=None,
        buffers=0,
        bookkeeping=0,
        nbytes=None,
        components={},
        parts={},
        dtypes={},
        model_type=model_type if isinstance(model_type, str) else None,
        architecture=class_name if isinstance(class_name, str) else None,
        findings=(Finding(NO_SIZES, _reason(error)),),
        config=config,
        facts=facts_of(config, None),
    )
    if not isinstance(error, NoComponentError):  # whose subject is the target already
        error.of(name)
    return Inspected(inspection, refused=error)


def _reason(error: HfinspectError) -> str:
    """In a few words, without the target."""
    if isinstance(error, NoComponentError) and error.missing:
        return not_there(error.missing)
    if isinstance(error, NoComponentError):
        return "no component's config is of a known class"
    where = f" ({error.where})" if error.where else ""
    return f"{error.subject} {error.found}{where}"
