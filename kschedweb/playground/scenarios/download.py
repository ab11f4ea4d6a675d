"""Downloads of scenarios, for the page and REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse

from kschedweb.playground.scenarios import selectors

if TYPE_CHECKING:
    from kschedweb.playground.scenarios.models import ScenarioRevision


def export_response(revision: ScenarioRevision) -> HttpResponse:
    """Return the revision with everything it needs as one file of gzipped JSON."""
    response = HttpResponse(selectors.export_revision(revision), content_type="application/gzip")
    filename = f"scenario-{revision.scenario_id}-{revision.number}.json.gz"
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["ETag"] = f'"{revision.number}"'
    return response
