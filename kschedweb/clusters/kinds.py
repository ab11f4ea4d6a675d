"""The kinds of objects in a snapshot, and which of them change answers about pods that exist."""

from __future__ import annotations

from kschedweb.engine.marking import gettext_noop as _
from kschedweb.engine.objects.kinds import BY_NAME as BY_NAME
from kschedweb.engine.objects.kinds import KINDS as KINDS
from kschedweb.engine.objects.kinds import KUEUE as KUEUE
from kschedweb.engine.objects.kinds import ObjectKind as ObjectKind
from kschedweb.engine.objects.kinds import reduce_object as reduce_object

# No kind of a snapshot: no answer depends on Events, and they come all the time.
EVENT = ObjectKind(
    "Event", "", "v1", "events", True, _("pages lack what the cluster's own programs say of pods and nodes")
)
# Kueue decides before kube-scheduler does, which reads none of its kinds.
SCHEDULER_KINDS = tuple(kind for kind in KINDS if kind.group != KUEUE)
QUEUE_KINDS = frozenset(kind.name for kind in KINDS if kind.group == KUEUE)
# Kinds that only matter for pods that do not exist yet.
NOT_NEEDED = QUEUE_KINDS | {"PriorityClass", "RuntimeClass", "HorizontalPodAutoscaler", "ResourceClaimTemplate"}
# Kinds that change no answer about a pod that exists, and those that only change answers about their namespace's pods.
NOT_DECIDING = NOT_NEEDED | {"Deployment", "CloneSet", "DaemonSet"}
DECIDING_IN_NAMESPACE = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})


def kinds_watched() -> set[str]:
    """Return the names of the kinds to follow for decisions about new pods."""
    return {kind.name for kind in KINDS} - NOT_NEEDED
