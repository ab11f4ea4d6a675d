"""Current credentials of clusters for long-lived clients, because people and the kubelet replace credentials.

There is one opener per cluster and process. It makes no database queries, because many threads would each need a
connection. Code that reads rows anyway calls ``renew_opener``.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.sources import OWN_SOURCES, endpoint_of, in_cluster_secret, secret_of
from kschedweb.clusters.models import ClusterSource, Credential
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from kschedweb.clusters.connecting.credentials import Secret
    from kschedweb.clusters.models import Cluster

# Seconds between reads of a service account's file, as in client-go.
REREAD = 60.0
logger = structlog.get_logger(__name__)


class Opener:
    """Opens clients of one cluster, which use new credentials from their next call on."""

    def __init__(self, cluster: Cluster) -> None:
        """Read the credentials. Raises ApplicationError if they cannot be decrypted, or the server is not allowed."""
        self.name, self._rotates = cluster.name, cluster.source == ClusterSource.IN_CLUSTER
        self._sealed = sealed_at(cluster)
        self._secret, self._read_at = secret_of(cluster), time.monotonic()
        self.endpoint = endpoint_of(cluster.source, self._secret)
        self._lock = threading.Lock()

    def open(self, identity: str = "") -> Client:
        """Open a client; ``identity`` names the caller."""
        return Client.open(self.secret(), endpoint=self.endpoint, identity=identity, keys=self)

    def secret(self) -> Secret:
        """Return the current secret."""
        if self._rotates and time.monotonic() - self._read_at >= REREAD:
            self._reread_secret()
        return self._secret

    def refused(self, secret: Secret) -> bool:
        """Note that the server refused ``secret``. Returns whether there is another one now."""
        if self._rotates and secret == self._secret:
            self._reread_secret()
        return secret != self._secret

    def _reread_secret(self) -> None:
        with self._lock:
            self._read_at = time.monotonic()
            try:
                self._replace_secret(in_cluster_secret())
            except ApplicationError as error:
                # The kubelet replaces the file atomically, and the previous token may still be valid.
                logger.warning("service_account_not_read", cluster=self.name, error=error.detail)

    def renew(self, cluster: Cluster) -> None:
        """Switch to replaced credentials. Queries the database."""
        sealed = sealed_at(cluster)
        if sealed == self._sealed:
            return
        secret = secret_of(cluster)
        with self._lock:
            self._sealed = sealed
            # A secret for another server must not be sent to this one; that needs a restart.
            if secret.server == self._secret.server:
                self._replace_secret(secret)

    def take_over(self, newer: Opener) -> None:
        """Take over the state of ``newer``, a new opener of the same server."""
        with self._lock:
            # The name may resolve to another address now.
            self.endpoint = newer.endpoint
            self._sealed, self._read_at = newer._sealed, newer._read_at
            self._replace_secret(newer._secret)

    def _replace_secret(self, secret: Secret) -> None:
        if secret != self._secret:
            logger.info("credentials_renewed", cluster=self.name)
            self._secret = secret


_openers: dict[UUID, Opener] = {}
_lock = threading.Lock()


def get_opener(cluster: Cluster) -> Opener:
    """Return the opener of ``cluster`` in this process, with current credentials. Raises ApplicationError."""
    new_opener = Opener(cluster)
    with _lock:
        current = _openers.get(cluster.pk)
        if current is None or current.secret().server != new_opener.secret().server:
            current = _openers[cluster.pk] = new_opener
        else:
            current.take_over(new_opener)
    return current


def renew_opener(cluster: Cluster) -> None:
    """Switch to replaced credentials if this process has an opener of ``cluster``."""
    current = _openers.get(cluster.pk)
    if current is None or cluster.source in OWN_SOURCES:
        return
    try:
        current.renew(cluster)
    except ApplicationError as error:
        logger.warning("credentials_not_renewed", cluster=cluster.name, error=error.detail)


def sealed_at(cluster: Cluster) -> datetime | None:
    """Return when the credentials of ``cluster`` were stored; ``None`` if it has none."""
    return Credential.objects.filter(cluster=cluster).values_list("updated_at", flat=True).first()
