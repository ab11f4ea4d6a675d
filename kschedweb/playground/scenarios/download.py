"""A revision as one file with all that it needs; the page and REST give the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse

from kschedweb.playground.scenarios import selectors

if TYPE_CHECKING:
    from kschedweb.playground.scenarios.models import ScenarioRevision


def export_response(revision: ScenarioRevision) -> HttpResponse:
    """The export, gzipped JSON, as a download."""
    response = HttpResponse(selectors.export(revision), content_type="application/gzip")
    filename = f"scenario-{revision.scenario_id}-{revision.number}.json.gz"
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["ETag"] = f'"{revision.number}"'
    return response
