"""Helpers for views of pages: a mark for parts of pages, services' errors, and addresses of forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from django.contrib import messages

from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.forms import BaseForm
    from django.http import HttpRequest

# Characters of an address that servers and proxies accept.
LONGEST_ADDRESS = 8_000
Marked = TypeVar("Marked", bound=Callable[..., object])


def page_part(view: Marked) -> Marked:
    """Mark a view whose answer is not a page: a part of a page, a file, or data."""
    view.is_part = True  # type: ignore[attr-defined]
    return view


def add_errors(form: BaseForm, error: ApplicationError, fields: Mapping[str, str] | None = None) -> None:
    """Show a service's errors at their fields, and the others above the form.

    With ``fields`` the first part of a path counts: it is called so, or as ``fields`` has it.
    """
    for item in error.errors or [{"path": "", "message": error.detail}]:
        field = item["path"]
        if fields is not None:
            root = field.partition(".")[0]
            field = fields.get(root, root)
        form.add_error(field if field in form.fields else None, item["message"])


def filled_fields(form: BaseForm) -> dict[str, str]:
    """Return the fields of the form that are filled in, for an address."""
    return {name: form.data[name] for name in form.fields if form.data.get(name)}


def run_and_notify(request: HttpRequest, act: Callable[[], object], message: str) -> bool:
    """Call ``act``, and show ``message``, or its error, on the next page. Returns whether it succeeded."""
    try:
        act()
    except ApplicationError as error:
        messages.error(request, error.detail)
        return False
    messages.success(request, message)
    return True
