"""A report as a download. The page contains its styles, charts and code, and loads nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from django.contrib.staticfiles import finders
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string

from kschedweb.playground.reports.content import CSV_HEAD
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import csv_response

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.playground.reports.content import ReportContent

FORMATS = ("html", "json", "csv")


def report_response(report: ReportContent, form: str) -> HttpResponseBase:
    """Return ``report`` as a download in one of FORMATS. Raise ApplicationError for another format."""
    name = f"{report.stem}-report.{form}"
    if form == "csv":
        return csv_response(name, list(CSV_HEAD), report.csv_rows())
    answer: HttpResponse
    if form == "json":
        answer = JsonResponse(report.to_dict())
    elif form == "html":
        answer = HttpResponse(render_page(report), content_type="text/html; charset=utf-8")
    else:
        message = f"A report is one of {', '.join(FORMATS)}."
        raise ApplicationError.at("as", message)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def render_page(report: ReportContent) -> str:
    """Return the report as one HTML document. Its content security policy allows one script by digest, and no
    loading."""
    # An end tag within the code would end the element; the digest is that of the text as it stands in the page.
    script = _read_built("charts.js").replace("</script", "<\\/script")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    context = {
        "report": report,
        "policy": allowed,
        "styles": _read_built("app.css").replace("</style", "<\\/style"),
        "script": script,
        # The licences stand in a comment, which two hyphens would end.
        "licenses": _read_built("charts.js.LEGAL.txt").replace("--", "- "),
    }
    return render_to_string(report.template, context)


def _read_built(name: str) -> str:
    """Return a file of the built frontend; "" if it is not built, and then the report has tables but no charts."""
    path = finders.find(name)
    return Path(path).read_text(encoding="utf-8") if isinstance(path, str) else ""
