"""Jobs: pods until enough of them have succeeded. Each pod that ended is counted once: its finalizer says not yet."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, own, time_in
from kschedweb.engine.sandbox.world.controllers.replicas import Maker
from kschedweb.engine.sandbox.world.pods import active, condition, ended, leaving, made_from, phase, ready
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import JOB

TRACKED = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
KEPT = 1800.0  # seconds for which a job is kept that does not say


class Jobs:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._maker = Maker(context, JOB, "job-controller")

    def heard(self, change: Change) -> Iterable[Key]:
        return self._maker.heard(change)

    def sync(self, key: Key) -> float | None:
        job = self._context.store.get(JOB, *key)
        if job is None:
            self._orphans(key)
            return None
        if leaving(job):
            return None
        job = self._count(job)
        if _done(job):
            self._release(job)
            return self._expire(job)
        again = None if job["spec"].get("suspend") else self._run(job)
        job = self._context.store.get(JOB, *key) or job
        pods = self._maker.pods(job)
        started = job["status"].get("startTime") or self._context.stamp()
        here = [pod for pod in pods if active(pod)]
        self._maker.status(job, active=len(here), ready=sum(map(ready, here)), startTime=started)
        return again

    def _count(self, job: Json) -> Json:
        """Count the pods that ended; each step may be the last one before a restart."""
        context = self._context
        pods = [pod for pod in self._maker.pods(job) if _tracked(pod)]
        known = job["status"].get("uncountedTerminatedPods") or {}
        uncounted: dict[str, list[str]] = {kind: list(known.get(kind) or ()) for kind in ("succeeded", "failed")}
        for pod in pods:
            if ended(pod) or leaving(pod):
                kind = "succeeded" if phase(pod) == "Succeeded" else "failed"
                uid = pod["metadata"]["uid"]
                if not any(uid in uids for uids in uncounted.values()):
                    uncounted[kind].append(uid)
        if not any(uncounted.values()):
            return job
        job = context.objects.change(JOB, job, status={**job["status"], "uncountedTerminatedPods": uncounted})
        noted = {uid for uids in uncounted.values() for uid in uids}
        for pod in pods:
            if pod["metadata"]["uid"] in noted:
                self._untrack(pod)
        status = {key: value for key, value in job["status"].items() if key != "uncountedTerminatedPods"}
        for kind, uids in uncounted.items():
            if uids:
                status[kind] = status.get(kind, 0) + len(uids)
        return context.objects.change(JOB, job, status=status)

    def _untrack(self, pod: Json) -> None:
        metadata = dict(pod["metadata"])
        kept = [one for one in metadata.pop("finalizers", ()) if one != TRACKED]
        if kept:
            metadata["finalizers"] = kept
        changed = self._context.objects.change(POD, pod, metadata=metadata)
        if leaving(changed) and not kept and not metadata.get("deletionGracePeriodSeconds"):
            self._context.delete(POD, changed, 0)

    def _release(self, job: Json) -> None:
        for pod in self._maker.pods(job):
            if _tracked(pod) and (ended(pod) or leaving(pod)):
                self._untrack(pod)

    def _orphans(self, key: Key) -> None:
        """The job is gone: nobody counts its pods any more."""
        for pod in self._context.index.pods_within(key[0]):
            owners = pod["metadata"].get("ownerReferences") or ()
            if _tracked(pod) and any(one["kind"] == "Job" and one["name"] == key[1] for one in owners):
                self._untrack(pod)

    def _run(self, job: Json) -> float | None:
        """Make as many pods as may run at once, or say that the job has come to an end."""
        spec, status = job["spec"], job["status"]
        succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
        wanted = spec.get("completions")
        pods = [pod for pod in self._maker.pods(job) if active(pod)]
        if failed > spec.get("backoffLimit", 6):
            message = "Job has reached the specified backoff limit"
            for pod in pods:
                self._maker.delete(job, pod)
            self._finish(job, "Failed", "BackoffLimitExceeded", message)
            return None
        if succeeded >= (1 if wanted is None else wanted) and not (wanted is None and pods):
            for pod in pods:
                self._maker.delete(job, pod)
            message = "Reached expected number of succeeded pods"
            self._finish(job, "Complete", "CompletionsReached", message)
            return None
        most = spec.get("parallelism", 1)
        if wanted is not None:
            most = min(most, wanted - succeeded)
        elif succeeded:
            most = 0
        again = self._maker.make_some(job, most - len(pods), self._pod)
        return self._maker.delete_some(job, pods[max(0, most) :]) or again

    def _pod(self, job: Json) -> Json:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
        labels |= {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid}
        made = made_from(job["spec"]["template"], JOB, job, labels=labels)
        made["metadata"]["finalizers"] = [TRACKED]
        if job["spec"].get("completionMode") == "Indexed":
            taken = {_index(pod) for pod in self._maker.pods(job) if active(pod) or phase(pod) == "Succeeded"}
            free = str(next(place for place in range(len(taken) + 1) if str(place) not in taken))
            made["metadata"]["annotations"] = {**made["metadata"].get("annotations", {}), INDEX: free}
            made["metadata"]["labels"][INDEX] = free
            made["metadata"]["generateName"] = f"{name}-{free}-"
        return made

    def _finish(self, job: Json, kind: str, reason: str, message: str) -> None:
        context, now = self._context, self._context.stamp()
        job = context.store.get(JOB, job["metadata"]["namespace"], job["metadata"]["name"]) or job
        before = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        said = [
            {"type": one, "status": "True", "reason": reason, "message": message, "lastProbeTime": now,
             "lastTransitionTime": now}
            for one in (before, kind)
        ]  # fmt: skip
        status = {**job["status"], "conditions": [*(job["status"].get("conditions") or ()), *said]}
        status = {key: value for key, value in status.items() if key not in ("active", "ready")}
        if kind == "Complete":
            status["completionTime"] = now
        context.annotate(JOB, job, annotations=own(ended_at=f"{context.time:.3f}"), status=status)
        if kind == "Complete":
            self._maker.say(job, "Completed", "Job completed")
        else:
            self._maker.say(job, reason, message, WARNING)

    def _expire(self, job: Json) -> float | None:
        """Delete a job whose time after its end is over."""
        at = time_in(job, "ended-at")
        due = (self._context.time if at is None else at) + job["spec"].get("ttlSecondsAfterFinished", KEPT)
        if self._context.time < due:
            return float(due)
        self._context.delete(JOB, job)
        return None


def _done(job: Json) -> bool:
    return any((condition(job, kind) or {}).get("status") == "True" for kind in ("Complete", "Failed"))


def _tracked(pod: Json) -> bool:
    return TRACKED in (pod["metadata"].get("finalizers") or ())


def _index(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
