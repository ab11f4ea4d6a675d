"""What the pages of policies and of scenarios do alike: the editor's saving, revisions side by side, the schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from django.contrib import messages
from django.http import Http404, JsonResponse

from kschedweb.policies.revisions import lines
from kschedweb.policies.revisions.forms import DiffForm, SaveForm
from kschedweb.web.errors import ApplicationError, PreconditionFailed

if TYPE_CHECKING:
    from django.http import HttpRequest


class _Numbered(Protocol):
    number: int


class _Checked(Protocol):
    @property
    def valid(self) -> bool: ...


class _Editor(Protocol):
    """The state of an editing page."""

    document: str

    @property
    def checked(self) -> _Checked: ...


Saved = TypeVar("Saved", bound=_Numbered)


@dataclass(frozen=True)
class Attempt:
    """What an editing page shows of saving: what was said, and why nothing was saved where it was tried."""

    save: SaveForm
    conflict: PreconditionFailed | None = None
    refused: ApplicationError | None = None
    status: int = 200

    def context(self, newest: int) -> dict[str, Any]:
        """``newest`` is the number of the newest revision, which was edited unless the form says another."""
        # A button that saves nothing keeps what the person started from.
        expected = self.save.data.get("expected") or newest
        return {"save": self.save, "expected": expected, "conflict": self.conflict, "refused": self.refused}


UNTRIED = Attempt(SaveForm())


def tried(request: HttpRequest, shown: _Editor, newest: int, store: Callable[[str, str, int], int]) -> Attempt | None:
    """What came of a POST to an editing page; ``None`` where it was saved.

    ``store`` saves a document with a comment and the number of the revision that was edited, and gives the number of
    the newest one then.
    """
    save = SaveForm(request.POST)
    if "save" not in request.POST:
        return Attempt(save)
    if not save.is_valid() or not shown.checked.valid:
        return Attempt(save, status=422)
    try:
        number = store(shown.document, save.cleaned_data["comment"], save.cleaned_data["expected"])
    except PreconditionFailed as error:
        return Attempt(save, conflict=error, status=error.status)
    except ApplicationError as error:
        return Attempt(save, refused=error, status=error.status)
    if number == newest:
        messages.info(request, f"Nothing differs from revision {newest}: no revision was made.")
    else:
        messages.success(request, f"Saved as revision {number}.")
    return None


def restored(request: HttpRequest, number: int, store: Callable[[int], int]) -> None:
    """Have revision ``number`` restored, and say what came of it.

    ``store`` is given the number of the revision that the person saw as the newest, and gives that of the newest then.
    """
    save = SaveForm(request.POST)
    if not save.is_valid():
        raise ApplicationError("The form does not say which revision was the newest. Reload the page and try again.")
    before = save.cleaned_data["expected"]
    newest = store(before)
    if newest == before:
        messages.info(request, f"Revision {number} says what revision {newest} says: no revision was made.")
    else:
        messages.success(request, f"Revision {number} is restored: the newest is revision {newest}.")


def compared(
    request: HttpRequest, get: Callable[[int | None], Saved], newest: int
) -> tuple[Saved, Saved, dict[str, Any]]:
    """The older and the newer of two revisions that the address names, and what revisions/diff.html shows of them."""
    asked = DiffForm(request.GET)
    if not asked.is_valid():
        raise Http404("A revision is a whole number.")
    new = get(asked.cleaned_data["to"])
    old = get(asked.cleaned_data["from"] or max(new.number - 1, 1))
    return (
        old,
        new,
        {
            "old": old,
            "new": new,
            "old_title": f"Revision {old.number}",
            "new_title": f"Revision {new.number}",
            "view": asked.cleaned_data["view"] or "split",
            "numbers": range(newest, 0, -1),
        },
    )


def line_diff(old: str, new: str, old_name: str, new_name: str) -> dict[str, Any]:
    """What revisions/_lines.html needs."""
    return {
        "rows": lines.folded(lines.lines(old, new)),
        "patch": lines.unified(old, new, old_name, new_name).splitlines(),
        "differs": old != new,
    }


def schema_response(schema: dict[str, Any]) -> JsonResponse:
    """The JSON Schema of a document, for completion in the editor."""
    response = JsonResponse(schema)
    response["Cache-Control"] = "private, max-age=3600"
    return response


def number_of(request: HttpRequest, key: str) -> int | None:
    """A number of the query; ``Http404`` where it is something else."""
    text = request.GET.get(key, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Http404(f"There is no {key} {text}.")
    return int(text)
