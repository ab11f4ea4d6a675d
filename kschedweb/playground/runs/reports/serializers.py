"""Serializers of reports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.playground.runs.serializers import GROUP
from kschedweb.web.translating import gettext_lazy as _


class ReportBaseSerializer(serializers.Serializer[Any]):
    """The cluster that the scenario starts from; all null for an imagined cluster."""

    snapshot = serializers.CharField(allow_null=True)
    cluster = serializers.CharField(allow_null=True)
    taken_at = serializers.DateTimeField(allow_null=True)


class ReportScenarioSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    description = serializers.CharField()


class ReportRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    virtual_seconds = serializers.FloatField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    engine = serializers.CharField(help_text=_("The version of kschedweb, and the kube-scheduler it stands for."))


class ReportValueSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    value = serializers.FloatField(allow_null=True)
    text = serializers.CharField()


class ReportMeasureSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    group = GROUP
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    better = serializers.CharField()
    sentence = serializers.CharField()
    values = ReportValueSerializer(many=True)


class ReportListSerializer(serializers.Serializer[Any]):
    """A list of pods, of which the first are here."""

    name = serializers.CharField()
    total = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.DictField())


class ReportDocumentSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    text = serializers.CharField()
    whole = serializers.BooleanField()


class RunReportSerializer(serializers.Serializer[Any]):
    """A run or a comparison with all that is needed to judge it."""

    kind = serializers.ChoiceField(choices=["RunReport", "ComparisonReport"])
    title = serializers.CharField()
    address = serializers.CharField()
    made_at = serializers.DateTimeField()
    scenario = ReportScenarioSerializer()
    base = ReportBaseSerializer()
    policies = serializers.ListField(child=serializers.CharField())
    seeds = serializers.ListField(child=serializers.IntegerField())
    seed_decides = serializers.ListField(child=serializers.CharField())
    engine = serializers.ListField(child=serializers.CharField())
    feature_gates = serializers.CharField()
    runs = ReportRunSerializer(many=True)
    name = serializers.CharField(required=False, help_text=_("Of a comparison."))
    simulated = serializers.ListField(child=serializers.CharField())
    not_simulated = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    notes_total = serializers.IntegerField()
    measures = ReportMeasureSerializer(many=True)
    lists = ReportListSerializer(many=True)
    documents = ReportDocumentSerializer(many=True)
