"""What a live scheduler's credentials lack in their cluster for a mode, as the cluster itself says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.access import REVIEWS
from kschedweb.clusters.client import Client
from kschedweb.clusters.sources import endpoint_of, secret_of

if TYPE_CHECKING:
    from kschedweb.scheduling.models import LiveScheduler

PATIENCE = 15.0  # seconds for all questions together
AT_ONCE = 8


@dataclass(frozen=True, order=True)
class Right:
    """To ``verb`` the ``resource`` ("pods/binding") of an API ``group`` ("" is the core one).

    Everywhere where ``namespace`` is "", and any object where ``name`` is "".
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """As a SelfSubjectAccessReview asks for it."""
        resource, _, sub = self.resource.partition("/")
        asked = {"group": self.group, "resource": resource, "subresource": sub, "verb": self.verb}
        asked |= {"namespace": self.namespace, "name": self.name}
        return {key: value for key, value in asked.items() if value}

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" named {self.name}" if self.name else ""
        return f"{self.verb} {what}{named} in {self.namespace or 'all namespaces'}"


@dataclass(frozen=True)
class Answer:
    right: Right
    allowed: bool


def granted_by(manifests: Iterable[dict[str, Any]]) -> list[Right]:
    """Every right that the roles among ``manifests`` grant, each once."""
    return list(dict.fromkeys(_rights(manifests)))


def _rights(manifests: Iterable[dict[str, Any]]) -> Iterator[Right]:
    for manifest in manifests:
        if manifest["kind"] not in ("Role", "ClusterRole"):
            continue
        namespace = manifest["metadata"].get("namespace", "")
        for rule in manifest["rules"]:
            for group in rule.get("apiGroups", []):
                for resource in rule.get("resources", []):
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield Right(group, resource, verb, namespace, name)


def review(live: LiveScheduler, rights: Iterable[Right]) -> list[Answer]:
    """Which of ``rights`` the cluster's credentials have. Raises ClusterError where it does not answer."""
    secret = secret_of(live.cluster)
    endpoint = endpoint_of(live.cluster.source, secret)
    with (
        Client.open(secret, endpoint=endpoint, patience=PATIENCE) as client,
        ThreadPoolExecutor(AT_ONCE, thread_name_prefix="access-review") as pool,
    ):
        asked = list(rights)
        return [
            Answer(right, yes) for right, yes in zip(asked, pool.map(lambda one: _ask(client, one), asked), strict=True)
        ]


def _ask(client: Client, right: Right) -> bool:
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": right.attributes},
    }
    answer = client.create(REVIEWS, body)
    status = answer.get("status") if isinstance(answer, dict) else None
    return isinstance(status, dict) and status.get("allowed") is True
