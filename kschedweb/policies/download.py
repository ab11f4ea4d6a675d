"""Downloads of revisions as files for kube-scheduler, for the page and REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision


def document_response(revision: Revision) -> HttpResponse:
    """Return the document as saved, for ``--config`` or, for a classic policy, ``--policy-config-file``."""
    name = f"{revision.policy.name}-{revision.number}"
    response = _file_response(revision.document, name, revision.policy.dialect.file_form(revision.document))
    response["ETag"] = f'"{revision.number}"'
    return response


def yaml_response(text: str, name: str) -> HttpResponse:
    """Return ``text`` as a download named ``name``.yaml."""
    return _file_response(text, name, "yaml")


def _file_response(text: str, name: str, form: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"application/{form}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response
