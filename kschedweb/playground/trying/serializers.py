"""Serializers of tried changes and their answers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.gate.serializers import GateScenarioSerializer, ThresholdsField
from kschedweb.playground.trying.models import TriedChange
from kschedweb.playground.trying.selectors import answer_of

MOST_NUMBER = 10**9 - 1
OUTCOMES = ("gained", "lost", "moved")
PLACE_MODES = (ALL, PENDING)


class SavedPolicySerializer(serializers.Serializer[Any]):
    """A saved policy."""

    name = serializers.CharField(max_length=63)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_NUMBER, help_text="The newest without it."
    )


class PolicyChangeAskSerializer(serializers.Serializer[Any]):
    """A change, applied in this order: all of the policy, single fields, what runs it. At least one is there."""

    document = serializers.CharField(
        max_length=SIZE_LIMIT,
        required=False,
        trim_whitespace=False,
        help_text="In place of the policy's, YAML or JSON.",
    )
    policy = SavedPolicySerializer(required=False, help_text="In place of the current one; instead of a document.")
    values = serializers.DictField(
        child=serializers.JSONField(),
        default=dict,
        help_text="Single fields by their paths, as sweeps name them: "
        "`profiles[0].plugins.score.enabled[NodeResourcesFit].weight`, where 0 turns the score off.",
    )
    release = serializers.CharField(max_length=20, default="", allow_blank=True, help_text="Of kube-scheduler.")
    feature_gates = serializers.DictField(child=serializers.BooleanField(), default=dict)

    def validate(self, data: Json) -> Json:
        if "document" in data and "policy" in data:
            raise serializers.ValidationError("Give a document or a policy: one of both.")
        if not any(data.values()):
            raise serializers.ValidationError("Say what is changed: a document, a policy, values, or a release.")
        return data


class TrySnapshotSerializer(serializers.Serializer[Any]):
    """A snapshot of a cluster."""

    cluster = serializers.CharField(max_length=63)
    id = serializers.UUIDField(required=False, help_text="The newest of the cluster without it.")


class TryAskSerializer(serializers.Serializer[Any]):
    """The current policy, a change of it, and where it is tried: one of `snapshot` and `scenario`."""

    policy = SavedPolicySerializer(help_text="The current one.")
    change = PolicyChangeAskSerializer()
    snapshot = TrySnapshotSerializer(required=False)
    scenario = GateScenarioSerializer(required=False)
    pod = serializers.CharField(
        max_length=320, default="", allow_blank=True, help_text="One of which the answer tells: `namespace/name`."
    )

    def validate(self, data: Json) -> Json:
        if ("snapshot" in data) == ("scenario" in data):
            raise serializers.ValidationError("Give a snapshot or a scenario: one of both.")
        return data


class SidesSerializer(serializers.Serializer[Any]):
    """A number under either policy."""

    current = serializers.IntegerField()
    changed = serializers.IntegerField()


class MovedBySerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField(help_text="'' where no plugin can be named.")
    pods = serializers.IntegerField()


class PlacedSerializer(serializers.Serializer[Any]):
    """The counts of pods that were placed under either policy."""

    pods = serializers.IntegerField(help_text="Pods that were tried.")
    placed = SidesSerializer(help_text="Of them those with a node at the end.")
    evicted = SidesSerializer(help_text="Pods that had to make room.")
    gained = serializers.IntegerField(help_text="Pods with a node under the changed policy alone.")
    lost = serializers.IntegerField(help_text="Pods with a node under the current policy alone.")
    moved = serializers.IntegerField(help_text="Pods with another node.")
    by_plugin = MovedBySerializer(many=True, help_text="The pods that moved, by the plugin that decided.")


class NodesUsedSerializer(SidesSerializer):
    # Nodes at the end with more than pods of DaemonSets and static pods.

    there = serializers.IntegerField(help_text="All nodes at the end.")


class BothMeasureSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    direction = serializers.CharField(help_text="What is better: `lower`, `higher`, or ''.")
    sentence = serializers.CharField()
    current = serializers.FloatField(allow_null=True)
    changed = serializers.FloatField(allow_null=True)


class PodEndsSerializer(serializers.Serializer[Any]):
    """The node of the pod in question, under both policies."""

    pod = serializers.CharField()
    of = serializers.ChoiceField(choices=PLACE_MODES, help_text="Whether pending pods were placed, or all anew.")
    current = serializers.CharField(help_text="Its node under the current policy; '' for none.")
    changed = serializers.CharField(help_text="Its node under the changed policy; '' for none.")


class BothEnginesSerializer(serializers.Serializer[Any]):
    current = serializers.CharField()
    changed = serializers.CharField()


class NodeLevelsSerializer(serializers.Serializer[Any]):
    """The nodes once all pods are placed, as columns: percent of CPU requested under either policy."""

    nodes = serializers.ListField(child=serializers.CharField())
    zones = serializers.ListField(child=serializers.CharField(allow_blank=True))
    current = serializers.ListField(child=serializers.FloatField())
    changed = serializers.ListField(child=serializers.FloatField())


class ChangeEffectSerializer(serializers.Serializer[Any]):
    """The effect of a change."""

    pending = PlacedSerializer(allow_null=True, help_text="Pending pods, while all others stay; null for a scenario.")
    anew = PlacedSerializer(help_text="All pods of the snapshot placed anew; the pods of the scenario.")
    nodes = NodesUsedSerializer(help_text="Nodes in use once all pods are placed.")
    levels = NodeLevelsSerializer(required=False, help_text="Missing in answers of 0.1.0.")
    measures = BothMeasureSerializer(many=True)
    pod = PodEndsSerializer(allow_null=True)
    engine = BothEnginesSerializer()
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What the policy says in vain.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="What was left out or read differently.")


class TriedChangeSerializer(InquirySerializer[TriedChange]):
    """A tried change, and what it does once that is known."""

    policy = serializers.CharField(read_only=True, help_text="The current policy, as `name@revision`.")
    change = serializers.CharField(read_only=True, help_text="What is changed, in short.")
    scenario = serializers.UUIDField(source="revision.scenario_id", default=None, read_only=True, allow_null=True)

    class Meta:
        model = TriedChange
        fields: tuple[str, ...] = (
            "id", "policy", "change", "snapshot", "scenario", "about", "state", "job", "sentence", "created_by",
            "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields


class TriedChangeDetailSerializer(TriedChangeSerializer):
    """A tried change with its document, and what it does once that is known."""

    answer = serializers.SerializerMethodField(help_text="Null as long as there is no answer.")

    class Meta:
        model = TriedChange
        fields = (*TriedChangeSerializer.Meta.fields, "document", "process", "answer")
        read_only_fields = fields

    @extend_schema_field(ChangeEffectSerializer(allow_null=True))
    def get_answer(self, tried_change: TriedChange) -> Json | None:
        answer = answer_of(tried_change)
        return None if answer is None else {name: value for name, value in answer.items() if name != "changes"}


class ChangedPodSerializer(serializers.Serializer[Any]):
    """A pod that ends elsewhere."""

    pod = serializers.CharField()
    of = serializers.ChoiceField(choices=PLACE_MODES, help_text="Whether pending pods were placed, or all anew.")
    what = serializers.ChoiceField(choices=OUTCOMES)
    current = serializers.CharField(help_text="Its node under the current policy; '' for none.")
    changed = serializers.CharField(help_text="Its node under the changed policy; '' for none.")
    plugin = serializers.CharField(help_text="What moved or rejected it; '' where no plugin can be named.")
    lead = serializers.IntegerField(allow_null=True, help_text="Points by which that plugin favours the new node.")
    said = serializers.CharField(help_text="The scheduler's message where there is one.")
    follows = serializers.BooleanField(help_text="It moves because others moved before it.")
    current_pod = serializers.CharField(help_text="What took its place under the current policy; '' for itself.")
    changed_pod = serializers.CharField(help_text="What took its place under the changed policy; '' for itself.")


class ChangeSaveSerializer(serializers.Serializer[Any]):
    """The name and comment under which a changed policy is saved."""

    draft = serializers.CharField(
        max_length=63,
        default="",
        allow_blank=True,
        help_text="Name of a new policy, which nothing runs; without it the next revision of the policy is saved.",
    )
    comment = serializers.CharField(max_length=500, default="", allow_blank=True)


class ChangeJudgeSerializer(serializers.Serializer[Any]):
    """Options of the gate for a changed policy."""

    thresholds = ThresholdsField(required=False, help_text="Without it no pod may be newly unschedulable.")


class ChangeCompareSerializer(serializers.Serializer[Any]):
    """Over which scenario a changed policy is run."""

    scenario = GateScenarioSerializer(
        required=False, help_text="Without it the one it was tried on, or one of its snapshot, which is made."
    )
