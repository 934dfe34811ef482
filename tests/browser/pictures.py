"""The pictures of the documents, made by the program itself.

    python -m tests.browser.pictures

``docs/pictures/MODEL.svg`` is what ``hfinspect MODEL --output MODEL.svg`` writes, ``MODEL.png`` the
top of its page in headless Chromium, in 96 colours where Pillow is installed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from .chromium import Chromium

FOLDER = ROOT / "docs" / "pictures"
#: Model -> (width, height, dark, the chapter that is shown).
SHOWN = {
    "llama-3-8b": (1100, 1150, False, ""),
    "deepseek-v3": (1100, 1420, True, "where"),
    "gpt2": (1100, 1000, False, "why"),
    "mixtral-8x7b": (1100, 950, True, "memory"),
    "bert-base-uncased": (400, 1150, False, "where"),
}
#: Pictures for the README and for a model card.
DRAWN = ("llama-3-8b", "deepseek-v3")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    browser = Chromium()
    with tempfile.TemporaryDirectory(prefix="models-") as home:
        for name, (width, height, dark, chapter) in SHOWN.items():
            shutil.copytree(ROOT / "fixtures" / "models" / name, Path(home) / name)
            page = Path(home) / f"{name}.html"
            assert program(name, "--output", page.name, cwd=Path(home)).code == 0
            browser.open(page, width=width, height=height, dark=dark)
            if chapter:
                browser.value(f"document.getElementById('{chapter}').scrollIntoView()")
            if chapter == "why":
                browser.value("document.querySelector('.letter').click()")
            browser.screenshot(FOLDER / f"{name}.png")
            _smaller(FOLDER / f"{name}.png")
        for name in DRAWN:
            output = FOLDER / f"{name}.svg"
            assert program(name, "--output", str(output), cwd=Path(home)).code == 0
    browser.close()


def _smaller(path: Path) -> None:
    try:
        from PIL import Image
    except ImportError:
        return
    image = Image.open(path).convert("RGB")
    image.quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
