"""``python -m hfinspect.web --output DIR [--pyodide DIR]``: the app as static files."""

import argparse
import sys
from pathlib import Path

from ..errors import HfinspectError
from .assemble import assemble


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hfinspect.web", description=__doc__)
    parser.add_argument("--output", required=True, type=Path, help="folder for the files")
    parser.add_argument(
        "--pyodide",
        type=Path,
        default=Path("package"),
        help="the unpacked npm package pyodide (npm pack pyodide); default: ./package",
    )
    parser.add_argument("--endpoint", help="another Hub than huggingface.co")
    parser.add_argument("--storage", nargs="*", default=(), help="hosts where it keeps files")
    arguments = parser.parse_args()
    try:
        written = assemble(
            arguments.output, arguments.pyodide, arguments.endpoint, arguments.storage
        )
    except HfinspectError as error:
        sys.stderr.write(f"error: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    size = sum(path.stat().st_size for path in written)
    sys.stdout.write(f"{len(written)} files, {size / 1e6:.1f} MB in {arguments.output}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
