"""All runs below a folder as pages for a web browser: ``python -m experiments.browse ROOT``.

Lists, compares and explains runs, finished, failed or still running. Nothing is ever written, and
nothing but this machine can reach the pages.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from . import faults
from .browser import Collection, application, listening
from .names import check_import_names
from .wording import count_text

DEFAULT_PORT = 8765
EPILOG = """\
examples:
  python -m experiments.browse                                the runs below runs/
  python -m experiments.browse experiments/results            the stored results
  python -m experiments.browse runs --port 0 --open           any free port, and a window of the web browser

A run that is still going on is shown as far as it has come, and its pages follow it. On a host that
you reach by ssh, forward the port: ssh -L 8765:127.0.0.1:8765 HOST.
exit status: 0 ended by Ctrl-C, 1 the folder or the port cannot be used, 2 wrong usage, 143 ended by SIGTERM
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    return faults.main(partial(_command, sys.argv[1:] if argv is None else argv))


def _command(argv: Sequence[str]) -> int:
    """Serves pages until Ctrl-C or SIGTERM."""
    check_import_names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments.browse",
        description="Shows all runs below a folder in a web browser: lists, compares and explains them. Read-only.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("root", nargs="?", type=Path, default=Path("runs"), metavar="ROOT", help="default: runs")
    parser.add_argument(
        "--port", type=_port, metavar="N", help=f"default: {DEFAULT_PORT}, or any free one; 0: any free one"
    )
    parser.add_argument("--open", action="store_true", help="open a window of the web browser, too")
    arguments = parser.parse_args(argv)
    collection = Collection(arguments.root)
    print(f"looking for runs below {collection.root.path} …", flush=True)
    count = len(collection.summaries())
    with listening(application(collection), arguments.port, DEFAULT_PORT) as server:
        url = f"http://127.0.0.1:{server.port}/"
        print(f"{count_text(count, 'run')} at {url} (Ctrl-C ends)", flush=True)
        if arguments.open and not webbrowser.open(url):
            print("note: no web browser could be opened; open the address by hand", file=sys.stderr)
        server.serve_forever()  # which takes Ctrl-C as its end
    return 0


def _port(text: str) -> int:
    """Returns a port number.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not (text.isdecimal() and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
