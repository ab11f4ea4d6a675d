"""The root of the REST API, which links to its resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb import __version__
from kschedweb.accounts.roles import Action

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

NAMESPACE = "api"
DOCUMENTS = frozenset({"root", "schema", "schema-page"})


class SignpostSerializer(serializers.Serializer[object]):
    version = serializers.CharField(help_text="The version of kschedweb.")
    openapi = serializers.URLField(help_text="The OpenAPI document.")
    reference = serializers.URLField(help_text="The same for people.")
    resources = serializers.DictField(child=serializers.URLField(), help_text="The address of each list.")


class Signpost(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(operation_id="root", tags=["root"], responses=SignpostSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List the resources and what describes them."""
        names = sorted(set(_list_names(get_resolver().url_patterns)) - DOCUMENTS)
        return Response(
            {
                "version": __version__,
                "openapi": reverse(f"{NAMESPACE}:schema", request=request),
                "reference": reverse(f"{NAMESPACE}:schema-page", request=request),
                "resources": {name: reverse(f"{NAMESPACE}:{name}", request=request) for name in names},
            }
        )


def _list_names(patterns: list[URLPattern | URLResolver], *, inside: bool = False) -> Iterator[str]:
    """Yield the names of the API's addresses that can be read and have no parameter."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if inside or pattern.namespace == NAMESPACE:
                yield from _list_names(pattern.url_patterns, inside=True)
        elif inside and not pattern.pattern.converters and hasattr(getattr(pattern.callback, "cls", None), "get"):
            yield str(pattern.name)
