"""The parts of REST that policies and scenarios share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.web.preconditions import expected_revision

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

RANGE = [
    OpenApiParameter("from", int, description="Left out: the revision before `to`."),
    OpenApiParameter("to", int, description="Left out: the newest revision."),
]


class _Numbered(Protocol):
    number: int


Saved = TypeVar("Saved", bound=_Numbered)


class DocumentField(serializers.CharField):
    """YAML or JSON text of a document."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, max_length=SIZE_LIMIT, **kwargs)


class RevisionedSerializer(serializers.Serializer[Any]):
    """An entry of a list of documents. The texts of a document are its revisions."""

    revision = serializers.IntegerField(source="newest", read_only=True, help_text="Number of the newest revision.")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)
    changed_by = serializers.CharField(read_only=True, allow_null=True, default=None)


# No docstring here: it would stand in the schema for those of the subclasses.
class SaveSerializer(serializers.Serializer[Any]):
    document = DocumentField()
    comment = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class CheckSerializer(serializers.Serializer[Any]):
    document = DocumentField(allow_blank=True)


class ChangeSerializer(serializers.Serializer[Any]):
    where = serializers.CharField(source="location", help_text="Profile and extension points; empty for all profiles.")
    what = serializers.CharField(source="subject")
    before = serializers.CharField(help_text="Empty where it was absent.")
    after = serializers.CharField()


def saved_as(serializer: type[serializers.BaseSerializer[Any]]) -> dict[int, Any]:
    """The answers of what saves a revision."""
    return {201: serializer, 200: OpenApiResponse(serializer, "Nothing differed.")}


def saved_answer(
    request: ApiRequest, newest: int, store: Callable[..., Saved], answer: Callable[..., Response]
) -> Response:
    """Return the answer to saving a further revision of the document at revision ``newest``.

    ``store`` takes ``expected_revision``, the number of the revision that was edited, and returns the newest one then;
    ``answer`` renders that, and gets whether it is new (``created``).
    """
    revision = store(expected=expected_revision(request, newest))
    return answer(request, revision, created=revision.number > newest)


def get_compared_revisions(request: ApiRequest, get: Callable[[int | None], Saved]) -> tuple[Saved, Saved]:
    """The older and the newer of two revisions that the address names."""
    new = get(_parse_number(request, "to"))
    return get(_parse_number(request, "from") or max(new.number - 1, 1)), new


def numbered_answer(request: ApiRequest, body: Any, number: int, address: str = "", place: Any = ()) -> Response:
    """An answer whose ETag is a revision's number; 201 where it tells of something new at ``address``."""
    headers = {"ETag": f'"{number}"'}
    if address:
        headers["Location"] = reverse(address, place, request=request)
    return Response(body, status=201 if address else 200, headers=headers)


def _parse_number(request: ApiRequest, key: str) -> int | None:
    text = request.query_params.get(key, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise serializers.ValidationError({key: "A revision is a whole number."})
    return int(text)
