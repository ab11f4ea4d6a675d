"""The checks of `manage.py doctor` on keys, allowlists, and the clusters that were connected under them."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.addresses import CLUSTERS, RULES, AddressError, Allowlist, endpoint_check
from kschedweb.clusters.connecting.credentials import (
    SHORTEST,
    VARIABLE,
    canary_check,
    encryption_keys,
    sealed_models,
)
from kschedweb.clusters.models import AllowedAddress, Cluster, ClusterSource
from kschedweb.web.doctor import DoctorFinding, failure, is_weak, ok, warning

CONNECTED = (ClusterSource.KUBECONFIG, ClusterSource.TOKEN)


def keys_examine() -> Iterator[DoctorFinding]:
    configured_keys: list[str] = settings.ENCRYPTION_KEYS
    stored = any(model._default_manager.exists() for model in sealed_models())
    if not configured_keys:
        make_finding = warning if not stored else failure
        consequence = "no cluster can be connected" if not stored else "stored credentials cannot be opened"
        yield make_finding(
            f"{VARIABLE} is not set: {consequence}.",
            "Set one that `openssl rand -base64 32` prints, or the one you had.",
        )
        return
    if any(is_weak(key, SHORTEST) for key in configured_keys):
        yield failure(
            f"{VARIABLE} holds a key of few different characters.",
            "Put one that `openssl rand -base64 32` prints in front, and run `manage.py rotate_keys`.",
        )
    if settings.SECRET_KEY in configured_keys:
        yield failure(
            f"{VARIABLE} holds the KSCHEDWEB_SECRET_KEY: who can sign sessions could open credentials.",
            "Put another key in front, and run `manage.py rotate_keys`.",
        )
    # A fresh installation has no rows, so a missing key is a failure only once something is stored.
    if unopened := canary_check():
        yield failure(
            f"No key opens the credentials of {', '.join(unopened)}.",
            f"Bring the key back into {VARIABLE} that they were stored with, or connect these clusters again.",
        )
    older = sum(model._default_manager.exclude(key_id=encryption_keys()[0].id).count() for model in sealed_models())
    if older and not unopened:
        yield warning(f"{older} credentials are stored under an older key.", "Run `manage.py rotate_keys`.")
    yield ok("credentials open")


def allowlists_examine() -> Iterator[DoctorFinding]:
    for rule in RULES:
        if rule.insecure:
            yield warning(
                f"KSCHEDWEB_{rule.name}_ALLOW_INSECURE is on: what is sent could be read on the way.",
                "Use https:// addresses, and remove it.",
            )
        allowlist = Allowlist(rule.entries, rule)
        if "" in allowlist.suffixes or any(network.prefixlen == 0 for network in allowlist.networks):
            yield warning(
                f"{rule.variable} allows every address: who may enter one can reach whatever this site can.",
                "Name the networks and hosts that are meant.",
            )
    if not CLUSTERS.editable and (added := AllowedAddress.objects.count()):
        yield warning(
            f"{added:,} addresses that administrators allowed do not count: {CLUSTERS.variable}_EDITABLE is off.",
            f"Set it, or name them in {CLUSTERS.variable}.",
        )
    for cluster in Cluster.objects.filter(source__in=CONNECTED).order_by("name"):
        try:
            endpoint_check(cluster.server)
        except AddressError as error:
            yield failure(
                f"Cluster {cluster.name}: {error.detail}", f"Change {CLUSTERS.variable}, or delete the cluster."
            )
    if not sources.in_cluster_available():
        for cluster in Cluster.objects.filter(source=ClusterSource.IN_CLUSTER):
            yield failure(
                f"Cluster {cluster.name} is connected from inside, and this process has no service account.",
                "Give its pod one (rbac.mode of the chart), or connect the cluster by an address.",
            )
    yield ok("addresses of clusters are allowed")
