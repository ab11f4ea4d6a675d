"""The query parameters of REST addresses: a read takes those that its schema declares, and no others.

A filter with a mistyped name or value would otherwise be left out, and the answer would hold all rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drf_spectacular.plumbing import get_class
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions, serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.settings import api_settings

from kschedweb.web import moments
from kschedweb.web.errors import ApplicationError, FieldProblem
from kschedweb.web.filtering import MomentFilter

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView

FORMAT = str(api_settings.URL_FORMAT_OVERRIDE)
READS = ("GET", "HEAD")
BOOLEANS = ("true", "false")
FIELDS: dict[object, type[serializers.Field[Any, Any, Any, Any]]] = {
    int: serializers.IntegerField,
    OpenApiTypes.INT: serializers.IntegerField,
    float: serializers.FloatField,
}


class KnownParameters(BasePermission):
    """Answers 400 to a read with an unknown parameter, or a value that a parameter cannot have.

    Views check what depends on rows, and FilterSets check their own values. It is a permission because every view has
    those, and they run before the view and after the caller is known.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        # Without a GET, the view answers 405 in any case.
        if request.method in READS and request.query_params and hasattr(view, "get"):
            parameters = _cached_parameters(view)
            errors: list[FieldProblem] = [
                {"path": name, "message": error}
                for name in request.query_params
                if (error := _parameter_error(request, name, parameters))
            ]
            if errors:
                raise ApplicationError(
                    " ".join(f"{problem['path']}: {problem['message']}" for problem in errors), errors=errors
                )
        return True


class Negotiation(DefaultContentNegotiation):
    """DRF's negotiation with an error for an unknown ``format``, which DRF answers as if the address did not exist."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:
        formats = [renderer.format for renderer in renderers]
        if format not in formats:
            raise ApplicationError.at(FORMAT, f"{FORMAT}: {_choices_error(formats)}")
        return super().filter_renderers(renderers, format)


_declared: dict[type[APIView], Mapping[str, OpenApiParameter | None]] = {}


def _cached_parameters(view: APIView) -> Mapping[str, OpenApiParameter | None]:
    """Return ``declared_parameters``, which is the same for every request, from a cache."""
    if (parameters := _declared.get(type(view))) is None:
        parameters = _declared[type(view)] = declared_parameters(view)
    return parameters


def declared_parameters(view: APIView) -> dict[str, OpenApiParameter | None]:
    """Return the parameters of a GET of ``view`` by name; ``None`` for those that a form or a FilterSet checks
    itself.
    """
    extension = getattr(view.get, "kwargs", {}).get("schema")  # type: ignore[attr-defined]  # by ``extend_schema``
    schema: Any = get_class(extension)() if extension else view.schema
    schema.view, schema.method = view, "GET"
    names: dict[str, OpenApiParameter | None] = {}
    for declared in schema.get_override_parameters():
        if isinstance(declared, OpenApiParameter):
            if declared.location == OpenApiParameter.QUERY:
                names[declared.name] = declared
        else:
            fields = declared().fields if isinstance(declared, type) else declared.fields
            names |= dict.fromkeys(fields)
    if filters := getattr(view, "filterset_class", None):
        names |= dict.fromkeys(filters.base_filters)
        if any(isinstance(field_filter, MomentFilter) for field_filter in filters.base_filters.values()):
            names[moments.PARAMETER] = None
    if pagination := getattr(view, "pagination_class", None):
        names |= dict.fromkeys(parameter["name"] for parameter in pagination().get_schema_operation_parameters(view))
    # The content negotiation reads it.
    if len(view.get_renderers()) > 1:
        names[FORMAT] = OpenApiParameter(FORMAT, str, enum=[renderer.format for renderer in view.get_renderers()])
    return names


def _parameter_error(request: Request, name: str, declared: Mapping[str, OpenApiParameter | None]) -> str | None:
    if name not in declared:
        names = ", ".join(sorted(declared))
        return f"There is no such parameter here. There are: {names}." if names else "No parameter is taken here."
    parameter = declared[name]
    if parameter is None:
        return None
    values = [value for value in request.query_params.getlist(name) if value]
    return next((error for value in values if (error := _value_error(value, parameter))), None)


def _value_error(value: str, parameter: OpenApiParameter) -> str | None:
    if parameter.enum or parameter.type is bool:
        choices = [str(choice) for choice in parameter.enum or BOOLEANS]
        return None if value in choices else _choices_error(choices)
    field = FIELDS.get(parameter.type) if isinstance(parameter.type, Hashable) else None
    if field is not None:
        try:
            field().run_validation(value)
        except exceptions.ValidationError as error:
            return " ".join(map(str, error.detail))
    return None


def _choices_error(choices: Sequence[str]) -> str:
    return f"Must be one of: {', '.join(choices)}."
