"""The REST bodies of rolling a revision out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.policies.api import ChangeSerializer
from kschedweb.policies.models import Policy
from kschedweb.web.rest import NameField

LARGEST = 2**31 - 1


class RollOutQuerySerializer(serializers.Serializer[Any]):
    policy = NameField(queryset=Policy.objects, required=False, help_text="Left out: the policy at work.")
    revision = serializers.IntegerField(
        min_value=1, max_value=LARGEST, required=False, help_text="Left out: the newest one."
    )
    all = serializers.BooleanField(default=False, help_text="Have a job ask up to 5,000 pods, not the first 200.")


class LiveRevisionSerializer(serializers.Serializer[Any]):
    """A revision of a policy."""

    policy = NameField(queryset=Policy.objects)
    revision = serializers.IntegerField(min_value=1, max_value=LARGEST)


class RollOutSerializer(LiveRevisionSerializer):
    """The revision to run, and the one that was at work when that was decided."""

    expected = LiveRevisionSerializer(help_text="409 where another one is at work by now.")


class LiveRevisionReadSerializer(serializers.Serializer[Any]):
    """A revision of a policy."""

    policy = serializers.CharField(source="policy.name")
    revision = serializers.IntegerField(source="number")


class RollOutMovedSerializer(serializers.Serializer[Any]):
    """A pod that would go elsewhere; a node is empty where there is none."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()
    plugin = serializers.CharField(source="reason.plugin", help_text="What moves it; empty where no plugin is named.")
    lead = serializers.IntegerField(
        source="reason.lead", allow_null=True, help_text="Points for the new node; null where it rejects one."
    )
    said = serializers.CharField(source="reason.message", help_text="The scheduler's words where it rejects.")
    message = serializers.CharField(help_text="Why no node passes, where none does.")


class RollOutMovesSerializer(serializers.Serializer[Any]):
    """Pods of the newest snapshot that name the scheduler, each alone as if it were placed now."""

    taken_at = serializers.DateTimeField(source="snapshot.taken_at")
    pods = serializers.IntegerField(source="effect.pods")
    asked = serializers.IntegerField(source="effect.asked", help_text="So many were checked, pending ones first.")
    moving = serializers.IntegerField(source="effect.moving", help_text="So many of them would go elsewhere.")
    moved = RollOutMovedSerializer(source="effect.moved", many=True, help_text="At most 500 where a job asked.")
    failed = serializers.ListField(source="effect.failed", child=serializers.CharField())


class RollOutReviewSerializer(serializers.Serializer[Any]):
    """The review of a roll-out."""

    before = LiveRevisionReadSerializer(source="seen.before", help_text="At work now: `expected` of the roll-out.")
    after = LiveRevisionReadSerializer(source="seen.after")
    changes = ChangeSerializer(source="seen.changes", many=True)
    problem = serializers.CharField(
        source="seen.problem.detail", default="", help_text="Why it cannot be rolled out; empty where it can."
    )
    moves = RollOutMovesSerializer(allow_null=True, help_text="Null without a snapshot or a profile of that name.")
