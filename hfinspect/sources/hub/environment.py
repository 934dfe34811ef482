"""Whether there may be a token on this machine: where huggingface_hub looks for one.

Its own search imports parsers and locks, which take longer than the request of a small model.
"""

import os
import sys

#: Variables with a token, or of what exchanges one.
VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE")


def may_have_token() -> bool:
    """False only where huggingface_hub's ``get_token`` finds none: no variable of ``VARIABLES``, no
    token file, and no notebook, whose service may keep one."""
    from .settings import hub_constants

    constants = hub_constants()
    if any(os.environ.get(name) for name in VARIABLES) or "IPython" in sys.modules:
        return True
    return os.path.lexists(constants.HF_TOKEN_PATH)
