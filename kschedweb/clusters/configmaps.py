"""Reads a ConfigMap of a connected cluster on demand, because snapshots have no ConfigMaps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.errors import ClusterError
from kschedweb.clusters.services import CONNECTED
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError, Conflict, NotFound

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster

# Seconds in total, because a person waits.
PATIENCE = 15.0
# A DNS label and a DNS subdomain: nothing else may get into the path of the request.
NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def config_map_read(*, cluster: Cluster, namespace: str, name: str) -> Json:
    """Read a ConfigMap from the API server with the credentials of ``cluster``.

    Raises ApplicationError at ``cluster``, ``namespace`` or ``name``; ClusterError if the server does not answer
    correctly, or the credentials may not read it.
    """
    if cluster.source not in CONNECTED:
        raise Conflict.at("cluster", f"Cluster {cluster.name} is not connected: there is nothing to read from.")
    for path, value, rule in (("namespace", namespace, NAMESPACE), ("name", name, NAME)):
        if not rule.fullmatch(value):
            raise ApplicationError.at(path, f"{value[:80]!r} is not the name of a {_NOUNS[path]} in Kubernetes.")
    secret = sources.secret_of(cluster)
    endpoint = sources.endpoint_of(cluster.source, secret)
    address = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    try:
        with Client.open(secret, endpoint=endpoint, patience=PATIENCE) as client:
            config_map = client.get(address)
    except ClusterError as error:
        if error.code == 404:
            message = f"Cluster {cluster.name} has no ConfigMap {name} in namespace {namespace}."
            raise NotFound.at("name", message) from None
        if error.code == 403:
            message = (
                f"The credentials of cluster {cluster.name} may not read ConfigMap {name} in namespace {namespace} "
                f"(403). Give them the right: manage.py rbac --config-map {namespace}/{name} prints it."
            )
            raise ClusterError.at("name", message) from None
        raise
    if not isinstance(config_map, dict):
        raise ClusterError(f"The server's answer for {address} is not an object.")
    return config_map


_NOUNS = {"namespace": "namespace", "name": "ConfigMap"}
