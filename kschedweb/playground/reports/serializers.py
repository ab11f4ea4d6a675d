"""Serializers of the common fields of reports."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.engine.studies.measure.groups import GROUPS

GROUP = serializers.ChoiceField(
    choices=[group.name for group in GROUPS],
    help_text="What the measure is about: whether pods run, disruption, balance, cost or speed.",
)


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
    """The first rows of a list."""

    name = serializers.CharField()
    total = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.DictField())


class ReportDocumentSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    text = serializers.CharField()
    whole = serializers.BooleanField()


class ReportSerializer(serializers.Serializer[Any]):
    """The common fields of reports."""

    title = serializers.CharField()
    address = serializers.CharField()
    made_at = serializers.DateTimeField()
    policies = serializers.ListField(child=serializers.CharField())
    seeds = serializers.ListField(child=serializers.IntegerField())
    engine = serializers.ListField(child=serializers.CharField())
    simulated = serializers.ListField(child=serializers.CharField())
    not_simulated = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    notes_total = serializers.IntegerField()
    measures = ReportMeasureSerializer(many=True)
    lists = ReportListSerializer(many=True)
    documents = ReportDocumentSerializer(many=True)
