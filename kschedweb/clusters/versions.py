"""The version of Kubernetes of an imported cluster, as a person gives it."""

from __future__ import annotations

from kschedweb.engine.releases import parse_minor
from kschedweb.engine.releases.cluster_version import LONGEST
from kschedweb.engine.releases.cluster_version import ClusterVersion as ClusterVersion
from kschedweb.engine.releases.cluster_version import guess_version as guess_version
from kschedweb.engine.releases.cluster_version import stated_version as stated_version
from kschedweb.web.errors import ApplicationError


def parse_version(text: str) -> str:
    """Return ``text`` as the API server writes it: 1.34 becomes v1.34. Raises ApplicationError at ``version``."""
    text = text.strip()
    if not text:
        return ""
    if not parse_minor(text) or len(text) > LONGEST or not text.isprintable():
        raise ApplicationError.at("version", "Write the version of Kubernetes as 1.34 or v1.34.1.")
    return text if text.startswith("v") else f"v{text}"
