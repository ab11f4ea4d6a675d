from __future__ import annotations

from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import verdicts

NODES = [node("a", labels={"rack": "1"}), node("b", labels={"rack": "2"}), node("c")]
WEB = {"kind": "Service", "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
REASON = ["node(s) didn't match service affinity"]


def ask(raw: dict, *objects: dict) -> list[str]:
    argument = {"serviceAffinity": {"labels": ["rack"]}}
    reasons_by_node = verdicts("CheckServiceAffinity", raw, *NODES, *objects, argument=argument)
    assert all(reasons == REASON for reasons in reasons_by_node.values())
    return list(reasons_by_node)


def test_a_pod_follows_one_like_it_of_its_service() -> None:
    service_pod = pod("b", on="b", labels={"app": "web", "more": "x"})
    assert ask(pod("p", labels={"app": "web"}), service_pod, WEB) == ["a", "c"]
    assert ask(pod("p", labels={"app": "web"}), service_pod) == []
    assert ask(pod("p", labels={"app": "web", "other": "y"}), service_pod, WEB) == []


def test_what_the_pod_selects_by_itself_goes_before() -> None:
    service_pod = pod("b", on="b", labels={"app": "web"})
    assert ask(pod("p", labels={"app": "web"}, nodeSelector={"rack": "1"}), service_pod, WEB) == ["b", "c"]
