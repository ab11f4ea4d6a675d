"""Serializers of questions of any kind."""

from __future__ import annotations

from typing import TypeVar

from rest_framework import serializers

from kschedweb.jobs.models import Inquiry

InquiryT = TypeVar("InquiryT", bound=Inquiry)


class InquirySerializer(serializers.ModelSerializer[InquiryT]):
    """A question that a job answers; a kind lists those of these fields that it has."""

    state = serializers.CharField(read_only=True, help_text="As a job's.")
    created_by = serializers.CharField(source="created_by.username", default="", read_only=True)
    error = serializers.CharField(source="job.error", default="", read_only=True)
