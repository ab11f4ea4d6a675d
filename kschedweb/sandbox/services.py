"""Changes of the sandbox that people ask for, and its setup on a new site."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.connecting.client import MERGE
from kschedweb.clusters.connecting.errors import status_error, status_text
from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import sandbox_connect, snapshot_read
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import BY_KIND, NAMESPACE, Resource
from kschedweb.engine.sandbox.schema import DecodeError, decode_object
from kschedweb.engine.sandbox.status_errors import undecodable
from kschedweb.live.extender.configuration import extender_yaml
from kschedweb.live.extender.services import endpoint_secret_make
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.services import live_create
from kschedweb.policies.models import Policy
from kschedweb.policies.services import policy_create
from kschedweb.sandbox.running.host import get_host
from kschedweb.sandbox.selectors import CLOCK_PATH, CREATED_BY, PASTED, SPEEDS, open_client
from kschedweb.watermarks.models import SourceKind
from kschedweb.watermarks.services import run_claim, run_collection, source_save
from kschedweb.watermarks.source_settings import SourceSettings
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.connecting.client import Client
    from kschedweb.clusters.connecting.wire import WireResponse


POLICIES = Path(__file__).parent / "policies"
# Limits of a pasted text.
LIMITS = TextLimits(size=256 * 1024, depth=60, nodes=20_000)
# Objects of a pasted text.
MOST_OBJECTS = 50
DEFAULT_NAMESPACE = "default"
APPROVALS_CREATOR = "approvals.kschedweb.dev/created-by"
# The ConfigMap of the sandbox's kube-scheduler that calls this site as an extender.
EXTENDED = "/api/v1/namespaces/kube-system/configmaps/kube-scheduler-extended"


def pace_set(*, user: User | None, cluster: Cluster, paused: bool | None = None, speed: int | None = None) -> None:
    """Stop the sandbox's time, let it go on, or set its speed; ``None`` keeps a part."""
    if speed is not None and not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise Unprocessable.at("speed", f"Choose a speed from {SPEEDS[0]} to {SPEEDS[-1]}.")
    spec = {name: value for name, value in (("paused", paused), ("speed", speed)) if value is not None}
    with open_client() as client:
        _answer_object(client.send("PATCH", CLOCK_PATH, {"spec": spec}, content=MERGE))
    audit.record(user, "sandbox.pace-set", cluster, cluster.name, **spec)


def objects_create(*, user: User, cluster: Cluster, text: str) -> list[str]:
    """Create the objects of a YAML or JSON text, all or none. Returns ``Kind namespace/name`` of each.

    Raises ApplicationError with the API server's words on each object that it refuses.
    """
    try:
        objects = _flatten_lists(documents_read(text, LIMITS))
    except UntrustedTextError as error:
        raise Unprocessable.at("text", error.detail) from None
    if not objects:
        raise Unprocessable.at("text", "There is no object in this text. Paste a Pod or a Deployment, for example.")
    if len(objects) > MOST_OBJECTS:
        raise Unprocessable.at("text", f"At most {MOST_OBJECTS} objects at a time; these are {len(objects)}.")
    prepared = [_prepare_object(raw, number, user) for number, raw in enumerate(objects, 1)]
    with open_client() as client:
        _dry_run(client, prepared)
        created = [
            _answer_object(client.send("POST", _collection_path(resource, raw), raw)) for resource, raw in prepared
        ]
    names = [format_reference(raw) for raw in created]
    audit.record(user, "sandbox.objects-created", cluster, cluster.name, objects=names)
    return names


def object_delete(*, user: User, cluster: Cluster, kind: str, api_version: str, namespace: str, name: str) -> None:
    """Delete an object of the sandbox. Raises ApplicationError in the API server's words."""
    resource = BY_KIND.get((api_version, kind))
    if resource is None:
        raise Unprocessable.at("kind", f"The sandbox does not serve {kind} of {api_version}.")
    with open_client() as client:
        _answer_object(client.send("DELETE", resource.path(namespace, name)))
    audit.record(user, "sandbox.object-deleted", cluster, cluster.name, object=f"{kind} {namespace}/{name}")


def _flatten_lists(documents: list[Any]) -> list[Any]:
    objects: list[Any] = []
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "List":
            items = document.get("items") or []
            if not isinstance(items, list):
                raise ApplicationError.at("text", "The items of a List must be a list of objects.")
            objects += items
        elif document is not None:
            objects.append(document)
    return objects


def _prepare_object(raw: Any, number: int, user: User) -> tuple[Resource, Json]:
    """Return an object as it is sent: with a namespace, and with its creator."""
    kind, version = (raw.get("kind"), raw.get("apiVersion")) if isinstance(raw, dict) else (None, None)
    resource = BY_KIND.get((str(version), str(kind)))
    if resource is None:
        description = f"{kind or 'an object without kind'} of apiVersion {version or '(none)'}"
        raise Unprocessable.at("text", f"Object {number}: the sandbox does not serve {description}.")
    if not raw.get("metadata"):
        raise Unprocessable.at("text", f"Object {number} ({kind}): metadata is missing.")
    try:
        raw = decode_object(resource, raw)
    except DecodeError as error:
        raise ApplicationError.at("text", f"Object {number}: {undecodable(resource, str(error)).message}") from None
    metadata = raw["metadata"]
    if resource.namespaced and not metadata.get("namespace"):
        metadata["namespace"] = DEFAULT_NAMESPACE
    metadata["labels"] = {**(metadata.get("labels") or {}), PASTED: "true"}
    made_by = {CREATED_BY: user.get_username(), APPROVALS_CREATOR: user.get_username()}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **made_by}
    if (template := (raw.get("spec") or {}).get("template")) is not None:
        inner = template["metadata"]
        inner["annotations"] = {**(inner.get("annotations") or {}), APPROVALS_CREATOR: user.get_username()}
    return resource, raw


def _dry_run(client: Client, prepared: list[tuple[Resource, Json]]) -> None:
    """Raise Unprocessable with every object that the API server would refuse."""
    coming = {raw["metadata"].get("name") for resource, raw in prepared if resource is NAMESPACE}
    problems: list[FieldProblem] = []
    for number, (resource, raw) in enumerate(prepared, 1):
        # Its namespace is created by the same text, so a dry run would not find it.
        if raw["metadata"].get("namespace") in coming:
            continue
        answer = client.send("POST", f"{_collection_path(resource, raw)}?dryRun=All", raw)
        if answer.code >= 300:
            reason = status_text(answer) or status_error(answer.code, resource.plural).detail
            problems.append({"path": "text", "message": f"Object {number}: {reason}"})
    if problems:
        raise Unprocessable(problems[0]["message"], errors=problems)


def _answer_object(answer: WireResponse) -> Json:
    """Return the object of an answer. Raises ApplicationError if the server refused."""
    content = answer.json()
    if answer.code >= 300 or not isinstance(content, dict):
        reason = status_text(answer) or status_error(answer.code, "the sandbox").detail
        status = 503 if answer.code >= 500 else 409 if answer.code == 409 else 422
        raise ApplicationError(reason, status=status)
    return content


def _collection_path(resource: Resource, raw: Json) -> str:
    """Return the address of the collection that ``raw`` belongs to."""
    return resource.path(str(raw["metadata"].get("namespace") or ""))


def format_reference(raw: Json) -> str:
    metadata = raw["metadata"]
    return f"{raw['kind']} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"


def sandbox_set_up_anew(*, user: User) -> Cluster:
    """Forget everything in the sandbox, and begin again with the content of a new one. Raises ApplicationError."""
    host = get_host()
    if host is None:
        raise Conflict("The sandbox does not run in this process: start the site anew instead.")
    if not host.set_up_anew():
        raise ApplicationError(host.trouble, status=503)
    cluster = sandbox_load(site=host.site)
    snapshot_read(cluster=cluster, step=lambda *_: None)
    audit.record(user, "sandbox.set-up-anew", cluster, cluster.name)
    return cluster


# The setup of a new site.
def sandbox_load(*, site: str = "") -> Cluster:
    """Return the sandbox as a cluster of this site. A new one gets policies and schedulers that work in it.

    ``site`` is the address at which the sandbox's kube-scheduler finds this site's extender; "" leaves it out.
    """
    cluster, new = sandbox_connect()
    if new:
        snapshot_read(cluster=cluster, step=lambda *_: None)
        source_save(user=None, cluster=cluster, settings=SourceSettings(kind=SourceKind.METRICS), force=True)
        _load_figures(cluster)
        _create_schedulers(cluster)
    if site:
        _configure_extender(cluster, site)
    return cluster


def _load_figures(cluster: Cluster) -> None:
    """Collect the first figures of its use, so that pages have something to show at once."""
    now = time.time()
    source = run_claim(cluster_id=cluster.pk, now=now, due_only=False)
    if source is not None:
        run_collection(source=source, now=now)


@transaction.atomic
def _create_schedulers(cluster: Cluster) -> None:
    guarded, balanced = (_get_policy(name) for name in ("guarded", "balanced"))
    live_create(user=None, cluster=cluster, scheduler_name="guarded", policy=guarded, mode=Mode.SCHEDULING)
    live_create(user=None, cluster=cluster, scheduler_name="default-scheduler", policy=balanced, mode=Mode.SHADOW)
    live_create(user=None, cluster=cluster, scheduler_name="extended", policy=balanced, mode=Mode.EXTENDER)


def _get_policy(name: str) -> Policy:
    document = (POLICIES / f"{name}.yaml").read_text(encoding="utf-8")
    policy = Policy.objects.filter(name=f"sandbox-{name}").first()
    return policy or policy_create(
        name=f"sandbox-{name}", document=document, author=None, description=document.partition("\n")[0].lstrip("# ")
    )


def _configure_extender(cluster: Cluster, site: str) -> None:
    """Tell the sandbox's kube-scheduler with an extender the current address of this site, and a new secret."""
    live = LiveScheduler.objects.filter(cluster=cluster, scheduler_name="extended", mode=Mode.EXTENDER).first()
    if live is None:
        return
    text = extender_yaml(live, site, endpoint_secret_make(user=None, live=live))
    text += "profiles:\n- schedulerName: extended\n"
    with open_client() as client:
        answer = client.send("PATCH", EXTENDED, {"data": {"config.yaml": text}}, content=MERGE)
    # 404: a person has deleted the ConfigMap, which is their right.
    if answer.code >= 300 and answer.code != 404:
        _answer_object(answer)
