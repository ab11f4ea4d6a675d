from __future__ import annotations

from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import verdicts

NODES = [node("a", labels={"rack": "1"}), node("b", labels={"rack": "2"}), node("c")]
WEB = {"kind": "Service", "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
REASON = ["node(s) didn't match service affinity"]


def ask(raw: dict, *objects: dict) -> list[str]:
    argument = {"serviceAffinity": {"labels": ["rack"]}}
    said = verdicts("CheckServiceAffinity", raw, *NODES, *objects, argument=argument)
    assert all(reasons == REASON for reasons in said.values())
    return list(said)


def test_a_pod_follows_one_like_it_of_its_service() -> None:
    there = pod("b", on="b", labels={"app": "web", "more": "x"})
    assert ask(pod("p", labels={"app": "web"}), there, WEB) == ["a", "c"]
    assert ask(pod("p", labels={"app": "web"}), there) == []
    assert ask(pod("p", labels={"app": "web", "other": "y"}), there, WEB) == []


def test_what_the_pod_selects_by_itself_goes_before() -> None:
    there = pod("b", on="b", labels={"app": "web"})
    assert ask(pod("p", labels={"app": "web"}, nodeSelector={"rack": "1"}), there, WEB) == ["b", "c"]
