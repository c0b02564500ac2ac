"""Style sheet, script and icon of the pages; highlighted sources have colours for light and for dark paper."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from flask import Response
from pygments.formatters import HtmlFormatter

from .collection import Collection

LIGHT, DARK = "xcode", "github-dark"
"""Pygments styles whose tokens stand out enough from the paper."""


def sheet(collection: Collection) -> Response:
    """Answers with the style sheet."""
    return Response(_rules(), mimetype="text/css", headers={"Cache-Control": "max-age=600"})


def script(collection: Collection) -> Response:
    """Answers with what makes pages follow a run."""
    return Response(_own("browse.js"), mimetype="text/javascript", headers={"Cache-Control": "max-age=600"})


def icon(collection: Collection) -> Response:
    """Answers with the picture of the tab."""
    return Response(_own("icon.svg"), mimetype="image/svg+xml", headers={"Cache-Control": "max-age=600"})


def _own(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


@cache
def _rules() -> str:
    shared = (files("experiments") / "templates" / "report.css").read_text("utf-8")
    light, dark = (HtmlFormatter(style=name, nobackground=True).get_style_defs(".code") for name in (LIGHT, DARK))
    return "\n".join([shared, _own("browse.css"), light, "@media (prefers-color-scheme: dark) {", dark, "}\n"])
