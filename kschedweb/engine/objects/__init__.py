"""Kubernetes JSON as the engine reads it."""

from kschedweb.engine.objects.json_access import ObjectError, describe_object
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod

__all__ = ["Node", "ObjectError", "Pod", "describe_object"]
