"""REST: two profiles of a policy side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.policies import selectors
from kschedweb.policies.profile_comparison.selectors import compare_profiles
from kschedweb.policies.revisions.api import ChangeSerializer
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.engine.config import Profile

NAMES = [
    OpenApiParameter("first", str, description="schedulerName of a profile. Left out: the first one."),
    OpenApiParameter("second", str, description="That of another. Left out: the next one after the first profile."),
]


class LineSerializer(serializers.Serializer[Any]):
    """A setting of both profiles; the plugins of an extension point are in calling order, at score with weights."""

    where = serializers.CharField(help_text="Extension point, plugin and argument, or field of the profile.")
    first = serializers.CharField(help_text="Empty where it is absent.")
    second = serializers.CharField()
    is_same = serializers.BooleanField()


class BesideSerializer(serializers.Serializer[Any]):
    """The differences of two profiles, then all that both say."""

    first = serializers.CharField()
    second = serializers.CharField()
    changes = ChangeSerializer(many=True, help_text="From the first profile to the second.")
    lines = LineSerializer(many=True, help_text="Those that differ come first.")


class RevisionProfiles(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=NAMES, responses=BesideSerializer)
    def get(self, request: ApiRequest, name: str, number: int) -> Response:
        """Two profiles of a revision side by side: what differs first. 422 for a policy without profiles."""
        runs = selectors.load_configuration(selectors.revision_get(selectors.policy_get(name), number))
        first = _find_profile(runs.profiles, request.query_params.get("first", ""), "first", 0)
        other = _find_profile(runs.profiles, request.query_params.get("second", ""), "second", 1)
        return Response(BesideSerializer(compare_profiles(first, other)).data)


def _find_profile(profiles: tuple[Profile, ...], name: str, field: str, place: int) -> Profile:
    if not name:
        return profiles[min(place, len(profiles) - 1)]
    profile = next((profile for profile in profiles if profile.scheduler_name == name), None)
    if profile is None:
        names = ", ".join(profile.scheduler_name for profile in profiles)
        raise NotFound.at(field, f"There is no profile named {name}. Choose one of {names}.")
    return profile
