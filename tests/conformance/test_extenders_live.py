"""One HTTP extender, asked by the engine and by the real scheduler, must lead both to the same node."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.extenders.transport import create_post
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.hunting import same
from tests.conformance.making.scenarios import Maker
from tests.conformance.reference import Answer, Reference, failure
from tests.support import tiers

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = tiers.seed()
COUNT = tiers.count(150, 1500)
FPGA = "example.com/fpga"


class Whim(BaseHTTPRequestHandler):
    """Answers as its path says; the same question always gets the same answer.

    A path is /SEED/MANNER/VERB: the seed, the pod and the names of the nodes decide what is answered.
    """

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, seed, manner, verb = self.path.split("/")
        answer = reply(question, seed, manner, verb)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(500 if manner == "failing" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def reply(question: dict, seed: str, manner: str, verb: str) -> Any:
    nodes = question["Nodes"]["items"] if question.get("Nodes") else None
    names = question["NodeNames"] or [node["metadata"]["name"] for node in nodes or ()]
    random = Random(f"{seed} {verb} {question['Pod']['metadata']['name']} {sorted(names)}")
    if verb == "prioritize":
        # All different, so that no tie is left to chance.
        scores = random.sample(range(1, 100_000), len(names))
        priorities = [{"Host": name, "Score": score} for name, score in zip(sorted(names), scores, strict=True)]
        return [*priorities, {"Host": "elsewhere", "Score": 7}]
    return filtered(random, names, nodes, manner)


def filtered(random: Random, names: list[str], nodes: list[dict] | None, manner: str) -> Any:
    if manner == "rude":
        return random.choice([b"<html>", b"", b'{"NodeNames": ["n', {"Error": "out of order"}, {"NodeNames": 5}, []])
    passing = random.sample(sorted(names), random.randint(0, len(names)))
    lost = [name for name in sorted(names) if name not in passing]
    answer: dict[str, Any] = {"FailedNodes": {}, "FailedAndUnresolvableNodes": {}}
    for name in [*lost, *passing[:1], "elsewhere"]:
        field = random.choice(["FailedNodes", "FailedAndUnresolvableNodes", "", ""])
        if field and (name in lost or random.random() < 0.2):
            answer[field][name] = random.choice(["too hot", "too cold"])
    if nodes is None:
        return {**answer, "NodeNames": passing}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    return {**answer, "nodes": {"items": [by_name[name] for name in passing]}}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Whim)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class ExtendedMaker(Maker):
    """Makes scenarios whose configuration names extenders; the last one always sets all nodes apart."""

    def __init__(self, random: Random, address: str) -> None:
        super().__init__(random)
        self.address = address

    def extended(self, name: str) -> dict:
        scenario = self.scenario(name, nodes=self.pick([None, None, 120]))
        last = self.extender("mild") | {"prioritizeVerb": "prioritize", "weight": 3}
        last.pop("managedResources", None)
        scenario["config"]["extenders"] = [*(self.extender() for _ in range(self.random.randint(0, 2))), last]
        for pod in scenario["pending"]:
            if self.maybe(0.3):
                pod["spec"]["containers"][0]["resources"].setdefault("limits", {})[FPGA] = "1"
        return scenario

    def extender(self, manner: str = "") -> dict:
        manner = manner or self.pick(["mild", "mild", "mild", "rude", "failing"])
        extender: dict[str, Any] = {
            "urlPrefix": f"{self.address}/{self.random.randrange(10**6)}/{manner}{self.pick(['', '/'])}",
            "nodeCacheCapable": self.maybe(0.5),
            "ignorable": self.maybe(0.5),
        }
        if self.maybe(0.8):
            extender["filterVerb"] = "filter"
        if self.maybe(0.5):
            extender |= {"prioritizeVerb": "prioritize", "weight": self.random.randint(1, 5)}
        if self.maybe(0.3):
            extender["managedResources"] = [{"name": FPGA, "ignoredByScheduler": self.maybe(0.5)}]
        return extender


def test_extenders_are_asked_as_the_real_scheduler_asks_them(reference: Reference, address: str) -> None:
    maker = ExtendedMaker(Random(SEED), address)
    scenarios = [reference.with_release(valid(maker.extended(f"extended-{SEED}-{number}"))) for number in range(COUNT)]
    answers = reference.answers("schedule", scenarios)
    differing = [
        scenario["name"]
        for scenario, expected in zip(scenarios, answers, strict=True)
        if not same(scenario, placed(scenario), expected)
    ]
    assert differing == [], f"HUNT_SEED={SEED}"
    placements = [placement for answer in answers for placement in answer.get("placements", ())]
    assert any("node" in placement for placement in placements)
    assert any("too hot" in placement.get("message", "") for placement in placements)


def placed(scenario: dict) -> Answer:
    try:
        ready = Scenario.from_text(json.dumps(scenario))
    except ScenarioError as error:
        return failure(str(error))
    return ready.schedule(create_post(ready.configuration.extenders))


def valid(scenario: dict) -> dict:
    """A resource may have one manager only."""
    managed = False
    for extender in scenario["config"]["extenders"]:
        if managed:
            extender.pop("managedResources", None)
        managed |= "managedResources" in extender
    return scenario
