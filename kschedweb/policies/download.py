"""A revision as the file that kube-scheduler takes; the page and REST give the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision


def document_response(revision: Revision) -> HttpResponse:
    """The file that kube-scheduler's ``--config`` takes: the document as it was saved."""
    response = HttpResponse(revision.document, content_type="application/yaml; charset=utf-8")
    filename = f"{revision.policy.name}-{revision.number}.yaml"
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["ETag"] = f'"{revision.number}"'
    return response
