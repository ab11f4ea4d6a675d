"""LineProblems about a decision on a snapshot: objects that are missing from it, and a version that is a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.clusters.missing_kinds import list_missing_kinds
from kschedweb.clusters.models import ClusterSource
from kschedweb.policies.dialects import PROFILES

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster, Snapshot
    from kschedweb.policies.models import Revision


def list_doubts(snapshot: Snapshot, revision: Revision, namespace: str) -> list[str]:
    """Return a sentence for each doubt about a decision on a pod of ``namespace``, in the reader's language."""
    sentences = [missing.sentence for missing in list_missing_kinds(snapshot, namespace)]
    if revision.policy.kind == PROFILES.kind and not revision.process.get("release"):
        sentences += filter(None, [_version_doubt(snapshot.cluster)])
    return sentences


def _version_doubt(cluster: Cluster) -> str:
    if cluster.version_guessed:
        return gettext(
            "The release is guessed from the kubelets (%(version)s): give the version with the next import."
        ) % {"version": cluster.server_version}
    if cluster.source == ClusterSource.IMPORT and not cluster.server_version:
        return gettext(
            "The cluster's version is not known, so the newest release is assumed: give it with the next import."
        )
    return ""
