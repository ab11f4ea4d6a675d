"""Questions about workloads that are not submitted yet, and about other quotas; for pages and REST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.importing.documents import manifest_read
from kschedweb.engine.queueing.explaining.queue_state import build_state
from kschedweb.engine.queueing.workloads.labels import API_VERSION
from kschedweb.engine.queueing.workloads.submission import SubmissionError, read_submission
from kschedweb.engine.studies.actors.queues.setting_paths import (
    SettingError,
    build_settings,
    parse_settings,
    read_settings,
)
from kschedweb.engine.studies.actors.queues.setup import change_queues, list_refusals
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.engine.json_types import Json
    from kschedweb.engine.queueing.explaining.queue_state import QueueState

MOST_PODS = 100_000
# Name of a workload that is described by its requests alone.
DESCRIBED = "your-workload"


@dataclass(frozen=True)
class AdmissionQuery:
    """The question whether a workload would get quota: one that is there, a manifest, or pods with requests."""

    # "namespace/name" of a Workload of the snapshot.
    workload: str = ""
    # YAML or JSON of one object.
    manifest: str = ""
    # "namespace/name" of a LocalQueue; "" for the manifest's own.
    queue: str = ""
    pods: int = 1
    # Of each pod: pairs of resource and quantity. Tuples, so that a question can be the key of a cache.
    requests: tuple[tuple[str, str], ...] = ()
    priority: int = 0
    # Settings of queues instead of theirs, such as "team-b/on-demand/cpu/nominal=60".
    settings: str = ""
    # How long jobs run; without it finished workloads tell.
    run_minutes: int | None = None


@dataclass(frozen=True)
class AdmissionCase:
    """A state of queues, and the workload in it that is asked about."""

    state: QueueState
    # "namespace/name".
    key: str
    # The Workload whose place it takes, as "namespace/name"; "" for none.
    replaced: str = ""


def prepare_case(state: QueueState, query: AdmissionQuery) -> AdmissionCase:
    """Return the queues as the question wants them. Raises ApplicationError, which names the field."""
    if sum(map(bool, (query.workload, query.manifest, query.requests))) != 1:
        field = "manifest" if query.manifest or not query.workload else "workload"
        raise ApplicationError.at(field, "Choose the workload in one way: by name, manifest or requests.")
    if query.settings:
        state = _change_settings(state, query.settings)
    if query.workload:
        return AdmissionCase(state, query.workload)
    namespace, slash, queue = query.queue.partition("/")
    if query.queue and not (namespace and queue and slash and "/" not in queue):
        raise ApplicationError.at("queue", f"{query.queue}: write namespace/name of a LocalQueue.")
    if query.requests and not query.queue:
        raise ApplicationError.at("queue", "Choose the LocalQueue in which it would wait.")
    field = "manifest" if query.manifest else "requests"
    raw = _parse_manifest(query.manifest) if query.manifest else _describe_workload(query)
    own_namespace = _as_mapping(raw.get("metadata")).get("namespace")
    if namespace and own_namespace and own_namespace != namespace:
        raise ApplicationError.at("queue", f"The manifest is in namespace {own_namespace}, the queue in {namespace}.")
    try:
        submission = read_submission(raw, state.objects, queue=queue, namespace=namespace)
        return AdmissionCase(state.submit(submission), submission.key, submission.replaced)
    except SubmissionError as error:
        problems = [{"path": field, "message": text} for text in error.texts]
        raise ApplicationError(str(error), errors=problems) from None  # type: ignore[arg-type]


def _change_settings(state: QueueState, text: str) -> QueueState:
    """Return the queues with other settings. Raises ApplicationError."""
    try:
        settings = read_settings(build_settings(parse_settings(text)))
        objects = change_queues(state.objects, settings)
    except SettingError as error:
        raise ApplicationError.at("settings", f"{error}.") from None
    except ScenarioError as error:
        raise ApplicationError.at("settings", "; ".join(problem.text for problem in error.problems)) from None
    former = set(map(id, state.objects))
    refusals = list(list_refusals([raw for raw in objects if id(raw) not in former]))
    if refusals:
        raise ApplicationError.at("settings", "; ".join(refusals))
    fair = state.uses_fair_sharing if settings.fair_sharing is None else settings.fair_sharing
    return build_state(objects, state.now, uses_fair_sharing=fair)


def _parse_manifest(text: str) -> Json:
    manifest = manifest_read(text)
    if not isinstance(manifest, dict):
        raise ApplicationError.at("manifest", "Write one object; here are 1.")
    return manifest


def _describe_workload(query: AdmissionQuery) -> Json:
    containers = [{"name": "main", "resources": {"requests": dict(query.requests)}}]
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": DESCRIBED},
        "spec": {
            "priority": query.priority,
            "podSets": [{"name": "main", "count": query.pods, "template": {"spec": {"containers": containers}}}],
        },
    }


def _as_mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
