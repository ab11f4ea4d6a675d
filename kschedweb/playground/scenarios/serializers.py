"""Serializers of scenarios, their revisions and files."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.playground.scenarios.models import NAME_LIMIT, FileKind, Scenario, ScenarioFile, ScenarioRevision
from kschedweb.policies.revisions.api import CheckSerializer, DocumentField, RevisionedSerializer, SaveSerializer


class ScenarioSerializer(RevisionedSerializer, serializers.ModelSerializer[Scenario]):
    """A scenario; its documents are its revisions."""

    class Meta:
        model = Scenario
        fields = (
            "id", "name", "slug", "description", "shared", "built_in", "revision", "created_by", "created_at",
            "changed_at", "changed_by",
        )  # fmt: skip
        read_only_fields = fields


class ScenarioRevisionSerializer(serializers.ModelSerializer[ScenarioRevision]):
    """One saved state of a scenario; it never changes."""

    created_by = serializers.CharField(source="author.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = ScenarioRevision
        fields: tuple[str, ...] = ("scenario", "number", "comment", "snapshot", "created_by", "created_at")
        read_only_fields = fields


class ScenarioRevisionDetailSerializer(ScenarioRevisionSerializer):
    document = serializers.CharField(source="text", help_text="YAML, as it was saved.", read_only=True)

    class Meta(ScenarioRevisionSerializer.Meta):
        fields = (*ScenarioRevisionSerializer.Meta.fields, "document")
        read_only_fields = fields


class ScenarioFileProblemSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="0 for the whole file.")
    message = serializers.CharField()


class ScenarioFileAboutSerializer(serializers.Serializer[Any]):
    """The columns of a file, by its first lines; empty for a cluster that was imported."""

    columns = serializers.ListField(child=serializers.CharField(), required=False)
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), required=False, help_text="The first ones."
    )
    usable = serializers.IntegerField(required=False, help_text="Of the lines that were looked at one by one.")
    looked_at = serializers.IntegerField(required=False, help_text="Lines that were looked at one by one.")
    objects = serializers.IntegerField(required=False, help_text="About how many pods, nodes, records or machines.")
    span = serializers.ListField(
        child=serializers.FloatField(), required=False, allow_null=True, help_text="First and last time, seconds."
    )


class ScenarioFileSerializer(serializers.ModelSerializer[ScenarioFile]):
    """A file that revisions of a scenario read, by its name; it never changes."""

    kind = serializers.CharField(read_only=True, help_text=f"One of {', '.join(FileKind.values)}.")
    size = serializers.IntegerField(read_only=True, help_text="Bytes of text.")
    problems = ScenarioFileProblemSerializer(many=True, read_only=True, help_text="Lines that are left out, and why.")
    about = ScenarioFileAboutSerializer(read_only=True)
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = ScenarioFile
        fields = ("name", "kind", "size", "lines", "sha256", "problems", "about", "created_by", "created_at")
        read_only_fields = fields


class ScenarioCreateSerializer(serializers.Serializer[Any]):
    document = DocumentField(help_text="The first revision; the scenario is named as it says.")
    comment = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False, help_text="Whether everyone may read it.")


class ScenarioPatchSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=NAME_LIMIT, required=False, help_text="Makes a revision with this name.")
    shared = serializers.BooleanField(required=False, help_text="Whether everyone who is signed in may read it.")


class ScenarioCopySerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=NAME_LIMIT, required=False, default="", allow_blank=True)
    revision = serializers.IntegerField(min_value=1, required=False, help_text="Left out: the newest.")


class ScenarioRevisionCreateSerializer(SaveSerializer):
    pass


class ScenarioValidateSerializer(CheckSerializer):
    pass


class ScenarioProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="Such as changes[2].drainNodes.nodes; empty for the whole document.")
    message = serializers.CharField()
    line = serializers.IntegerField(min_value=1)
    column = serializers.IntegerField(min_value=1)


class ScenarioVerdictSerializer(serializers.Serializer[Any]):
    """The problems of a document. Files and the snapshot that it names are looked up when it is saved."""

    valid = serializers.BooleanField()
    errors = ScenarioProblemSerializer(many=True)  # type: ignore[assignment]
    warnings = ScenarioProblemSerializer(
        many=True,
        help_text="What an API server would refuse of the objects, in its words; they are taken as they stand.",
    )


class ScenarioDiffSerializer(serializers.Serializer[Any]):
    old = serializers.IntegerField(help_text="Revision that is compared from.")
    new = serializers.IntegerField()
    patch = serializers.CharField(help_text="The lines that differ, as `diff -u` writes them.")


class ScenarioImportedSerializer(ScenarioSerializer):
    remarks = serializers.ListField(
        child=serializers.CharField(), help_text="Objects that were left out, or are odd.", read_only=True, default=list
    )

    class Meta(ScenarioSerializer.Meta):
        fields = (*ScenarioSerializer.Meta.fields, "remarks")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]
