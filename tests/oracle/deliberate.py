"""Where the catalog differs from what transformers saves, on purpose: one row a reason.

The catalog's names are those of released files.  The fuzz leaves these comparisons out or takes the
modules' own names; everything else that differs is a fault.
"""

from __future__ import annotations

#: model_type -> why the modules' own names are compared: what ``save_pretrained`` writes has names
#: that no released file has, or leaves out what released files hold and the model counts.
MODULE_NAMES = {
    "esm": "released files hold what a save leaves out",
    "marian": "released files hold the position tables that a save leaves out",
}
