"""Pages of a load-aware plugin of two files; test_third_party.py runs this beside the package headroom."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kschedweb.clusters import services as clusters
from kschedweb.decisions import arithmetic
from kschedweb.decisions.load_aware.curves import Conditions, compute_curve
from kschedweb.decisions.load_aware.sides import ScoringSide, all_sides
from kschedweb.engine import Snapshot
from kschedweb.engine.experiment import ExperimentWorkload, Setup, UseRecording, replay_workload
from kschedweb.engine.experiment.policies import list_policies, load_configuration
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.playground.experiments import selectors as experiments
from kschedweb.playground.sweeps import offers
from kschedweb.policies import selectors
from tests.decisions.load_cases import decide
from tests.engine.builders import node, pod
from tests.policies.test_views import read_form
from tests.support.html import elements, levels, text

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
POLICY = "/policies/default/"
USE = {"idle": 25.5, "busy": 95.0, "unknown": None}


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


@pytest.fixture
def demo(admin: User) -> None:
    clusters.demo_load(user=admin)


def side() -> ScoringSide:
    (headroom_side,) = (side for side in all_sides() if side.plugin == "Headroom")
    return headroom_side


def save(client: Client) -> None:
    switches = {"on.Headroom.filter": "on", "on.Headroom.score": "on", "weight.Headroom": "4"}
    form_data = read_form(client.get(POLICY)) | switches | {"args.Headroom.leastPercent": "12.5", "save": "1"}
    warned = client.post(POLICY, form_data)  # the plugin is unknown to kube-scheduler, which is a warning
    accepted = [element["value"] for element in elements(warned, "input[name=accepted_warnings]")]
    saved = client.post(POLICY, read_form(warned) | {"save": "1", "accepted_warnings": accepted}, follow=True)
    assert levels(saved) == ["success"]


def test_the_form_has_its_arguments_with_a_slider(client: Client) -> None:
    page = text(client.get(POLICY))
    assert 'name="args.Headroom.leastPercent"' in page
    assert 'id="f-args-Headroom-leastPercent-slider" min="0" max="50"' in page
    save(client)
    profile = selectors.load_configuration(selectors.revision_get(selectors.policy_get("default"))).profiles[0]
    assert profile.args["Headroom"]["leastPercent"] == 12.5


def test_its_verdict_is_read_and_its_score_worked_out() -> None:
    snapshot = Snapshot.from_objects([*map(node, USE), pod("asked")])
    figures = {name: {"updated": 0, "cpu": {"15m": use}} for name, use in USE.items() if use is not None}
    snapshot.watermarks = Watermarks.from_json({"nodes": figures}, snapshot.names)
    (waiting,) = snapshot.pending
    decision = decide(snapshot, waiting, side())
    explanation = decision.explanation
    at = snapshot.index

    assert [explanation.nodes[place] for place in explanation.feasible] == ["idle", "unknown"]
    reading = decision.decisive_reading(at["busy"])
    assert reading is not None
    assert (reading.text, reading.remedy) == ("busy has too little headroom", "less load there would do")
    ((reason, number),) = decision.count_reasons()
    assert (decision.summarize_reason(reason), number) == ("has too little headroom", 1)
    assert explanation.rejected_by[at["idle"]] == FEASIBLE

    explained = arithmetic.explain_score(decision, decision.case, at["idle"], "Headroom")
    assert explained.about == "What a node does not really use, in percent."
    assert [figure.value for figure in explained.figures] == ["25.5 % of allocatable"]
    assert (explained.steps[0].formula, explained.computed) == ("100 − use = 74.5 %, rounded", 75)
    assert arithmetic.explain_score(decision, decision.case, at["unknown"], "Headroom").computed == 0


def test_the_decision_page_tells_its_arithmetic(client: Client, demo: None) -> None:
    save(client)
    address = "/decision/demo/ml/notebook/"
    best = client.get(address).context["rows"][0]
    assert ("Headroom", 4) in {(cell.plugin, cell.weight) for cell in best.cells}
    page = text(client.get(address, {"cell": "Headroom", "node": best.node}))
    assert "What a node does not really use, in percent." in page


def test_the_load_aware_page_draws_it_beside_the_others(client: Client, api_as: Callable[[str], Any]) -> None:
    page = text(client.get("/load-aware/"))
    assert "A node without figures passes and has no headroom." in page
    drawn = compute_curve(side(), Conditions(lowest=20))
    assert [drawn.scores[percent - 20] for percent in (20, 50, 90, 91)] == [80, 50, 10, None]
    assert "Headroom" in [curve.side.key for curve in client.get("/load-aware/").context["drawn"]]


def test_experiments_try_it_and_replay_with_it() -> None:
    assert ("headroom", "Headroom beside the defaults") in experiments.list_policies()
    document = list_policies(4)["headroom"]
    assert ("Headroom", 1) in {
        (ref.name, ref.weight) for ref in load_configuration(document).profiles[0].points["score"]
    }
    recording = UseRecording.generate(np.random.default_rng(7), 60, 60)
    workload = ExperimentWorkload(recording, 1, Setup(nodes=4, deployments=40, pace=30.0))
    even, default = (
        replay_workload(workload, load_configuration(list_policies(4)[name])).balance
        for name in ("headroom", "default")
    )
    assert even.skew < default.skew


def test_sweeps_offer_its_weight_and_its_arguments(client: Client) -> None:
    save(client)
    configuration = selectors.load_configuration(selectors.revision_get(selectors.policy_get("default")))
    assert "Headroom" in {offer.plugin for offer in offers.weight_offers(configuration)}
    (offer,) = (
        offer for offer in offers.argument_offers(configuration) if offer.path.endswith("[Headroom].args.leastPercent")
    )
    assert (offer.now, offer.low, offer.high) == ("12.5", "0", "50")
