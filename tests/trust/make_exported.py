"""A small exported program: ``fixtures/trust/exported.json``, its members in base64.

Needs torch: ``python -m tests.trust.make_exported``.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path

FILE = Path(__file__).parents[2] / "fixtures" / "trust" / "exported.json"


def main() -> None:
    import torch

    class Plus(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x.shape[0] // 2

    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Plus(), (torch.ones(4, 2),), dynamic_shapes={"x": {0: rows}})
    out = io.BytesIO()
    torch.export.save(program, out)
    with zipfile.ZipFile(out) as archive:
        members = {
            name: base64.b64encode(archive.read(name)).decode() for name in archive.namelist()
        }
    FILE.write_text(json.dumps({"torch": torch.__version__, "members": members}) + "\n")


if __name__ == "__main__":
    main()
