"""What opens a cluster now, for whoever follows it for long: people replace credentials, and the kubelet does so too.

One opener a cluster and process. Using it asks no database, since many threads would each need a connection for that;
whoever looks at rows anyway calls ``renew``.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.sources import endpoint_of, in_cluster_secret, secret_of
from kschedweb.clusters.models import Credential, Source
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from kschedweb.clusters.connecting.credentials import Secret
    from kschedweb.clusters.models import Cluster

REREAD = 60.0  # seconds between looks at the file of a service account, as client-go does
logger = structlog.get_logger(__name__)


class Opener:
    """Opens clients of one cluster; each of them goes on with new credentials from its next call on."""

    def __init__(self, cluster: Cluster) -> None:
        """Raises ApplicationError where the credentials do not open, or the server may not be asked."""
        self.name, self._rotates = cluster.name, cluster.source == Source.IN_CLUSTER
        self._sealed = sealed_at(cluster)
        self._secret, self._read_at = secret_of(cluster), time.monotonic()
        self.endpoint = endpoint_of(cluster.source, self._secret)
        self._lock = threading.Lock()

    def open(self, identity: str = "") -> Client:
        """A client; ``identity`` is who calls."""
        return Client.open(self.secret(), endpoint=self.endpoint, identity=identity, keys=self)

    def secret(self) -> Secret:
        """What opens the cluster now."""
        if self._rotates and time.monotonic() - self._read_at >= REREAD:
            self._reread()
        return self._secret

    def refused(self, secret: Secret) -> bool:
        """The server does not take ``secret`` any more: whether there is another one by now."""
        if self._rotates and secret == self._secret:
            self._reread()
        return secret != self._secret

    def _reread(self) -> None:
        with self._lock:
            self._read_at = time.monotonic()
            try:
                self._take(in_cluster_secret())
            except ApplicationError as error:
                # The kubelet replaces the file at once; what was read before may still do.
                logger.warning("service_account_not_read", cluster=self.name, error=error.detail)

    def renew(self, cluster: Cluster) -> None:
        """Take up what a person put in place of the credentials. Asks the database."""
        if self._rotates:
            return
        sealed = sealed_at(cluster)
        if sealed == self._sealed:
            return
        secret = secret_of(cluster)
        with self._lock:
            self._sealed = sealed
            if secret.server == self._secret.server:  # another server is not told; it needs a new start anyway
                self._take(secret)

    def follow(self, newer: Opener) -> None:
        """Go on as ``newer``, of the same server, which was made just now."""
        with self._lock:
            self.endpoint = newer.endpoint  # a name may stand for another address by now
            self._sealed, self._read_at = newer._sealed, newer._read_at
            self._take(newer._secret)

    def _take(self, secret: Secret) -> None:
        if secret != self._secret:
            logger.info("credentials_renewed", cluster=self.name)
            self._secret = secret


_openers: dict[UUID, Opener] = {}
_lock = threading.Lock()


def opener(cluster: Cluster) -> Opener:
    """The opener of ``cluster`` in this process, with what opens it now. Raises ApplicationError."""
    made = Opener(cluster)
    with _lock:
        known = _openers.get(cluster.pk)
        if known is None or known.secret().server != made.secret().server:
            known = _openers[cluster.pk] = made
        else:
            known.follow(made)
    return known


def renew(cluster: Cluster) -> None:
    """Take up what a person put in place of the credentials, where this process follows ``cluster``."""
    known = _openers.get(cluster.pk)
    if known is None:
        return
    try:
        known.renew(cluster)
    except ApplicationError as error:
        logger.warning("credentials_not_renewed", cluster=cluster.name, error=error.detail)


def sealed_at(cluster: Cluster) -> datetime | None:
    """When the credentials of ``cluster`` were stored, ``None`` where it has none."""
    return Credential.objects.filter(cluster=cluster).values_list("updated_at", flat=True).first()
