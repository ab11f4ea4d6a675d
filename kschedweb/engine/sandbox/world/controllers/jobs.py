"""Jobs: pods until enough of them have succeeded.

A finalizer marks pods that were not counted yet, so that each is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.controllers.pod_control import PodControl
from kschedweb.engine.sandbox.world.pods import (
    get_condition,
    get_phase,
    is_deleting,
    is_pod_active,
    is_pod_ready,
    is_pod_terminal,
    pod_from_template,
)
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import JOB

TRACKED = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
# Seconds for which a Job is kept that does not set its own time.
DEFAULT_TTL_SECONDS = 1800.0


class JobController:
    """Creates the pods of Jobs, counts those that ended, and deletes finished Jobs after their time to live."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._pod_control = PodControl(context, JOB, "job-controller")

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        return self._pod_control.affected_keys(change)

    def sync(self, key: Key) -> float | None:
        job = self._context.store.get(JOB, *key)
        if job is None:
            self._untrack_orphans(key)
            return None
        if is_deleting(job):
            return None
        job = self._count_ended_pods(job)
        if _is_finished(job):
            self._untrack_ended_pods(job)
            return self._delete_after_ttl(job)
        retry_at = self._stop_pods(job) if job["spec"].get("suspend") else self._manage_job(job)
        job = self._context.store.get(JOB, *key) or job
        pods = self._pod_control.list_pods(job)
        started = job["status"].get("startTime") or self._context.format_now()
        active_pods = [pod for pod in pods if is_pod_active(pod)]
        self._pod_control.update_status(
            job, active=len(active_pods), ready=sum(map(is_pod_ready, active_pods)), startTime=started
        )
        return retry_at

    def _count_ended_pods(self, job: Json) -> Json:
        """Count the pods that ended; each step may be the last one before a restart."""
        context = self._context
        pods = [pod for pod in self._pod_control.list_pods(job) if _is_tracked(pod)]
        old_uncounted = job["status"].get("uncountedTerminatedPods") or {}
        uncounted: dict[str, list[str]] = {
            kind: list(old_uncounted.get(kind) or ()) for kind in ("succeeded", "failed")
        }
        for pod in pods:
            if is_pod_terminal(pod) or is_deleting(pod):
                kind = "succeeded" if get_phase(pod) == "Succeeded" else "failed"
                uid = pod["metadata"]["uid"]
                if not any(uid in uids for uids in uncounted.values()):
                    uncounted[kind].append(uid)
        if not any(uncounted.values()):
            return job
        # As the original does: the uids are noted first, then the finalizers go, then the numbers rise.
        job = context.objects.change_object(JOB, job, status={**job["status"], "uncountedTerminatedPods": uncounted})
        noted = {uid for uids in uncounted.values() for uid in uids}
        for pod in pods:
            if pod["metadata"]["uid"] in noted:
                self._untrack_pod(pod)
        status = {key: value for key, value in job["status"].items() if key != "uncountedTerminatedPods"}
        for kind, uids in uncounted.items():
            if uids:
                status[kind] = status.get(kind, 0) + len(uids)
        return context.objects.change_object(JOB, job, status=status)

    def _untrack_pod(self, pod: Json) -> None:
        metadata = dict(pod["metadata"])
        remaining = [finalizer for finalizer in metadata.pop("finalizers", ()) if finalizer != TRACKED]
        if remaining:
            metadata["finalizers"] = remaining
        changed = self._context.objects.change_object(POD, pod, metadata=metadata)
        # Only the finalizer kept the pod.
        if is_deleting(changed) and not remaining and not metadata.get("deletionGracePeriodSeconds"):
            self._context.delete_object(POD, changed, 0)

    def _untrack_ended_pods(self, job: Json) -> None:
        for pod in self._pod_control.list_pods(job):
            if _is_tracked(pod) and (is_pod_terminal(pod) or is_deleting(pod)):
                self._untrack_pod(pod)

    def _untrack_orphans(self, key: Key) -> None:
        """Take the finalizers from the pods of a deleted Job: nobody counts them any more."""
        for pod in self._context.index.pods_in_namespace(key[0]):
            owners = pod["metadata"].get("ownerReferences") or ()
            if _is_tracked(pod) and any(owner["kind"] == "Job" and owner["name"] == key[1] for owner in owners):
                self._untrack_pod(pod)

    def _stop_pods(self, job: Json) -> float | None:
        """Delete the pods of a suspended Job, which are no failures."""
        active_pods = [pod for pod in self._pod_control.list_pods(job) if is_pod_active(pod)]
        for pod in active_pods:
            if _is_tracked(pod):
                self._untrack_pod(pod)
        fresh_pods = [pod for pod in self._pod_control.list_pods(job) if is_pod_active(pod)]
        return self._pod_control.delete_pods(job, fresh_pods)

    def _manage_job(self, job: Json) -> float | None:
        """Create as many pods as may run at once, or finish the Job."""
        spec, status = job["spec"], job["status"]
        succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
        completions = spec.get("completions")
        pods = [pod for pod in self._pod_control.list_pods(job) if is_pod_active(pod)]
        if failed > spec.get("backoffLimit", 6):
            message = "Job has reached the specified backoff limit"
            for pod in pods:
                self._pod_control.delete_pod(job, pod)
            self._finish_job(job, "Failed", "BackoffLimitExceeded", message)
            return None
        if succeeded >= (1 if completions is None else completions) and not (completions is None and pods):
            for pod in pods:
                self._pod_control.delete_pod(job, pod)
            message = "Reached expected number of succeeded pods"
            self._finish_job(job, "Complete", "CompletionsReached", message)
            return None
        want_active = spec.get("parallelism", 1)
        if completions is not None:
            want_active = min(want_active, completions - succeeded)
        elif succeeded:
            want_active = 0
        retry_at = self._pod_control.create_pods(job, want_active - len(pods), self._new_pod)
        return self._pod_control.delete_pods(job, pods[max(0, want_active) :]) or retry_at

    def _new_pod(self, job: Json) -> Json:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
        labels |= {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid}
        new_pod = pod_from_template(job["spec"]["template"], JOB, job, labels=labels)
        new_pod["metadata"]["finalizers"] = [TRACKED]
        if job["spec"].get("completionMode") == "Indexed":
            used_indexes = {
                _completion_index(pod)
                for pod in self._pod_control.list_pods(job)
                if is_pod_active(pod) or get_phase(pod) == "Succeeded"
            }
            free = str(next(place for place in range(len(used_indexes) + 1) if str(place) not in used_indexes))
            new_pod["metadata"]["annotations"] = {**new_pod["metadata"].get("annotations", {}), INDEX: free}
            new_pod["metadata"]["labels"][INDEX] = free
            new_pod["metadata"]["generateName"] = f"{name}-{free}-"
        return new_pod

    def _finish_job(self, job: Json, kind: str, reason: str, message: str) -> None:
        context, now = self._context, self._context.format_now()
        job = context.store.get(JOB, job["metadata"]["namespace"], job["metadata"]["name"]) or job
        before = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        conditions = [
            {"type": condition_type, "status": "True", "reason": reason, "message": message, "lastProbeTime": now,
             "lastTransitionTime": now}
            for condition_type in (before, kind)
        ]  # fmt: skip
        status = {**job["status"], "conditions": [*(job["status"].get("conditions") or ()), *conditions]}
        status = {key: value for key, value in status.items() if key not in ("active", "ready")}
        if kind == "Complete":
            status["completionTime"] = now
        context.annotate(JOB, job, annotations=own_annotations(ended_at=f"{context.time:.3f}"), status=status)
        if kind == "Complete":
            self._pod_control.record_event(job, "Completed", "Job completed")
        else:
            self._pod_control.record_event(job, reason, message, WARNING)

    def _delete_after_ttl(self, job: Json) -> float | None:
        """Delete a finished Job once its time is over."""
        at = get_annotation_time(job, "ended-at")
        due = (self._context.time if at is None else at) + job["spec"].get(
            "ttlSecondsAfterFinished", DEFAULT_TTL_SECONDS
        )
        if self._context.time < due:
            return float(due)
        self._context.delete_object(JOB, job)
        return None


def _is_finished(job: Json) -> bool:
    return any((get_condition(job, kind) or {}).get("status") == "True" for kind in ("Complete", "Failed"))


def _is_tracked(pod: Json) -> bool:
    return TRACKED in (pod["metadata"].get("finalizers") or ())


def _completion_index(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
