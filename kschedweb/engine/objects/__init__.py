"""Kubernetes JSON as the engine reads it."""

from kschedweb.engine.objects.access import ObjectError, reference
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod

__all__ = ["Node", "ObjectError", "Pod", "reference"]
