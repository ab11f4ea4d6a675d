"""Changes of clusters and snapshots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.clusters import demo, demo_events, reader, selectors
from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.access import permissions_review
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import credential_save, encryption_keys
from kschedweb.clusters.connecting.errors import ClusterError
from kschedweb.clusters.connecting.kubeconfig import kubeconfig_read
from kschedweb.clusters.events.reading import events_read
from kschedweb.clusters.events.records import read_event
from kschedweb.clusters.events.ring import events_replace
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.importing.imports import Content, Import, files_read
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot, Upload
from kschedweb.clusters.rows import Problem
from kschedweb.clusters.signals import demo_loaded
from kschedweb.clusters.snapshots import PreparedSnapshot, cluster_lock
from kschedweb.clusters.versions import ClusterVersion, guess_version, parse_version
from kschedweb.engine.json_types import Json
from kschedweb.jobs.services import job_start
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.connecting.access import Permission
    from kschedweb.clusters.connecting.credentials import Secret
    from kschedweb.clusters.importing.uploads import Files
    from kschedweb.clusters.snapshots import Step
    from kschedweb.jobs.models import Job


# A DNS label, as Kubernetes names objects.
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Addresses of pages.
RESERVED = frozenset({"connect", "import", "load-demo"})
CONNECTED = frozenset({ClusterSource.KUBECONFIG, ClusterSource.TOKEN, ClusterSource.IN_CLUSTER, ClusterSource.SANDBOX})
# Sources whose credentials are stored here.
STORED = (ClusterSource.KUBECONFIG, ClusterSource.TOKEN)
# Seconds; a person waits for the answer.
CONNECT_PATIENCE = 25.0


def cluster_connect(
    *,
    user: User | None,
    name: str,
    source: str,
    kubeconfig: str = "",
    context: str = "",
    server: str = "",
    token: str = "",
    ca: str = "",
) -> tuple[Cluster, Job]:
    """Connect a cluster, get its version and the permissions of the credentials, and start reading it.

    ``source`` is KUBECONFIG (``kubeconfig``, ``context``), TOKEN (``server``, ``token``, ``ca``) or IN_CLUSTER. Raises
    ``ApplicationError`` if something is refused or the cluster does not answer; then nothing is stored.
    """
    name_check(name)
    name_free(name)
    if source == ClusterSource.KUBECONFIG:
        secret = kubeconfig_read(kubeconfig, context)
    elif source == ClusterSource.TOKEN:
        secret = sources.token_secret(server, token, ca)
    elif source == ClusterSource.IN_CLUSTER:
        secret = sources.in_cluster_secret()
    else:
        raise ApplicationError.at("source", "Choose how to connect: kubeconfig, token or in-cluster.")
    # A missing key must be reported before the server is asked, not after.
    if source != ClusterSource.IN_CLUSTER:
        encryption_keys()
    version, permissions = _try_connection(source, secret)
    with transaction.atomic():
        cluster = cluster_create(
            Cluster(
                name=name,
                source=source,
                server=secret.server[:500],
                server_version=version,
                permissions=permissions,
                created_by=user,
            )
        )
        if source != ClusterSource.IN_CLUSTER:
            credential_save(cluster=cluster, secret=secret)
        audit.record(user, "cluster.connected", cluster, name, server=cluster.server, source=source)
        return cluster, _refresh_job(cluster, user)


def credentials_replaceable(cluster: Cluster) -> None:
    """Raise ``Conflict`` if no credentials of ``cluster`` are stored."""
    if cluster.source not in STORED:
        raise Conflict(f"Cluster {cluster.name} has no stored credentials that could be replaced.")


def cluster_credentials_replace(
    *, user: User | None, cluster: Cluster, token: str = "", ca: str = "", kubeconfig: str = "", context: str = ""
) -> Cluster:
    """Replace the stored credentials by others for the same server: ``token`` or ``kubeconfig``.

    ``ca`` "" keeps the authority. Followers of the cluster use the new credentials within a second. Raises
    ``ApplicationError`` if the server refuses them; then the old ones stay.
    """
    credentials_replaceable(cluster)
    if bool(token.strip()) == bool(kubeconfig.strip()):
        raise ApplicationError.at("token", "Give either a token or a kubeconfig.")
    before = sources.secret_of(cluster)
    if kubeconfig.strip():
        secret = kubeconfig_read(kubeconfig, context)
    else:
        secret = replace(
            sources.token_secret(before.server, token, ca or before.ca), tls_server_name=before.tls_server_name
        )
    # Grants and snapshots are for one server: another one is another cluster.
    if secret.server != before.server:
        raise ApplicationError.at(
            "kubeconfig", f"This is for {secret.server}; the cluster is {before.server}: connect another one."
        )
    version, permissions = _try_connection(cluster.source, secret)
    with transaction.atomic():
        credential_save(cluster=cluster, secret=secret)
        cluster.server_version, cluster.permissions = version, permissions
        cluster.save(update_fields=["server_version", "permissions"])
        audit.record(user, "cluster.credentials_replaced", cluster, cluster.name)
    return cluster


def _try_connection(source: str, secret: Secret) -> tuple[str, list[Permission]]:
    """Return the server's version and the permissions of ``secret``. Raises ``ApplicationError`` if it is refused."""
    endpoint = sources.endpoint_of(source, secret)
    try:
        with Client.open(secret, endpoint=endpoint, patience=CONNECT_PATIENCE) as client:
            return client.fetch_version(), permissions_review(client)
    except ClusterError as error:
        if error.code:
            raise
        server = endpoint.address if endpoint.host == endpoint.address else f"{endpoint.host}, {endpoint.address}"
        raise ClusterError(f"{error.detail} (The server is {server}, port {endpoint.port}.)") from error


def cluster_refresh(*, user: User | None, cluster: Cluster) -> Job:
    """Start to read ``cluster`` again. Returns the job, or the one that already does so."""
    if cluster.source not in CONNECTED:
        raise Conflict(f"Cluster {cluster.name} is not connected: there is nothing to read it from again.")
    return refresh_start(cluster=cluster, user=user)


@transaction.atomic
def refresh_start(*, cluster: Cluster, user: User | None) -> Job:
    """Return the job that reads the connected ``cluster``; start one if there is none."""
    # The lock keeps two requests from starting a job each.
    Cluster.objects.select_for_update().get(pk=cluster.pk)
    Cluster.objects.filter(pk=cluster.pk).update(refresh_asked_at=timezone.now())
    return selectors.refresh_job(cluster) or _refresh_job(cluster, user)


def _refresh_job(cluster: Cluster, user: User | None) -> Job:
    return job_start(
        "clusters.refresh", title=f"Read cluster {cluster.name}", params={"cluster": str(cluster.pk)}, user=user
    )


def snapshot_read(*, cluster: Cluster, step: Callable[[str, int, int], None]) -> Snapshot:
    """Read ``cluster`` now and store its new current snapshot.

    If nothing changed, the last snapshot stays current. Raises ``ApplicationError`` if the cluster cannot be read; then
    the last snapshot stays, and the error is stored with the cluster. Afterwards its Events are read.
    """
    try:
        snapshot = _snapshot_read(cluster, step)
    except ApplicationError as error:
        Cluster.objects.filter(pk=cluster.pk).update(refresh_error=error.detail[:500])
        raise
    step("Reading Events", 0, 0)
    events_read(cluster=cluster)
    return snapshot


def _snapshot_read(cluster: Cluster, step: Callable[[str, int, int], None]) -> Snapshot:
    secret = sources.secret_of(cluster)
    step("Connecting", 0, 0)
    taken_at = timezone.now()
    last = selectors.snapshot_current(cluster)
    before = None
    if last is not None:
        before = reader.collections_of(selectors.snapshot_objects(last), last.resource_versions)
    with Client.open(secret, endpoint=sources.endpoint_of(cluster.source, secret)) as client:
        version = client.fetch_version()
        permissions = permissions_review(client)
        now = reader.cluster_read(client, step, before)
    step("Storing the snapshot", 0, 0)
    versions = {name: read.resource_version for name, read in now.items() if read.resource_version}
    problems = [problem for read in now.values() for problem in read.problems]
    same = (
        last
        if last and not reader.has_changed(before, now) and all(item in last.problems for item in problems)
        else None
    )
    if same is None:
        objects = [item for read in now.values() for item in read.objects.values()]
        prepared = PreparedSnapshot.from_objects(
            cluster, objects, problems, resource_versions=versions, taken_at=taken_at
        )

    def finish() -> None:
        Cluster.objects.filter(pk=cluster.pk).update(
            server_version=version, permissions=permissions, refreshed_at=taken_at, refresh_error=""
        )

    if same is None:
        return prepared.save(finish=finish)
    with transaction.atomic():
        cluster_lock(cluster)
        finish()
        # Only the resource versions have changed, and not the snapshot.
        Snapshot.objects.filter(pk=same.pk).update(resource_versions=versions)
    return same


def snapshot_store(*, cluster: Cluster, objects: list[Json], problems: list[Problem]) -> Snapshot:
    """Store ``objects`` as the current snapshot of ``cluster``, which is saved already."""
    return PreparedSnapshot.from_objects(cluster, objects, problems).save()


def cluster_import(
    *,
    user: User | None,
    name: str,
    files: Iterable[tuple[str, Content]],
    limit: int,
    replace: bool = False,
    version: str = "",
    upload: Upload | None = None,
    step: Step | None = None,
) -> tuple[Cluster, Snapshot, Import]:
    """Make a cluster from ``files`` (name, content), or with ``replace`` a new snapshot of an imported one.

    If ``version`` of Kubernetes is "", the files decide or, as a guess, the kubelets. ``upload`` is the origin of the
    files, for a job that may be restarted. Raises ``ApplicationError`` if a file cannot be read; then nothing is
    stored.
    """
    given_version = parse_version(version if upload is None else upload.version)
    existing = upload.cluster if upload is not None and upload.cluster is not None else _find_replaceable(name, replace)
    step = step or (lambda *_: None)
    total = upload.size if upload is not None else 0
    read = files_read(files, limit=limit, heard=lambda size: step("Reading files (MiB)", size >> 20, total >> 20))
    step("Reading objects", 0, 0)
    cluster = existing or Cluster(name=name, source=ClusterSource.IMPORT, created_by=user)
    prepared = PreparedSnapshot.from_objects(cluster, read.objects, read.problems)
    runs = ClusterVersion(given_version or read.version)
    if not runs.text:
        # A version that a person or a file gave before is better than a guess now.
        keeps_version = existing is not None and existing.server_version and not existing.version_guessed
        runs = ClusterVersion(existing.server_version) if existing and keeps_version else guess_version(read.objects)

    def begin() -> None:
        cluster_create(cluster)
        if upload is not None:
            Upload.objects.filter(pk=upload.pk).update(cluster=cluster)

    def finish() -> None:
        cluster.server_version, cluster.version_guessed = runs
        Cluster.objects.filter(pk=cluster.pk).update(
            refreshed_at=prepared.snapshot.taken_at,
            server_version=runs.text,
            version_guessed=runs.guessed,
            events_read_at=events_replace(cluster=cluster, events=read.events.newest),
        )
        audit.record(user, "cluster.imported", cluster, name, counts=prepared.snapshot.counts, left_out=read.left_out)

    try:
        snapshot = prepared.save(begin=None if existing else begin, finish=finish, step=step)
    except BaseException:
        if existing is None:
            uploads.cluster_drop(cluster)
        raise
    return cluster, snapshot, read


def cluster_import_later(
    *, user: User | None, name: str, files: Files, limit: int, replace: bool = False, version: str = ""
) -> Job:
    """Store ``files`` (name, content), and start a job for ``cluster_import``."""
    _find_replaceable(name, replace)
    given_version = parse_version(version)
    upload = uploads.upload_keep(user=user, name=name, replace=replace, version=given_version, files=files, limit=limit)
    try:
        with transaction.atomic():
            title = f"Import cluster {name}"
            upload.job = job_start("clusters.import", title=title, params={"upload": str(upload.pk)}, user=user)
            upload.save(update_fields=["job"])
    except BaseException:
        uploads.upload_drop(upload)
        raise
    return upload.job


def _find_replaceable(name: str, replace: bool) -> Cluster | None:
    """Return the cluster that an import into ``name`` gives a new snapshot; ``None`` for a new cluster."""
    name_check(name)
    existing = None if not replace else Cluster.objects.filter(name=name).first()
    if existing is None:
        name_free(name)
    elif existing.source != ClusterSource.IMPORT:
        raise Conflict(f"Cluster {name} was not imported, so files cannot replace it.")
    return existing


@transaction.atomic
def cluster_delete(*, user: User | None, cluster: Cluster) -> None:
    """Delete ``cluster`` with its credentials and snapshots. Raises ``Conflict`` if a scenario uses one of these."""
    audit.record(user, "cluster.deleted", cluster, cluster.name, source=cluster.source)
    try:
        with transaction.atomic():
            Cluster.objects.filter(pk=cluster.pk).delete()
    except ProtectedError:
        raise Conflict(
            f"Scenarios start from snapshots of {cluster.name}: export and delete those first, then the cluster."
        ) from None


def demo_load(*, user: User | None = None, name: str = "demo", seed: int = demo.SEED) -> Cluster:
    """Return the demo cluster, and generate it if it does not exist. An equal seed gives equal objects."""
    existing = Cluster.objects.filter(name=name).first()
    if existing is not None:
        if existing.source != ClusterSource.DEMO:
            raise Conflict(f"There is already a cluster {name}, which is not the demo.")
        return existing
    name_check(name)
    cluster = Cluster(name=name, source=ClusterSource.DEMO, created_by=user, refreshed_at=timezone.now())
    objects = demo.generate_cluster(seed)
    prepared = PreparedSnapshot.from_objects(cluster, objects, [])
    with transaction.atomic():
        prepared.save(begin=lambda: cluster_create(cluster))
        events = demo_events.list_events(objects, demo.NOW)
        events_replace(cluster=cluster, events=filter(None, map(read_event, events)))
        Cluster.objects.filter(pk=cluster.pk).update(events_read_at=demo.NOW)
        demo_loaded.send(Cluster, cluster=cluster, objects=objects)
        audit.record(user, "cluster.demo-loaded", cluster, name, seed=seed)
    return cluster


def sandbox_connect(*, name: str = "sandbox") -> tuple[Cluster, bool]:
    """Return the cluster of the site's sandbox, and whether it was created now.

    Raises ``Conflict`` if another cluster has the name.
    """
    server = sources.sandbox_secret().server
    existing = Cluster.objects.filter(name=name).first()
    if existing is not None:
        if existing.source != ClusterSource.SANDBOX:
            raise Conflict(f"There is already a cluster {name}, which is not the sandbox.")
        Cluster.objects.filter(pk=existing.pk).update(server=server)
        return existing, False
    version, permissions = _try_connection(ClusterSource.SANDBOX, sources.sandbox_secret())
    cluster = Cluster(
        name=name, source=ClusterSource.SANDBOX, server=server, server_version=version, permissions=permissions
    )
    return cluster_create(cluster), True


def cluster_create(cluster: Cluster) -> Cluster:
    """Save a new cluster. Raises ``Conflict`` if its name was taken in the meantime."""
    with conflict_where(Cluster.objects.filter(name=cluster.name), _name_conflict(cluster.name)):
        cluster.save(force_insert=True)
    return cluster


def name_check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ApplicationError.at("name", "A name has lower-case letters, digits and hyphens, and at most 63 of them.")
    if name in RESERVED:
        raise ApplicationError.at("name", f"{name} is the address of a page: choose another name.")


def name_free(name: str) -> None:
    if Cluster.objects.filter(name=name).exists():
        raise _name_conflict(name)


def _name_conflict(name: str) -> Conflict:
    return Conflict.at("name", f"There is already a cluster {name}.")
