"""Helpers for views of pages: a mark for parts of pages, and the display of services' errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from django.contrib import messages

from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.forms import BaseForm
    from django.http import HttpRequest


Marked = TypeVar("Marked", bound=Callable[..., object])


def page_part(view: Marked) -> Marked:
    """Mark a view whose answer is not a page: a part of a page, a file, or data."""
    view.is_part = True  # type: ignore[attr-defined]
    return view


def add_errors(form: BaseForm, error: ApplicationError) -> None:
    """Show a service's errors at their fields, and the others above the form."""
    for item in error.errors or [{"path": "", "message": error.detail}]:
        form.add_error(item["path"] if item["path"] in form.fields else None, item["message"])


def run_and_notify(request: HttpRequest, act: Callable[[], object], message: str) -> bool:
    """Call ``act``, and show ``message``, or its error, on the next page. Returns whether it succeeded."""
    try:
        act()
    except ApplicationError as error:
        messages.error(request, error.detail)
        return False
    messages.success(request, message)
    return True
