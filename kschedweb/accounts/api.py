"""REST: tokens, people and the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import PermissionDenied
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts import grants as granting
from kschedweb.accounts import selectors, services
from kschedweb.accounts.audit import FIELDS
from kschedweb.accounts.filters import AuditFilter, UserFilter
from kschedweb.accounts.grant_syntax import MOST_NAMESPACES
from kschedweb.accounts.models import AuditEntry, Grant, Token, User
from kschedweb.accounts.roles import Action, Role

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


class TokenSerializer(serializers.ModelSerializer[Token]):
    """A token without its key."""

    state = serializers.ChoiceField(choices=["active", "expired", "revoked"], source="current_state", read_only=True)

    class Meta:
        model = Token
        fields: tuple[str, ...] = (
            "id",
            "name",
            "prefix",
            "scope",
            "state",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
        )
        read_only_fields: tuple[str, ...] = fields


class NewTokenSerializer(serializers.Serializer[None]):
    name = serializers.CharField(max_length=64)
    scope = serializers.ChoiceField(choices=Action.choices)
    days = serializers.IntegerField(min_value=1, max_value=services.MAX_TOKEN_DAYS, help_text="How long it lives.")


class CreatedTokenSerializer(TokenSerializer):
    """A new token with its key, which is shown this once."""

    key = serializers.CharField(read_only=True, help_text="Send it as `Authorization: Bearer ksw_…`.")

    class Meta(TokenSerializer.Meta):
        fields: tuple[str, ...] = (*TokenSerializer.Meta.fields, "key")
        read_only_fields: tuple[str, ...] = fields


def _for_people_or_admin_tokens(request: ApiRequest) -> None:
    """A token of a narrow scope must not make or end tokens of its owner."""
    if request.auth is not None and not request.auth.allows(Action.ADMINISTER):
        raise PermissionDenied("Log in, or use a token of scope administer, to make or revoke tokens.")


class TokenList(generics.ListAPIView[Token]):
    action_required = Action.VIEW
    serializer_class = TokenSerializer
    queryset = Token.objects.none()

    def get_queryset(self) -> QuerySet[Token]:
        return selectors.token_list(cast("User", self.request.user))

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Your own tokens, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=NewTokenSerializer, responses={201: CreatedTokenSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a token; its `key` is in this answer only."""
        _for_people_or_admin_tokens(request)
        serializer = NewTokenSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        token, key = services.token_create(user=request.user, **serializer.validated_data)
        return Response({**TokenSerializer(token).data, "key": key}, status=201)


class TokenDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=TokenSerializer)
    def get(self, request: ApiRequest, id: int) -> Response:
        """One of your own tokens."""
        return Response(TokenSerializer(selectors.token_get(request.user, id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: int) -> Response:
        """Revoke the token: it stops working at once."""
        _for_people_or_admin_tokens(request)
        services.token_revoke(actor=request.user, token=selectors.token_get(request.user, id))
        return Response(status=204)


class UserSerializer(serializers.ModelSerializer[User]):
    email = serializers.CharField(read_only=True, help_text="Empty where none is known.")

    class Meta:
        model = User
        fields: tuple[str, ...] = (
            "username",
            "email",
            "role",
            "is_active",
            "must_change_password",
            "last_login",
            "date_joined",
        )
        read_only_fields: tuple[str, ...] = fields


class NewUserSerializer(serializers.Serializer[None]):
    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    email = serializers.EmailField(required=False, allow_blank=True, max_length=254)
    role = serializers.ChoiceField(choices=Role.choices)


class UserChangeSerializer(serializers.Serializer[None]):
    role = serializers.ChoiceField(choices=Role.choices, required=False)
    is_active = serializers.BooleanField(required=False)


class CreatedUserSerializer(UserSerializer):
    """A person with the temporary password, which is shown this once."""

    temporary_password = serializers.CharField(read_only=True)

    class Meta(UserSerializer.Meta):
        fields: tuple[str, ...] = (*UserSerializer.Meta.fields, "temporary_password")
        read_only_fields: tuple[str, ...] = fields


class UserList(generics.ListAPIView[User]):
    action_required = Action.ADMINISTER
    serializer_class = UserSerializer
    filterset_class = UserFilter
    queryset = selectors.user_list()

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """Everybody, by name."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=NewUserSerializer, responses={201: CreatedUserSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Add somebody; the `temporary_password` is in this answer only and must be changed at the first login."""
        serializer = NewUserSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        user, password = services.user_create(actor=request.user, **serializer.validated_data)
        return Response({**UserSerializer(user).data, "temporary_password": password}, status=201)


class UserDetail(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(responses=UserSerializer)
    def get(self, request: ApiRequest, username: str) -> Response:
        """One person."""
        return Response(UserSerializer(selectors.user_get(username)).data)

    @extend_schema(request=UserChangeSerializer, responses=UserSerializer)
    def patch(self, request: ApiRequest, username: str) -> Response:
        """Change the role, or whether they may log in; 409 for the last active admin."""
        serializer = UserChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        user = services.user_change(actor=request.user, user=selectors.user_get(username), **serializer.validated_data)
        return Response(UserSerializer(user).data)


class UserPassword(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(request=None, responses=CreatedUserSerializer)
    def post(self, request: ApiRequest, username: str) -> Response:
        """Give a new temporary password, in this answer only; the person's sessions and tokens end."""
        user = selectors.user_get(username)
        password = services.user_reset_password(actor=request.user, user=user)
        user.refresh_from_db()
        return Response({**UserSerializer(user).data, "temporary_password": password})


class UserTokenList(generics.ListAPIView[Token]):
    """Somebody's tokens, newest first."""

    action_required = Action.ADMINISTER
    serializer_class = TokenSerializer
    queryset = Token.objects.none()

    def get_queryset(self) -> QuerySet[Token]:
        return selectors.token_list(selectors.user_get(self.kwargs["username"]))


class UserTokenDetail(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(responses=TokenSerializer)
    def get(self, request: ApiRequest, username: str, id: int) -> Response:
        """One of somebody's tokens."""
        return Response(TokenSerializer(selectors.token_get(selectors.user_get(username), id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, username: str, id: int) -> Response:
        """Revoke somebody's token: it stops working at once."""
        services.token_revoke(actor=request.user, token=selectors.token_get(selectors.user_get(username), id))
        return Response(status=204)


class DisplaySerializer(serializers.ModelSerializer[User]):
    """The look of pages for this person."""

    time_zone = serializers.CharField(
        max_length=64, allow_blank=True, required=False, help_text="Such as `Asia/Tokyo`. Empty: as the browser says."
    )

    language = serializers.CharField(
        max_length=16,
        allow_blank=True,
        required=False,
        help_text="`en`, `zh-hans` or `ja`. Empty: the browser's.",
    )

    class Meta:
        model = User
        fields = ("time_zone", "language", "density")


class Display(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=DisplaySerializer)
    def get(self, request: ApiRequest) -> Response:
        """Your time zone, your language, and the density of tables."""
        return Response(DisplaySerializer(request.user).data)

    @extend_schema(request=DisplaySerializer, responses=DisplaySerializer)
    def patch(self, request: ApiRequest) -> Response:
        """Change your time zone, your language, or the density of tables."""
        serializer = DisplaySerializer(data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        return Response(DisplaySerializer(services.user_display(user=request.user, **serializer.validated_data)).data)


class GrantSerializer(serializers.ModelSerializer[Grant]):
    """A role for a person or a group: in a cluster, in those with a label, or in all where both are empty; there in the
    namespaces that are named, or in all.
    """

    namespaces = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="Empty: all.")
    user = serializers.SlugRelatedField[User]("username", read_only=True, allow_null=True)
    cluster = serializers.SerializerMethodField(help_text="Its name; empty where the grant names no cluster.")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Grant
        fields = ("id", "user", "group", "role", "scope", "cluster", "label", "namespaces", "created_by", "created_at")
        read_only_fields = fields

    def get_cluster(self, grant: Grant) -> str:
        if grant.cluster is None:
            return ""
        context = cast("dict[str, Any]", self.context)
        if "clusters" not in context:
            context["clusters"] = granting.cluster_names()  # once for all rows
        names: dict[UUID, str] = context["clusters"]
        return names.get(grant.cluster, "")


class NewGrantSerializer(serializers.Serializer[None]):
    user = serializers.CharField(required=False, default="", allow_blank=True, max_length=150)
    group = serializers.CharField(required=False, default="", allow_blank=True, max_length=191)
    role = serializers.ChoiceField(choices=Role.choices, help_text="Any but `none`.")
    cluster = serializers.CharField(required=False, default="", allow_blank=True, max_length=63)
    label = serializers.CharField(  # type: ignore[assignment]
        required=False, default="", allow_blank=True, max_length=127
    )
    namespaces = serializers.ListField(
        child=serializers.CharField(max_length=63),
        required=False,
        default=list,
        max_length=MOST_NAMESPACES,
        help_text="Names of those that it is about; none: all.",
    )


class GrantList(generics.ListAPIView[Grant]):
    """Grants: a person, a role, and the clusters it holds in."""

    action_required = Action.ADMINISTER
    serializer_class = GrantSerializer
    queryset = selectors.grant_list()

    @extend_schema(request=NewGrantSerializer, responses={201: GrantSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Grant a role to a `user` or a `group`: in a `cluster`, in those with a `label`, or else in all.

        `namespaces` are those that it is about; none: all.
        """
        serializer = NewGrantSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        grant = granting.grant_give(actor=request.user, **serializer.validated_data)
        return Response(GrantSerializer(grant).data, status=201)


class GrantDetail(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(responses=GrantSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One grant."""
        return Response(GrantSerializer(selectors.grant_get(id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: UUID) -> Response:
        """Take a grant back."""
        granting.grant_take(actor=request.user, grant=selectors.grant_get(id))
        return Response(status=204)


class AuditSerializer(serializers.ModelSerializer[AuditEntry]):
    details = serializers.DictField(read_only=True)

    class Meta:
        model = AuditEntry
        fields = FIELDS
        read_only_fields = fields


class AuditList(generics.ListAPIView[AuditEntry]):
    """Changes and the people who made them, newest first."""

    action_required = Action.ADMINISTER
    serializer_class = AuditSerializer
    filterset_class = AuditFilter
    queryset = selectors.audit_list()


urlpatterns = [
    path("tokens/", TokenList.as_view(), name="tokens"),
    path("tokens/<int:id>/", TokenDetail.as_view(), name="token"),
    path("users/", UserList.as_view(), name="users"),
    path("users/<str:username>/", UserDetail.as_view(), name="user"),
    path("users/<str:username>/password/", UserPassword.as_view(), name="user-password"),
    path("users/<str:username>/tokens/", UserTokenList.as_view(), name="user-tokens"),
    path("users/<str:username>/tokens/<int:id>/", UserTokenDetail.as_view(), name="user-token"),
    path("display/", Display.as_view(), name="display"),
    path("grants/", GrantList.as_view(), name="grants"),
    path("grants/<uuid:id>/", GrantDetail.as_view(), name="grant"),
    path("audit/", AuditList.as_view(), name="audit"),
]
