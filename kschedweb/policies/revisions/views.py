"""Common parts of the pages of policies and scenarios: saving in the editor, comparing revisions, the schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from django.contrib import messages
from django.http import Http404, JsonResponse
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.policies.revisions import text_diff
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
    """The state of an editor."""

    document: str

    @property
    def checked(self) -> _Checked: ...


Saved = TypeVar("Saved", bound=_Numbered)


@dataclass(frozen=True)
class SaveAttempt:
    """An attempt to save in an editor."""

    # The posted form.
    save: SaveForm
    # Set if another revision was saved in the meantime.
    conflict: PreconditionFailed | None = None
    # Set if the document was refused.
    refused: ApplicationError | None = None
    # The status of the HTTP answer.
    status: int = 200

    def to_context(self, newest: int) -> dict[str, object]:
        """Return the context of the page. ``newest`` is the number of the newest revision."""
        # Buttons that do not save keep the revision that the person started from.
        expected = self.save.data.get("expected") or newest
        return {"save": self.save, "expected": expected, "conflict": self.conflict, "refused": self.refused}


NO_ATTEMPT = SaveAttempt(SaveForm())


def handle_save(
    request: HttpRequest, editor_state: _Editor, newest: int, store: Callable[[str, str, int], int]
) -> SaveAttempt | None:
    """Handle a POST to an editor. Returns ``None`` if the document was saved.

    ``store`` saves a document with a comment and the number of the edited revision. It returns the number of the newest
    revision afterwards.
    """
    save = SaveForm(request.POST)
    if "save" not in request.POST:
        return SaveAttempt(save)
    if not save.is_valid() or not editor_state.checked.valid:
        return SaveAttempt(save, status=422)
    try:
        number = store(editor_state.document, save.cleaned_data["comment"], save.cleaned_data["expected"])
    except PreconditionFailed as error:
        return SaveAttempt(save, conflict=error, status=error.status)
    except ApplicationError as error:
        return SaveAttempt(save, refused=error, status=error.status)
    if number == newest:
        messages.info(
            request,
            gettext("Nothing changed since revision %(newest)s, so no revision was saved.") % {"newest": newest},
        )
    else:
        messages.success(request, gettext("Saved as revision %(number)s.") % {"number": number})
    return None


def restore_revision(request: HttpRequest, number: int, store: Callable[[int], int]) -> None:
    """Restore revision ``number``, and show a message with the result.

    ``store`` takes the number of the newest revision that the person saw. It returns the number of the newest one
    afterwards.
    """
    save = SaveForm(request.POST)
    if not save.is_valid():
        raise ApplicationError("The form does not say which revision was the newest. Reload the page and try again.")
    before = save.cleaned_data["expected"]
    newest = store(before)
    if newest == before:
        messages.info(
            request,
            gettext("Revision %(number)s is the same as revision %(newest)s, so no revision was saved.")
            % {"number": number, "newest": newest},
        )
    else:
        messages.success(
            request,
            gettext("Revision %(number)s restored as revision %(newest)s.") % {"number": number, "newest": newest},
        )


def compare_revisions(
    request: HttpRequest, get: Callable[[int | None], Saved], newest: int
) -> tuple[Saved, Saved, dict[str, object]]:
    """Return the older and the newer of two revisions in the address, and the context of revisions/diff.html."""
    form = DiffForm(request.GET)
    if not form.is_valid():
        raise Http404("A revision is a whole number.")
    new = get(form.cleaned_data["to"])
    old = get(form.cleaned_data["from"] or max(new.number - 1, 1))
    return (
        old,
        new,
        {
            "old": old,
            "new": new,
            "old_title": gettext("Revision %(old)s") % {"old": old.number},
            "new_title": gettext("Revision %(new)s") % {"new": new.number},
            "view": form.cleaned_data["view"] or "split",
            "numbers": range(newest, 0, -1),
        },
    )


def line_diff(old: str, new: str, old_name: str, new_name: str) -> dict[str, object]:
    """Return the context of revisions/_lines.html."""
    return {
        "rows": text_diff.fold_equal_lines(text_diff.diff_lines(old, new)),
        "patch": text_diff.split_lines(text_diff.unified_patch(old, new, old_name, new_name)),
        "differs": old != new,
    }


def schema_response(schema: Json) -> JsonResponse:
    """Return the JSON Schema of a document, for completion in the editor."""
    response = JsonResponse(schema)
    response["Cache-Control"] = "private, max-age=3600"
    return response


def number_of(request: HttpRequest, key: str) -> int | None:
    """Return a number in the query. Raises ``Http404`` for other text."""
    text = request.GET.get(key, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Http404(f"There is no {key} {text}.")
    return int(text)
