"""Short ways to ask the classic scheduler."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic.extenders import ClassicExtenders

ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
POLICY = {"kind": "Policy", "apiVersion": "v1"}


def scheduler(
    *objects: dict, policy: dict | None = None, edition: Edition | None = None, post: Post | None = None
) -> ClassicScheduler:
    """A scheduler over ``objects``; ``policy`` are the fields of a Policy."""
    read = None
    if policy is not None:
        loaded = load_policy({**POLICY, **policy})
        assert loaded.policy is not None, loaded.errors
        read = loaded.policy
    algorithm = Registry(edition or Edition()).build_algorithm(read)
    extenders = ClassicExtenders(algorithm.extenders, post)
    return ClassicScheduler(ClassicSnapshot.from_objects(objects), algorithm, extenders=extenders)


def explain_pod(raw: dict, *objects: dict, **how: Any) -> dict:
    """Return the explanation of one pod."""
    return scheduler(*objects, **how).explain(Pod.from_json(raw), as_scheduled=False).to_dict()


def verdicts(predicate: str, raw: dict, *objects: dict, argument: dict | None = None, **how: Any) -> dict:
    """The reasons of one predicate by node."""
    choice = {"name": predicate, **({"argument": argument} if argument else {})}
    answer: dict = explain_pod(raw, *objects, policy={"predicates": [choice], "priorities": []}, **how)
    assert "error" not in answer, answer
    return dict(answer["predicates"].get(predicate, {}))


def failure(predicate: str, raw: dict, *objects: dict) -> str:
    """Return the error of one predicate."""
    answer = explain_pod(raw, *objects, policy={"predicates": [{"name": predicate}], "priorities": []})
    return str(answer["error"])


def scores(priority: str, raw: dict, *objects: dict, argument: dict | None = None, **how: Any) -> tuple[list, list]:
    """(mapped, reduced) scores of one priority in the order of the nodes."""
    choice = {"name": priority, "weight": 1, **({"argument": argument} if argument else {})}
    answer = explain_pod(raw, *objects, policy={"predicates": [], "priorities": [choice]}, **how)
    priority_scores = answer["priorities"][priority]
    return list(priority_scores.get("mapped", {}).values()), list(priority_scores["reduced"].values())


def place(raws: list[dict], *objects: dict, **how: Any) -> list[str]:
    """Place pods one after the other and return their nodes."""
    return [
        placement.node for placement in scheduler(*objects, **how).schedule_pods(Pod.from_json(raw) for raw in raws)
    ]
