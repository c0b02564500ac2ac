"""A web server that only this machine can reach."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from flask import Flask
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from ..faults import RunError

HOST = "127.0.0.1"


class QuietHandler(WSGIRequestHandler):
    """Says nothing about requests that went well."""

    timeout = 60
    """Seconds that a connection may stay silent."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Says nothing."""


@contextmanager
def listening(application: Flask, port: int | None, preferred: int) -> Iterator[BaseWSGIServer]:
    """Listens on a port of the loopback interface; requests are answered in threads.

    Args:
        application: What answers.
        port: Where to listen; 0 for any free one, None for ``preferred`` or any free one.
        preferred: A port that can be remembered.

    Raises:
        RunError: The port that was asked for cannot be had.
    """
    with closing(_taken(preferred if port is None else port, or_any=port is None)) as socket_:
        made = make_server(
            HOST,
            socket_.getsockname()[1],
            application,
            threaded=True,
            request_handler=QuietHandler,
            fd=socket_.fileno(),
        )
        try:
            yield made
        finally:
            made.server_close()


def _taken(port: int, *, or_any: bool) -> socket.socket:
    """Takes a port before the server does, whose own complaints would end the process."""
    try:
        return socket.create_server((HOST, port))
    except OSError as fault:
        if fault.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        if or_any:
            return socket.create_server((HOST, 0))
        why = "is taken by another program" if fault.errno == errno.EADDRINUSE else "needs more rights"
        raise RunError(f"port {port} {why}; choose another with --port, or leave it out for any free one") from fault
