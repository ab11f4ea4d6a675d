"""REST: a classic policy as a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.policies import selectors
from kschedweb.policies.conversion import selectors as conversion
from kschedweb.web.rest import validate_input

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest


class ConvertSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, help_text="Left out: the newest."
    )


class NoteSerializer(serializers.Serializer[Any]):
    """The conversion of one rule."""

    path = serializers.CharField(
        help_text="Its place, such as `priorities[2]`; `priorities` where the default provider brings it."
    )
    name = serializers.CharField()
    kind = serializers.ChoiceField(("equal", "near", "none"))
    text = serializers.CharField(help_text="What differs, or is lost.")
    plugins = serializers.ListField(child=serializers.CharField(), help_text="Those that stand for it.")


class RemarkSerializer(serializers.Serializer[Any]):
    """A note on the profile as a whole, or on something that the policy does not name."""

    name = serializers.CharField()
    text = serializers.CharField()


class ConversionSerializer(serializers.Serializer[Any]):
    """The profile that replaces a classic policy."""

    policy = serializers.CharField()
    revision = serializers.IntegerField()
    summary = serializers.CharField()
    document = serializers.DictField(help_text="A KubeSchedulerConfiguration v1.")
    yaml = serializers.CharField(help_text="The same as text.")
    notes = NoteSerializer(many=True)
    remarks = RemarkSerializer(many=True)


class PolicyConvert(APIView):
    action_required = Action.VIEW

    @extend_schema(request=ConvertSerializer, responses=ConversionSerializer)
    def post(self, request: ApiRequest, name: str) -> Response:
        """Convert a classic policy into profiles, with what has no exact counterpart. Nothing is saved.

        422 for a policy of profiles.
        """
        data = validate_input(ConvertSerializer, request.data)
        revision = selectors.revision_get(selectors.policy_get(name), data.get("revision"))
        converted = conversion.convert_revision(revision)
        body = {"policy": name, "revision": revision.number, "yaml": conversion.render_document(revision, converted)}
        return Response(ConversionSerializer(body | converted.to_dict()).data)
