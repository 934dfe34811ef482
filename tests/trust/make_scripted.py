"""A small TorchScript archive: ``fixtures/trust/scripted.json``, its members in base64.

Needs torch: ``python -m tests.trust.make_scripted``. Its ``__setstate__`` ends with ``pass``, in
place of which samples put what they run.
"""

import base64
import io
import json
import zipfile
from pathlib import Path

FILE = Path(__file__).parents[2] / "fixtures" / "trust" / "scripted.json"
MARK = 'torch.save(w, "canary")'


def main() -> None:
    import torch

    class Plain(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.zeros(1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        @torch.jit.export  # type: ignore[untyped-decorator]
        def __getstate__(self) -> tuple[torch.Tensor, bool]:
            return self.w, self.training

        @torch.jit.export  # type: ignore[untyped-decorator]
        def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
            self.w = state[0]
            self.training = state[1]
            torch.save(self.w, "canary")

    out = io.BytesIO()
    torch.jit.save(torch.jit.script(Plain()), out)
    members = {}
    with zipfile.ZipFile(out) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith("__torch__.py"):
                assert MARK.encode() in data
                data = data.replace(MARK.encode(), b"pass")
            if not name.endswith(".debug_pkl"):
                members[name] = base64.b64encode(data).decode()
    FILE.write_text(json.dumps({"torch": torch.__version__, "members": members}) + "\n")


if __name__ == "__main__":
    main()
