"""The type of JSON objects: those of Kubernetes, stored answers, REST bodies."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
