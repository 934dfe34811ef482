"""``python -m hfinspect`` and the console scripts."""

import gc
import os
import sys

#: New objects between two looks for cycles. What a start makes stays, so Python's 700 are in vain.
_NEW_OBJECTS = 50_000


def main() -> None:
    """Run the command line; ``--version`` alone imports nothing but the version."""
    if sys.argv[1:] == ["--version"]:
        from ._version import __version__
        from .cli.streams import show_version

        sys.exit(show_version(__version__))
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from .cli.interrupt import watch

        watch()
        from .cli.fast_path import begin

        begun = begin(sys.argv[1:])
        from .cli.outcome import leave, run

        leave(run(sys.argv[1:], begun))
    except (KeyboardInterrupt, RuntimeError) as error:  # before there is a command, or after
        from .cli.interrupt import hides_interrupt, say_interrupted

        if isinstance(error, RuntimeError) and not hides_interrupt(error):
            raise
        os._exit(say_interrupted())


if __name__ == "__main__":
    main()
