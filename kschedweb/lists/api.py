"""REST: the lists of the site, the columns that a person hides, and the views that they saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.lists import selectors, services
from kschedweb.lists.addresses import address_of
from kschedweb.lists.models import NAME_LIMIT, SavedView
from kschedweb.web import tables
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest

HIDDEN = "Keys of columns that do not show. The first column always does."
FILTERS = "Parameters of the list's address, such as `pending`, and its `ordering`."


class ListColumnSerializer(serializers.Serializer[tables.Column]):
    key = serializers.CharField(read_only=True)
    label = serializers.CharField(read_only=True)  # type: ignore[assignment]


class ListSerializer(serializers.Serializer[Any]):
    """A list of the site, with what its pages can hide and keep."""

    name = serializers.CharField(read_only=True)
    title = serializers.CharField(read_only=True)
    columns = ListColumnSerializer(many=True, read_only=True)
    filters = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Parameters that a view of the list may keep."
    )
    hidden = serializers.ListField(child=serializers.CharField(max_length=64), max_length=64, help_text=HIDDEN)


class ViewSerializer(serializers.ModelSerializer[SavedView]):
    """A view: a list with its filter, its order and its columns, by a name."""

    list = serializers.CharField(source="table", max_length=64, help_text="The name of a list.")
    filters = serializers.DictField(child=serializers.CharField(max_length=1000), required=False, help_text=FILTERS)
    hidden = serializers.ListField(
        child=serializers.CharField(max_length=64), max_length=64, required=False, help_text=HIDDEN
    )
    name = serializers.CharField(max_length=NAME_LIMIT)
    address = serializers.SerializerMethodField(help_text="The page that shows it, empty for lists without one.")

    class Meta:
        model = SavedView
        fields = ("id", "list", "name", "filters", "hidden", "address", "created_at")
        read_only_fields = ("id", "created_at")

    def get_address(self, view: SavedView) -> str:
        return address_of(view)


class ViewChangeSerializer(ViewSerializer):
    """The fields of a view that may be changed."""

    list = None  # type: ignore[assignment]  # a view stays with its list
    name = serializers.CharField(max_length=NAME_LIMIT, required=False)

    class Meta(ViewSerializer.Meta):
        fields = ("name", "filters", "hidden")  # type: ignore[assignment]


def _table_body(table: tables.Table, hidden: list[str]) -> Json:
    return {
        "name": table.name,
        "title": table.title,
        "columns": table.shown,
        "filters": table.parameters,
        "hidden": [key for key in table.optional if key in hidden],
    }


class Lists(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=ListSerializer(many=True), operation_id="lists_list")
    def get(self, request: ApiRequest) -> Response:
        """Every list of the site, with the columns that you hide."""
        hidden = selectors.hidden_by_list(request.user)
        bodies = [_table_body(table, hidden.get(table.name, [])) for table in tables.list_tables()]
        return Response(ListSerializer(bodies, many=True).data)


class ListDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=ListSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """A list, with the columns that you hide."""
        table = selectors.table_get(name)
        return Response(ListSerializer(_table_body(table, selectors.hidden_columns(request.user, table))).data)

    @extend_schema(request=ListSerializer, responses=ListSerializer)
    def put(self, request: ApiRequest, name: str) -> Response:
        """Hide these columns of the list from yourself, and show the others."""
        table = selectors.table_get(name)
        serializer = ListSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        hidden = services.columns_hide(user=request.user, table=table, hidden=serializer.validated_data["hidden"])
        return Response(ListSerializer(_table_body(table, hidden)).data)


class ViewList(generics.ListAPIView[SavedView]):
    action_required = Action.VIEW
    serializer_class = ViewSerializer
    queryset = SavedView.objects.none()

    def get_queryset(self) -> QuerySet[SavedView]:
        return selectors.view_list(self.request.user)  # type: ignore[arg-type]

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Your views, by list and name."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=ViewSerializer, responses={201: ViewSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Save a view of a list; 409 where you have one of this name."""
        serializer = ViewSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        table = tables.find_table(values["table"])
        if table is None:
            names = ", ".join(table.name for table in tables.list_tables())
            raise ApplicationError.at("list", f"There is no such list. There are: {names}.")
        view = services.view_create(
            user=request.user,
            table=table,
            name=values["name"],
            filters=values.get("filters", {}),
            hidden=values.get("hidden", []),
        )
        return Response(ViewSerializer(view).data, status=201)


class ViewDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=ViewSerializer)
    def get(self, request: ApiRequest, id: int) -> Response:
        """One of your views."""
        return Response(ViewSerializer(selectors.view_get(request.user, id)).data)

    @extend_schema(request=ViewChangeSerializer, responses=ViewSerializer)
    def patch(self, request: ApiRequest, id: int) -> Response:
        """Change the name, the filters or the columns of a view."""
        view = selectors.view_get(request.user, id)
        serializer = ViewChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        table = selectors.table_get(view.table)
        return Response(ViewSerializer(services.view_change(view=view, table=table, **serializer.validated_data)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: int) -> Response:
        """Delete a view."""
        services.view_delete(view=selectors.view_get(request.user, id))
        return Response(status=204)


urlpatterns = [
    path("lists/", Lists.as_view(), name="lists"),
    path("lists/<str:name>/", ListDetail.as_view(), name="list"),
    path("views/", ViewList.as_view(), name="views"),
    path("views/<int:id>/", ViewDetail.as_view(), name="view"),
]
