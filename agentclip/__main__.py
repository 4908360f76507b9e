"""The program's entry, for `agentclip` and for `python -m agentclip`."""

from __future__ import annotations

import os
import signal
import sys

from agentclip import keys


def main() -> int:
    """Run the program and return its exit status."""
    if sys.platform != "win32":
        # An interrupt waits until somebody can answer it: the command line lets it in. It outlives the replacement below.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    held = keys.take(os.environ, keys.own_command_line(spec.name if spec else None))
    # Imported after the process may have been replaced: loading it twice would cost 60 ms.
    from agentclip import cli, undumpable  # noqa: PLC0415  registered deferred import

    if held:
        undumpable.make_undumpable()
    return cli.main(keys=held)


if __name__ == "__main__":
    sys.exit(main())
