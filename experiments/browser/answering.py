"""What every page needs: the query of the request, and the answer to it."""

from __future__ import annotations

import re

from flask import Response, render_template, request

from .collection import Collection
from .recording import Recording

FIGURE_S = 3600
"""How long a browser may keep a figure; its address changes with what it shows."""


def asked(name: str, otherwise: str = "") -> str:
    """Returns one value of the query."""
    return request.args.get(name, otherwise)


def number(name: str, otherwise: int) -> int:
    """Returns one value of the query as a number, or ``otherwise`` where it is none."""
    text = asked(name)
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else otherwise


def chosen(collection: Collection) -> Recording:
    """Opens the run that the query names.

    Raises:
        RunError: There is none of this name.
    """
    return collection.recording(asked("run"))


def page(name: str, **values: object) -> Response:
    """Answers with a page. Halves of surrogate pairs, which JSON may hold and UTF-8 may not, are spelt out."""
    return Response(render_template(name, **values).encode("utf-8", "backslashreplace"), mimetype="text/html")


def is_dark() -> bool:
    """Returns whether a figure is asked for that will stand on dark paper."""
    return asked("paper") == "dark"


def figure(svg: bytes) -> Response:
    """Answers with an image."""
    return Response(svg, mimetype="image/svg+xml", headers={"Cache-Control": f"private, max-age={FIGURE_S}"})
