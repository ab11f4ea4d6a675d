"""The nodes of a run over time, for the node map and the heatmap.

At most MOST_TIMES frames and MOST_VALUES values go to the page. If there are no more changes than that, each has a
frame and the map is exact at all times; otherwise frames are evenly spaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import NodeChanges, NodeJoins
from kschedweb.engine.studies.play.outcome import MoveKind, NodeState
from kschedweb.playground.runs.charts import thin_positions
from kschedweb.playground.runs.maps.frames import frame_times
from kschedweb.web.nodemap.grouping import Grouping, Relabelled, make_groupings
from kschedweb.web.nodemap.nodemap import PODS, STATE, NodeColouring, classify_states, show_requested, show_used

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.engine.studies.prepare.prepared import PreparedScenario

# Listed pods of one node; with more, the latest ones.
MOST_STAYS = 2_000
# Steps of the player, which go to the page as numbers.
MOST_STEPS = 1_000


def list_shows(outcome: RunOutcome) -> dict[str, NodeColouring]:
    """Return the choices of colouring for a map of the run, by key."""
    shows = [show_requested(name) for name in outcome.resources]
    measured = (("cpu", outcome.use.cpu), ("memory", outcome.use.memory))
    shows += [show_used(name) for name, column in measured if column.size and not np.isnan(column).all()]
    return {show.key: show for show in (*shows, PODS, STATE)}


def change_times(outcome: RunOutcome) -> NDArray[np.float64]:
    """Return every time in seconds at which a map changes, and the beginning."""
    times = np.unique(np.concatenate([[0.0], outcome.moves.time, outcome.node_log.time, outcome.use.time]))
    return times[(times >= 0.0) & (times <= outcome.end)]


def frame_moments(outcome: RunOutcome) -> tuple[NDArray[np.float64], bool]:
    """Return the times of the frames in seconds, and whether these are all the changes; otherwise they are evenly
    spaced."""
    evenly, exact_times = frame_times(outcome.end, len(outcome.nodes)), change_times(outcome)
    return (exact_times, True) if len(exact_times) <= len(evenly) else (evenly, False)


def player_steps(outcomes: Sequence[RunOutcome]) -> list[float]:
    """Return the times of the player's steps: changes of all shown runs, evenly thinned to at most MOST_STEPS."""
    times = np.unique(np.concatenate([change_times(outcome) for outcome in outcomes]))
    return np.round(times[thin_positions(len(times), MOST_STEPS)], 6).tolist()


def neighbour_steps(steps: Sequence[float], time: float, end: float) -> tuple[float, float]:
    """Return the step before ``time`` and the one after it."""
    before = [step for step in steps if step < time - 1e-6]
    after = [step for step in steps if step > time + 1e-6]
    return before[-1] if before else 0.0, after[0] if after else end


def map_values(outcome: RunOutcome, key: str, at: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the values of ``key`` for each node at each of the ascending times: float32[times, nodes].

    They are percent, pods, or indices into nodemap.STATES; nan where a node does not exist or nothing is known.
    """
    at = np.asarray(at, dtype=np.float64)
    if key == PODS.key:
        return pod_counts(outcome, at)
    if key == STATE.key:
        return _node_states(outcome, at)
    if key.startswith("use-"):
        return _latest_use(outcome, getattr(outcome.use, key.removeprefix("use-")), at)
    share: NDArray[np.float32] = 100 * outcome.requested_shares(at, key)
    return share


def pod_counts(outcome: RunOutcome, at: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the number of pods on each node: float32[times, nodes], nan where a node does not exist."""
    counts = np.zeros((len(at), len(outcome.nodes)))
    # The first time that is not before the move, from which on the sum below counts it.
    begin = np.searchsorted(at, outcome.moves.time, side="left")
    in_range = begin < len(at)
    change = np.where(outcome.moves.kind == MoveKind.BOUND, 1.0, -1.0)
    # add.at counts several moves of one node within a frame, which indexing would not.
    np.add.at(counts, (begin[in_range], outcome.moves.node[in_range]), change[in_range])
    counts = np.cumsum(counts, axis=0)
    counts[np.isnan(outcome.allocatable(at, outcome.resources[0]))] = np.nan
    return counts.astype(np.float32)


def _node_states(outcome: RunOutcome, at: NDArray[np.float64]) -> NDArray[np.float32]:
    fullest = np.zeros((len(at), len(outcome.nodes)), dtype=np.float32)
    for name in outcome.resources:
        # fmax ignores nan, which resources have that a node does not offer.
        np.fmax(fullest, 100 * outcome.requested_shares(at, name), out=fullest)
    log = outcome.node_states(at)
    ready = (log != NodeState.NOT_READY) & (log != NodeState.UNKNOWN)
    return classify_states(pod_counts(outcome, at), fullest, log == NodeState.CORDONED, ready)


def _latest_use(outcome: RunOutcome, column: NDArray[np.float32], at: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the newest figures at each time."""
    rows = np.searchsorted(outcome.use.time, at, side="right") - 1
    # Before the first figures nothing is known; the index is raised to 0 only to be valid.
    values = np.where((rows >= 0)[:, None], column[np.maximum(rows, 0)], np.nan)
    values[np.isnan(outcome.allocatable(at, outcome.resources[0]))] = np.nan
    return values.astype(np.float32)


def list_stays(outcome: RunOutcome, node: str) -> Json:
    """Return the pods that were on ``node`` at any time as columns, in order of arrival.

    ``until`` is None for pods that stayed to the end. Requests are in milli-CPU, bytes and whole units. So is
    ``allocatable``, which holds from each of ``changes`` on; None means that the node does not exist. Raises KeyError.
    """
    if node not in outcome.nodes:
        raise KeyError(node)
    place = outcome.nodes.index(node)
    moves = np.flatnonzero(outcome.moves.node == place)
    open_stays: dict[int, int] = {}
    stays: list[tuple[int, float, float | None]] = []
    for move in moves.tolist():
        pod, time = int(outcome.moves.pod[move]), float(outcome.moves.time[move])
        if outcome.moves.kind[move] == MoveKind.BOUND:
            open_stays[pod] = len(stays)
            stays.append((pod, time, None))
        elif pod in open_stays:
            at = open_stays.pop(pod)
            stays[at] = (pod, stays[at][1], time)
    latest = stays[-MOST_STAYS:]
    rows = [pod for pod, _, _ in latest]
    log = np.flatnonzero(outcome.node_log.node == place)
    has = outcome.node_log.allocatable[log]
    return {
        "node": node,
        "pods": [outcome.pods[row] for row in rows],
        "tried": [bool(outcome.attempts[row]) for row in rows],
        "from": [round(begin, 6) for _, begin, _ in latest],
        "until": [None if end is None else round(end, 6) for _, _, end in latest],
        "requests": {name: outcome.requests[at, rows].tolist() for at, name in enumerate(outcome.resources)},
        "changes": np.round(outcome.node_log.time[log], 6).tolist(),
        # nan, which does not equal itself, is no JSON.
        "allocatable": {
            name: [None if value != value else value for value in has[:, at].tolist()]
            for at, name in enumerate(outcome.resources)
        },
        "omitted": len(stays) - len(latest),
    }


def build_groupings(prepared: PreparedScenario, names: Sequence[str]) -> list[Grouping]:
    """Return the groupings of a run's nodes by their labels, including labels that change later."""
    objects = [manifest for manifest in prepared.objects if manifest.get("kind") == "Node"]
    now = {node["metadata"]["name"]: node["metadata"].get("labels") or {} for node in objects}
    first, later = dict(now), list[Relabelled]()
    places = {name: place for place, name in enumerate(names)}
    for event in prepared.events:
        if isinstance(event, NodeJoins):
            name, labels = event.node["metadata"]["name"], event.node["metadata"].get("labels") or {}
        elif isinstance(event, NodeChanges) and event.labels is not None:
            name, merged = event.node, {**now.get(event.node, {}), **event.labels}
            # None takes a label away, as null does in a merge patch.
            labels = {key: value for key, value in merged.items() if value is not None}
        else:
            continue
        now[name] = labels
        first.setdefault(name, labels)
        if name in places:
            later.append(Relabelled(event.time, places[name], labels))
    return make_groupings([first.get(name, {}) for name in names], later)


def read_groupings(stored: Sequence[Any]) -> list[Grouping]:
    """Return the stored groupings of a run."""
    return [Grouping.from_dict(entry) for entry in stored]
