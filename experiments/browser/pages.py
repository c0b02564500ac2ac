"""The web application: which address shows what. It answers GET alone and changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, request
from jinja2 import StrictUndefined
from werkzeug.exceptions import HTTPException, NotFound

from ..faults import RunError
from ..transcript import visible
from ..wording import count_text, duration_text, speedup_text, time_text
from . import answering, candidate_page, comparison_page, list_page, run_page, style
from .collection import Collection
from .stored import told
from .wording import ago, quantity, query_text, short, shortened, times, verdict, with_page

HOSTS = ["127.0.0.1", "localhost"]
"""Names under which this machine calls itself. A page of a stranger's whose name is made to point here is refused."""
POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load; there are no inline scripts and styles, so that none can be smuggled in."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Page = Callable[[Collection], Any]

PAGES: dict[str, Page] = {
    "/": list_page.runs,
    "/compare": comparison_page.compare,
    "/diff": comparison_page.diff,
    "/run": run_page.overview,
    "/candidates": run_page.candidates,
    "/lineage": run_page.lineage,
    "/candidate": candidate_page.candidate,
    "/report": run_page.report,
    "/best_so_far.svg": run_page.best_so_far_figure,
    "/lineage.svg": run_page.lineage_figure,
    "/samples.svg": candidate_page.samples_figure,
    "/curves.svg": comparison_page.curves_figure,
    "/style.css": style.sheet,
    "/browse.js": style.script,
    "/icon.svg": style.icon,
}


def application(collection: Collection) -> Flask:
    """Returns the application that shows a collection of runs.

    What is shown is given by the query, never by the path of an address, and a run is looked up
    among those that were found, so that no address can lead anywhere else.
    """
    app = Flask(__name__)
    app.config["TRUSTED_HOSTS"] = HOSTS
    app.logger.setLevel(logging.ERROR)
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters |= {
        "time": time_text,
        "counted": count_text,
        "duration": duration_text,
        "speedup": speedup_text,
        "times": times,
        "urlencode": query_text,
        "quantity": quantity,
        "verdict": verdict,
        "short": short,
        "ago": ago,
        "visible": visible,
        "shortened": shortened,
        "with_page": with_page,
    }
    app.jinja_env.globals["folder"] = str(collection.root.path)
    for rule, page in PAGES.items():
        app.add_url_rule(rule, rule, _bound(page, collection), methods=["GET"])
    app.register_error_handler(RunError, lambda fault: _refused(str(fault), 404))
    app.register_error_handler(OSError, lambda fault: _refused(f"a file cannot be read: {told(fault)}", 503))
    app.register_error_handler(HTTPException, _http)
    app.after_request(_secured)
    return app


def _bound(page: Page, collection: Collection) -> Callable[[], Any]:
    return lambda: page(collection)


def _secured(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _http(fault: HTTPException) -> Response:
    """Explains a refused request."""
    if isinstance(fault, NotFound):
        return _refused(f"there is no page {request.path}", 404)
    cause = getattr(fault, "original_exception", None)
    if cause is not None:
        return _refused(
            f"this page cannot be made: {told(cause)}. A record of the run is damaged, or this program is at fault; "
            "its traceback is where experiments.browse was started",
            500,
        )
    return _refused(fault.description or str(fault), fault.code or 500)


def _refused(message: str, status: int) -> Response:
    """Answers with a page that says why."""
    answer = answering.page("refused.html", message=message)
    answer.status_code = status
    return answer
