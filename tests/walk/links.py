"""Every page whose address names a cluster is about that one alone, whatever the session chose; likewise a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.support.html import elements, html_of

if TYPE_CHECKING:
    from django.test import Client

    from tests.walk.visits import Visit

CLUSTER, POLICY = "aaa-chosen", "chosen-policy"
NODE, POD = "chosen-node", "chosen-pod"
CHOICES = ("cluster", "policy")


def choose(client: Client, address: str) -> None:
    """Have the session choose another cluster and policy than the address names, and none where it names none."""
    session = client.session
    if named_in(address, "cluster") or named_in(address, "policy"):
        session.update({"cluster": CLUSTER, "policy": POLICY})
    else:
        for choice in CHOICES:
            session.pop(choice, None)
    session.save()


class Links:
    """Looks for what the session chose."""

    def __init__(self) -> None:
        self.unvisited = {
            *(("cluster", name) for name in ("overview", "decision", "capacity-fit", "load-aware", "cluster")),
            *(("policy", name) for name in ("decision", "policy", "policy-revisions", "load-aware")),
        }

    def judge(self, visit: Visit) -> Iterator[str]:
        clusters, policies = (named_in(visit.address, choice) for choice in CHOICES)
        if visit.kind != "page" or not (clusters or policies):
            return
        scope = visit.answer.context["scope"]
        if clusters:
            self.unvisited.discard(("cluster", visit.name))
            page = html_of(visit.answer)
            yield from (f"shows {name}" for name in (NODE, POD) if name in page)
            yield from links_to(visit.answer, "cluster", CLUSTER)
            if scope.cluster.name not in clusters:
                yield f"is about {scope.cluster.name}"
        if policies:
            self.unvisited.discard(("policy", visit.name))
            yield from links_to(visit.answer, "policy", POLICY)
            if scope.policy is not None and scope.policy.name not in policies:
                yield f"is about {scope.policy.name}"

    def end(self) -> list[str]:
        return [f"{name} names no {choice}" for choice, name in self.unvisited]


def named_in(address: str, choice: str) -> set[str]:
    """The clusters, or policies, that an address names in its path or as the parameter ``choice``."""
    parts = urlsplit(address)
    names = {value.partition("@")[0] for value in parse_qs(parts.query).get(choice, [])}
    path = parts.path.strip("/").split("/")
    folders = {"cluster": ("clusters", "decision"), "policy": ("policies",)}[choice]
    if len(path) > 1 and path[0] in folders and path[1] not in ("new", "connect", "import", "repositories"):
        names.add(path[1])
    return names


def links_to(page: Any, choice: str, name: str) -> list[str]:
    """Links, forms and requests of a page to the cluster or policy ``name``."""
    targets = [
        element[kind] for kind in ("href", "action", "hx-get", "hx-post") for element in elements(page, f"[{kind}]")
    ]
    return [address for address in targets if name in named_in(address, choice)]
