"""The nodes of a run over its time, over REST and as the page says them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kschedweb.accounts.models import User
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.maps import nodes
from kschedweb.playground.runs.models import Run
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.web.nodemap.grouping import unpack_column
from kschedweb.web.nodemap.nodemap import STATES
from tests.support import seed_runs

pytestmark = pytest.mark.django_db


def run_with_changes(editor: User, *changes: dict[str, Any]) -> Run:
    """A run of the small scenario with further changes."""
    import json

    revision = seed_runs.scenario(editor)
    document = json.loads(revision.text)
    document["changes"] += changes
    ScenarioRevision.objects.filter(pk=revision.pk).update(text=json.dumps(document))
    revision.refresh_from_db()
    return seed_runs.run(editor, revision)


def test_frames_stand_at_every_change_and_hold_what_the_log_says(editor: User) -> None:
    outcome = selectors.load_outcome(seed_runs.run(editor))
    times, exact = nodes.frame_moments(outcome)
    assert exact
    assert set(outcome.moves.time.tolist()) <= set(times.tolist())
    counts = nodes.map_values(outcome, "pods", times)
    for place, time in enumerate(times.tolist()):
        node_of_pod = outcome.placed(time)
        assert (
            counts[place].tolist() == np.bincount(node_of_pod[node_of_pod >= 0], minlength=len(outcome.nodes)).tolist()
        )
    np.testing.assert_allclose(nodes.map_values(outcome, "cpu", times), 100 * outcome.requested_shares(times, "cpu"))


def test_a_node_is_cordoned_silent_and_gone_when_it_is(editor: User) -> None:
    run = run_with_changes(
        editor,
        {"at": "1m", "cordonNodes": {"nodes": ["node-0"]}},
        {"at": "2m", "failZone": {"zone": "zone-1"}},
        {"at": "4m", "removeNodes": {"nodes": ["node-2"]}},
    )
    outcome = selectors.load_outcome(run)

    def state(name: str, minutes: float) -> str:
        value = nodes.map_values(outcome, "state", [60.0 * minutes])[0][outcome.nodes.index(name)]
        return "gone" if np.isnan(value) else STATES[int(value)]

    assert state("node-0", 0.5) != "cordoned"
    assert state("node-0", 1.5) == "cordoned"
    assert state("node-1", 1.5) != "not ready"
    assert state("node-1", 4.5) == state("node-4", 4.5) == "not ready"
    assert state("node-2", 3.5) != "gone"
    assert state("node-2", 4.5) == "gone"


def test_a_step_goes_to_the_next_change(editor: User) -> None:
    outcome = selectors.load_outcome(seed_runs.run(editor))
    steps = nodes.player_steps([outcome])
    assert steps == sorted(set(steps))
    before, after = nodes.neighbour_steps(steps, 200.0, outcome.end)
    assert before < 200.0 < after
    inside = nodes.change_times(outcome)
    assert not ((inside > before + 1e-6) & (inside < after - 1e-6)).any()
    assert nodes.neighbour_steps(steps, outcome.end, outcome.end)[1] == outcome.end
    assert nodes.neighbour_steps([0.0], 0.0, 600.0) == (0.0, 600.0)


def test_the_pods_of_a_node_come_and_go_as_the_log_says(editor: User) -> None:
    outcome = selectors.load_outcome(seed_runs.run(editor))
    for place, name in enumerate(outcome.nodes):
        stays = nodes.list_stays(outcome, name)
        for time in (0.0, 0.0105, 300.5, 400.0, 600.0):
            then = {
                pod
                for pod, begin, end in zip(stays["pods"], stays["from"], stays["until"], strict=True)
                if begin <= time and (end is None or end > time)
            }
            bound_rows = np.flatnonzero(outcome.placed(time) == place)
            assert then == {outcome.pods[row] for row in bound_rows.tolist()}
        assert stays["allocatable"]["cpu"] == [4000.0]
    with pytest.raises(KeyError):
        nodes.list_stays(outcome, "node-99")


def test_rest_gives_a_map_its_columns_and_says_what_is_wrong(api_as: Callable[[str], Any], editor: User) -> None:
    run = seed_runs.run(editor)
    outcome = selectors.load_outcome(run)
    client = api_as("viewer")
    address = f"/api/v1/runs/{run.pk}/map/"
    response = client.get(address)
    assert "private" in response["Cache-Control"]
    document = response.json()
    assert document["names"] == outcome.nodes
    assert [show["name"] for show in document["shows"]] == ["cpu", "memory", "pods", "state"]
    assert document["groupings"][0]["label"] == "zone"
    frames = client.get(f"{address}frames/?show=cpu").json()
    assert frames["times"] == len(document["times"])
    values = unpack_column(frames).reshape(frames["times"], len(outcome.nodes))
    assert not values[0].any()
    shares = 100 * outcome.requested_shares([outcome.end], "cpu")[0]
    assert values[-1].tolist() == np.rint(shares).tolist()
    frame = client.get(f"{address}frames/?show=cpu&at=600").json()
    assert (frame["times"], unpack_column(frame).tolist()) == (1, values[-1].tolist())
    assert client.get(f"{address}pods/?node=node-0").json()["node"] == "node-0"
    for wrong, status, message in (
        ("frames/?show=gold", 400, "show: one of cpu, memory, pods, state."),
        ("frames/?at=later", 400, "at: A valid number is required."),
        ("frames/?at=-1", 400, "at: must be a number of seconds, 0 or more."),
        ("pods/", 400, "node: name a node."),
        ("pods/?node=node-99", 404, "The run has no node node-99."),
    ):
        answer = client.get(address + wrong)
        assert (answer.status_code, answer.json()["detail"]) == (status, message)


def test_a_map_without_javascript_shows_a_group_and_its_nodes(client_as: Callable[[str], Any], editor: User) -> None:
    run = seed_runs.run(editor)
    page = client_as("viewer").get(f"/runs/{run.pk}/?at=0.0055&show=pods&group=zone-1")
    (table,) = page.context["map"].tables
    assert table["summary"] == "After 6 ms, 6 nodes with 5 pods, at most 1 on one, 1 with none."
    assert [row[0] for row in table["nodes"]] == ["node-1", "node-4"]
    assert table["summary"] in page.content.decode()


RELABEL: list[Any] = [
    {"at": "2m", "labelNodes": {"nodes": ["node-0", "node-3"], "labels": {"topology.kubernetes.io/zone": "zone-1"}}},
    {"at": "3m", "labelNodes": {"nodes": ["node-5"], "labels": {"topology.kubernetes.io/zone": None}}},
    {"at": "4m", "addNodes": {"like": "node-1", "count": 1, "labels": {"topology.kubernetes.io/zone": "zone-9"}}},
]


def test_nodes_are_in_the_groups_that_their_labels_say_at_each_time(
    client_as: Callable[[str], Any], api_as: Callable[[str], Any], editor: User
) -> None:
    run = seed_runs.run(editor, seed_runs.scenario(editor, changes=RELABEL))

    def zones(at: int) -> dict[str, int]:
        (table,) = client_as("viewer").get(f"/runs/{run.pk}/?at={at}&by=zone").context["map"].tables
        return {row[0]: row[1] for row in table["groups"]}

    assert zones(119) == {"zone-0": 2, "zone-1": 2, "zone-2": 2}
    assert zones(120) == {"zone-1": 4, "zone-2": 2}
    assert zones(180) == {"zone-1": 4, "zone-2": 1, "no zone": 1}
    assert zones(600) == {"zone-1": 4, "zone-2": 1, "no zone": 1, "zone-9": 1}
    document = api_as("viewer").get(f"/api/v1/runs/{run.pk}/map/").json()
    zone = document["groupings"][0]
    names = [document["names"][place] for place in unpack_column(zone["shifts"]["nodes"]).tolist()]
    values = [zone["values"][code] for code in unpack_column(zone["shifts"]["codes"]).tolist()]
    assert list(zip(zone["shifts"]["times"], names, values, strict=True)) == [
        (120.0, "node-0", "zone-1"),
        (120.0, "node-3", "zone-1"),
        (180.0, "node-5", ""),
    ]
