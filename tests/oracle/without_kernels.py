"""torchvision without its compiled operators, which not every build of torch has: timm's models and
the resizing of pictures need none of them."""

from __future__ import annotations

import importlib.util
from typing import Any


def import_torchvision() -> None:
    """Nothing where it is not installed: what needs it says so."""
    if importlib.util.find_spec("torchvision") is None:
        return
    import torch

    real = torch.library.register_fake

    def skipped(name: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(name, str) and name.startswith("torchvision::"):
            return lambda function: function
        return real(name, *args, **kwargs)

    torch.library.register_fake = skipped
    import torchvision  # noqa: F401

    torch.library.register_fake = real
