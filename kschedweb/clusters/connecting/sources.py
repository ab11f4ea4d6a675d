"""Sources of a cluster's secret: a kubeconfig, a server with a token, kschedweb's own pod, or its sandbox."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from django.conf import settings

from kschedweb.clusters.connecting.addresses import CheckedEndpoint, endpoint_check
from kschedweb.clusters.connecting.credentials import Secret, ascii_pem, credential_open
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.web.errors import ApplicationError

# Where the kubelet mounts the token of a pod.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# Their address and credentials come from the operator's environment, not from a person.
OWN_SOURCES = frozenset({ClusterSource.IN_CLUSTER, ClusterSource.SANDBOX})


def in_cluster_available() -> bool:
    """Return whether kschedweb runs in a pod that has a service account."""
    return (SERVICE_ACCOUNT / "token").is_file() and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def in_cluster_secret() -> Secret:
    """Return the secret of kschedweb's own service account, read anew because the kubelet replaces the token."""
    if not in_cluster_available():
        raise ApplicationError("kschedweb does not run in a cluster with a service account here.")
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        return Secret(
            server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
            token=(SERVICE_ACCOUNT / "token").read_text(encoding="ascii").strip(),
            ca=(SERVICE_ACCOUNT / "ca.crt").read_text(encoding="ascii"),
        )
    except (OSError, UnicodeError):
        raise ApplicationError("The service account of this pod cannot be read.", status=503) from None


def sandbox_secret() -> Secret:
    """Return the secret of this site's sandbox."""
    if not settings.SANDBOX_SERVER:
        raise ApplicationError("The sandbox does not run here: start the site with KSCHEDWEB_SANDBOX=true.", status=503)
    return Secret(server=settings.SANDBOX_SERVER, token=settings.SANDBOX_TOKEN)


def token_secret(server: str, token: str, ca: str = "") -> Secret:
    """Return the secret for ``server`` with ``token``. ``ca`` is PEM text, "" for the system's authorities."""
    token, ca = token.strip(), ca.strip()
    if not token:
        raise ApplicationError.at("token", "A token is needed, such as kubectl create token prints.")
    secret = Secret(server=server.strip(), token=token, ca=ascii_pem(ca).strip())
    if ca:
        ca_check(ca)
    return secret


def ca_check(ca: str) -> None:
    """Raise ``ApplicationError`` unless ``ca`` consists of PEM certificates."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ascii_pem(ca))
    except (ssl.SSLError, ValueError, TypeError):
        message = "This is not a PEM certificate (-----BEGIN CERTIFICATE-----)."
        raise ApplicationError.at("ca", message) from None


def secret_of(cluster: Cluster) -> Secret:
    """Return the current secret of ``cluster``."""
    if cluster.source == ClusterSource.SANDBOX:
        return sandbox_secret()
    return in_cluster_secret() if cluster.source == ClusterSource.IN_CLUSTER else credential_open(cluster)


def endpoint_of(source: str, secret: Secret) -> CheckedEndpoint:
    """Return the checked endpoint of ``secret``. The sandbox listens on this machine alone, so it needs no https."""
    return endpoint_check(secret.server, trusted=source in OWN_SOURCES, open=source == ClusterSource.SANDBOX)
