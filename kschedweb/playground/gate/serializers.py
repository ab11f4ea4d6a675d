"""Serializers of questions to the gate and of verdicts."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import list_releases
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate.thresholds import THRESHOLDS
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.gate.services import LARGEST_SEED

# Largest number with nine digits, which every database's integer holds.
MOST_NUMBER = 10**9 - 1
VERDICTS = ("pass", "fail")


def _to_openapi(schema: Any) -> Any:
    """Return a JSON schema in the terms of OpenAPI 3.0, which has no ``const``."""
    if isinstance(schema, list):
        return [_to_openapi(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _to_openapi(value) for key, value in schema.items() if key != "const"}
    return plain | ({"enum": [schema["const"]]} if "const" in schema else {})


@extend_schema_field(_to_openapi(Schemas().type_schema(THRESHOLDS)))
class ThresholdsField(serializers.JSONField):
    pass


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": {}}})
class ObjectsField(serializers.JSONField):
    """A list of Kubernetes objects, or one of kind List, as ``kubectl get -o json`` writes it."""


class GatePolicySerializer(serializers.Serializer[Any]):
    """A saved policy by its name, or a document."""

    name = serializers.CharField(max_length=63, default="", allow_blank=True)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_NUMBER, help_text="Of the saved policy; the newest without it."
    )
    document = serializers.CharField(
        max_length=SIZE_LIMIT,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="A KubeSchedulerConfiguration or a Policy, YAML or JSON.",
    )
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=120, default="", allow_blank=True, help_text="What a document is called."
    )

    release = serializers.CharField(
        max_length=20,
        default="",
        allow_blank=True,
        help_text=f"Of kube-scheduler: {list_releases()}. Of others the nearest is taken, with a warning. "
        "The policy's own without it.",
    )
    feature_gates = serializers.DictField(
        child=serializers.BooleanField(), default=dict, help_text="Switched in that release."
    )

    def validate(self, data: Json) -> Json:
        if bool(data["name"]) == bool(data["document"]):
            raise serializers.ValidationError("Give the name of a saved policy, or a document: one of both.")
        if data["document"] and "revision" in data:
            raise serializers.ValidationError("A revision goes with the name of a saved policy.")
        return data


class GateSnapshotSerializer(serializers.Serializer[Any]):
    """A snapshot of a cluster that is known here, or the objects of any other."""

    cluster = serializers.CharField(max_length=63, default="", allow_blank=True)
    id = serializers.UUIDField(required=False, help_text="Of the cluster's snapshot; its newest without it.")
    objects = ObjectsField(required=False)
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=120, default="", allow_blank=True, help_text="What objects are called."
    )

    def validate(self, data: Json) -> Json:
        if bool(data["cluster"]) == ("objects" in data):
            raise serializers.ValidationError("Give the name of a cluster, or objects: one of both.")
        return data


class GateScenarioSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    revision = serializers.IntegerField(required=False, min_value=1, max_value=MOST_NUMBER)


class GateAskSerializer(serializers.Serializer[Any]):
    """A policy, what it is held against and to, and on which cluster; one of `snapshot` and `scenario`."""

    policy = GatePolicySerializer()
    baseline = GatePolicySerializer(required=False, help_text="kube-scheduler's defaults without it.")
    snapshot = GateSnapshotSerializer(required=False)
    scenario = GateScenarioSerializer(required=False)
    thresholds = ThresholdsField(required=False, help_text="Without it no pod may be newly unschedulable.")
    place = serializers.ChoiceField(
        choices=[ALL, PENDING],
        required=False,
        help_text="`all` (default): pods of the snapshot that have a node are placed anew; `pending`: they keep it.",
    )
    seed = serializers.IntegerField(min_value=0, max_value=LARGEST_SEED, default=1)

    def validate(self, data: Json) -> Json:
        if ("snapshot" in data) == ("scenario" in data):
            raise serializers.ValidationError("Give a snapshot or a scenario: one of both.")
        if "scenario" in data and "place" in data:
            raise serializers.ValidationError({"place": ["A scenario says itself what is placed, in run.place."]})
        return data


class GatePodSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    before = serializers.CharField(help_text="Its node under the baseline; '' for none.")
    after = serializers.CharField(help_text="Its node under the policy; '' for none.")
    plugin = serializers.CharField(help_text="What moved or rejected it; '' where no plugin can be named.")
    lead = serializers.IntegerField(allow_null=True, help_text="Points by which that plugin favours the new node.")
    said = serializers.CharField(help_text="The scheduler's message where there is one.")
    follows = serializers.BooleanField(
        help_text="It moves because others moved before it: in the cluster that the policy saw, the baseline too takes "
        "that node."
    )


class GateCheckSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    passed = serializers.BooleanField()
    value = serializers.FloatField(allow_null=True, help_text="Under the policy; null where nothing is measured.")
    baseline = serializers.FloatField(allow_null=True)
    unit = serializers.CharField()
    limits = serializers.DictField(help_text="As they were asked for.")
    sentence = serializers.CharField()
    pods = GatePodSerializer(many=True, help_text="The first of the pods concerned.")
    more = serializers.IntegerField(help_text="How many more there are.")


class GateMeasureSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    group = serializers.ChoiceField(
        choices=[group.name for group in GROUPS],
        help_text="What the measure is about: whether pods run, disruption, balance, cost or speed.",
    )
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    direction = serializers.CharField(help_text="What is better: `lower`, `higher`, or ''.")
    sentence = serializers.CharField()
    baseline = serializers.FloatField(allow_null=True)
    policy = serializers.FloatField(allow_null=True)


class UpgradePodsSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField(help_text="What decides that they are placed elsewhere; '' where no plugin does.")
    by = serializers.ChoiceField(choices=["score", "verdict", ""], help_text="By its score, or by its verdict.")
    count = serializers.IntegerField()
    following = serializers.IntegerField(help_text="How many of them move only because others moved before them.")
    pods = GatePodSerializer(many=True, help_text="The first 50 of them, those that follow others last.")
    changes = serializers.ListField(child=serializers.CharField(), help_text="The changes that can explain it.")


class UpgradeMessageSerializer(serializers.Serializer[Any]):
    gone = serializers.ListField(child=serializers.CharField(), help_text="Parts that are no longer said.")
    new = serializers.ListField(child=serializers.CharField(), help_text="Parts that are said now.")
    count = serializers.IntegerField(help_text="How many pods' last message changes so.")
    example = serializers.DictField(child=serializers.CharField(), help_text="A pod with both messages.")
    changes = serializers.ListField(child=serializers.CharField())


class UpgradeFieldSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    kind = serializers.ChoiceField(choices=["new", "gone", "otherwise"])
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    changes = serializers.ListField(child=serializers.CharField())


class UpgradeGateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.DictField(help_text="Its stage, default and lock.")
    after = serializers.DictField()
    changes = serializers.ListField(child=serializers.CharField())


class ReleaseChangeSerializer(serializers.Serializer[Any]):
    """A difference between two neighbouring releases."""

    name = serializers.CharField()
    since = serializers.CharField(help_text="The first release that has it.")
    title = serializers.CharField()
    sentence = serializers.CharField()


class UpgradeSerializer(serializers.Serializer[Any]):
    """The effect of another release of kube-scheduler on this cluster under this policy."""

    pods = UpgradePodsSerializer(many=True)
    messages = UpgradeMessageSerializer(many=True)
    fields = UpgradeFieldSerializer(many=True)  # type: ignore[assignment]
    gates = UpgradeGateSerializer(many=True)
    changes = ReleaseChangeSerializer(many=True, help_text="The sentences of all changes that are named above.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return super().get_fields() | {name: serializers.CharField() for name in ("from", "to")}


class GateVerdictSerializer(serializers.Serializer[Any]):
    """The verdict, as the command writes it, with `id`."""

    id = serializers.UUIDField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    summary = serializers.CharField()
    policy = serializers.CharField()
    baseline = serializers.CharField()
    about = serializers.CharField()
    engine = serializers.CharField()
    seed = serializers.IntegerField()
    nodes = serializers.IntegerField()
    pods = serializers.IntegerField(help_text="Pods that are to be scheduled.")
    thresholds = serializers.DictField()
    checks = GateCheckSerializer(many=True)
    counts = serializers.DictField()
    measures = GateMeasureSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField(), help_text="What was left out or read differently.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What the policy says in vain.")
    upgrade = UpgradeSerializer(
        allow_null=True, help_text="What another release changes; null where both are run by the same one."
    )


class GateSerializer(InquirySerializer[Gate]):
    """One question and its outcome in a word; its address answers with the whole verdict."""

    verdict = serializers.SerializerMethodField(help_text="Null as long as there is none.")
    thresholds = serializers.DictField(read_only=True)

    class Meta:
        model = Gate
        fields = (
            "id", "policy", "baseline", "about", "place", "seed", "thresholds", "verdict", "state", "job",
            "created_by", "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(choices=VERDICTS, allow_null=True))
    def get_verdict(self, gate: Gate) -> str | None:
        return None if gate.passed is None else VERDICTS[not gate.passed]


class GateWaitsSerializer(serializers.Serializer[Any]):
    """The verdict is being worked out: ask the address in `Location` again until it answers 200."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    job = serializers.UUIDField(allow_null=True)
