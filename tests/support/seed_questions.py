"""Questions about decisions that jobs answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

EDITED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]
"""


def questions(user: User, snapshot: str) -> tuple[str, str]:
    """Ask where a pod goes, and which pods an edited policy moves, both under the default policy; return their ids."""
    from kschedweb.clusters.models import PodRow, Snapshot
    from kschedweb.decisions.inquiring import decision_questions, tasks
    from kschedweb.policies.selectors import policy_get, revision_get

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    pod = PodRow.objects.filter(snapshot=snapshot_row, pending=True, gated=False).order_by("namespace", "name")[0]
    common: dict[str, Any] = {"user": user, "snapshot": snapshot_row, "revision": revision_get(policy_get("default"))}
    rows = (
        decision_questions.decision_ask(**common, pod=f"{pod.namespace}/{pod.name}"),
        decision_questions.effect_ask(**common, document=EDITED, process={}),
    )
    for row in rows:
        tasks.answer(str(row.job_id))
    return str(rows[0].pk), str(rows[1].pk)
