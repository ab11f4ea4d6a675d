"""The kinds of locks by their names in ``--leader-elect-resource-lock``, and which kinds exclude each other."""

from __future__ import annotations

from kschedweb.clusters.connecting.client import Client
from kschedweb.live.schedulers.election.annotationlock import ConfigMapLock, EndpointsLock
from kschedweb.live.schedulers.election.elector import RENEW_SECONDS, Lock
from kschedweb.live.schedulers.election.lease import LeaseLock
from kschedweb.live.schedulers.election.multilock import MultiLock
from kschedweb.live.schedulers.election.objectlock import ObjectLock

LEASES = "leases"
# The objects that each kind writes, in this order. Kinds that share an object exclude each other.
PARTS: dict[str, tuple[type[ObjectLock], ...]] = {
    LEASES: (LeaseLock,),
    "endpoints": (EndpointsLock,),
    "endpointsleases": (EndpointsLock, LeaseLock),
    "configmaps": (ConfigMapLock,),
    "configmapsleases": (ConfigMapLock, LeaseLock),
}


def make_lock(
    kind: str,
    client: Client,
    namespace: str,
    name: str,
    identity: str,
    *,
    component: str = "kschedweb",
    seconds: float = RENEW_SECONDS / 3,
) -> Lock:
    """Return the lock of ``kind``. A read or write takes at most ``seconds``, for both halves of a pair together."""
    parts = PARTS[kind]
    locks = [
        part(client, namespace, name, identity, component=component, seconds=seconds / len(parts)) for part in parts
    ]
    return locks[0] if len(locks) == 1 else MultiLock(locks[0], locks[1], identity)


def exclude_each_other(kind: str, other: str) -> bool:
    """Return whether locks of these kinds and of one name exclude each other: they share an object."""
    return not set(PARTS[kind]).isdisjoint(PARTS[other])


def migration_steps(first: str, other: str) -> list[str]:
    """Return the kinds by which an election moves from ``first`` to ``other``; each excludes the next."""
    # A breadth-first search over kinds, so the way is the shortest; ``before`` leads back from each kind.
    before: dict[str, str] = {first: ""}
    for kind in (reached := [first]):
        for following in PARTS:
            if following not in before and exclude_each_other(kind, following):
                before[following] = kind
                reached.append(following)
    way = []
    while other := before[other]:
        way.append(other)
    return way[-2::-1]
