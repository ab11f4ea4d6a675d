"""What views of pages share: a mark for what is no page of its own, and what to do with a service's refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from django.contrib import messages

from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.forms import BaseForm
    from django.http import HttpRequest


Marked = TypeVar("Marked", bound=Callable[..., object])


def part(view: Marked) -> Marked:
    """Mark a view whose answer is put into a page, saved as a file or read by a program."""
    view.is_part = True  # type: ignore[attr-defined]
    return view


def add_errors(form: BaseForm, error: ApplicationError) -> None:
    """Show what a service refused beside the fields it names, the rest above the form."""
    for item in error.errors or [{"path": "", "message": error.detail}]:
        form.add_error(item["path"] if item["path"] in form.fields else None, item["message"])


def done(request: HttpRequest, act: Callable[[], object], said: str) -> bool:
    """Have ``act`` done, and say so on the next page, or why it was refused."""
    try:
        act()
    except ApplicationError as error:
        messages.error(request, error.detail)
        return False
    messages.success(request, said)
    return True
