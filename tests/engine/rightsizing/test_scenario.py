"""Input of the command ``recommend``: answers, and the place of bad input."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.rightsizing.scenario import recommend_scenario

TIME = "2026-01-01T00:00:00Z"


def history(*samples: Json, **config: Any) -> Json:
    return {"name": "one", "config": config, "containers": {"main": [{"samples": list(samples)}]}}


def test_a_recommendation_has_quantities_as_kubernetes_writes_them() -> None:
    answer = recommend_scenario(
        history({"time": TIME, "cpuMillicores": 2000, "memoryBytes": 2**30}, roundMemoryBytes=2**20)
    )
    assert answer["name"] == "one"
    main = answer["containers"]["main"]
    assert main["target"] == {"cpu": "2406m", "memory": "1182Mi"}
    assert main["lowerBound"] == {"cpu": "25m", "memory": "250Mi"}
    assert main["upperBound"] == {"cpu": "100G", "memory": "95367432Mi"}
    assert (main["cpuSamples"], main["discarded"]) == (1, 0)


def test_without_containers_nothing_is_recommended() -> None:
    assert recommend_scenario({"name": "none"}) == {"name": "none"}


def test_decimals_of_seconds_and_offsets_are_read() -> None:
    samples = [
        {"time": time, "cpuMillicores": 1} for time in ("2026-01-01T00:00:00.5Z", "2026-01-01T01:00:00.25+01:00")
    ]
    assert recommend_scenario(history(*samples))["containers"]["main"]["discarded"] == 1


@pytest.mark.parametrize(
    ("scenario", "expected_error"),
    [
        ({"containers": []}, "containers: must be an object, is a list"),
        ({"containers": {"main": {}}}, "containers.main: must be a list, is a object"),
        (history({}), "containers.main[0].samples[0].time: must be a time, such as 2026-01-01T00:00:00Z, is ''"),
        (history({"time": "2026-02-30T00:00:00Z"}), "containers.main[0].samples[0].time: must be a time"),
        (history({"time": "1812-01-01T00:00:00Z"}), "containers.main[0].samples[0].time: must be from 1970 to 2199"),
        (history({"time": TIME, "memoryBytes": 1.5}), "samples[0].memoryBytes: must be a whole number"),
        (history({"time": TIME, "cpuMillicores": 10**14 + 1}), "samples[0].cpuMillicores: must be at most 1000000"),
        (history(cpuHistogramDecayHalfLife="a day"), "config.cpuHistogramDecayHalfLife: must be a duration, such as"),
        (history(confidenceIntervalCPU="-1h"), "config.confidenceIntervalCPU: must be longer than 0 and at most"),
        (history(memoryHistogramDecayHalfLife="30000h"), "memoryHistogramDecayHalfLife: must be longer than 0 and at"),
        (history(targetCPUPercentile=90), "config.targetCPUPercentile: must be from 0 to 1, is 90"),
        (history(safetyMarginFraction=-1), "config.safetyMarginFraction: must be a finite number of at least 0"),
        (history(roundCPUMillicores=-5), "config.roundCPUMillicores: must be from 0 to"),
    ],
)
def test_bad_input_says_where(scenario: Json, expected_error: str) -> None:
    with pytest.raises(ObjectError) as caught:
        recommend_scenario(scenario)
    assert expected_error in str(caught.value)


def places(raw: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in ``raw``."""
    inner = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


FULL = history(
    {"time": TIME, "cpuMillicores": 700, "memoryBytes": 2**28},
    {"time": "2026-01-02T00:00:00.5Z", "cpuMillicores": 9, "memoryBytes": 2**29, "oomMemoryRequest": 2**27},
    safetyMarginFraction=0.15,
    podMinMemoryMb=1,
    upperBoundCPUPercentile=1,
    confidenceIntervalCPU="1h",
    cpuHistogramDecayHalfLife="1h",
    memoryAggregationInterval="1h",
    roundCPUMillicores=5,
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ODD = LEAVES | st.sampled_from(["1ns", "9999-12-31T23:59:59Z", "2199-12-31T23:59:59Z", 1e308, 10**14, -(10**14)])


@settings(max_examples=60)
@given(
    st.sampled_from(places(FULL)[1:]),
    ODD | st.lists(LEAVES, max_size=2) | st.dictionaries(st.text(), LEAVES, max_size=2),
)
def test_whatever_stands_at_a_place_is_read_or_refused_there(place: tuple[Any, ...], odd: Any) -> None:
    bent = json.loads(json.dumps({"": FULL}))
    holder, inner = bent, ("", *place)
    for key in inner[:-1]:
        holder = holder[key]
    holder[inner[-1]] = odd
    try:
        answer, refused = recommend_scenario(bent[""]), None
    except ObjectError as error:
        answer, refused = {}, str(error)
    assert refused is None or str(place[0]) in refused
    assert json.loads(json.dumps(answer)) == answer


def run(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return main(["recommend"])


def test_the_command_line_answers_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios = [history({"time": TIME, "cpuMillicores": 700}), {"name": "none"}]
    assert run(monkeypatch, "\n\n".join(map(json.dumps, scenarios))) == 0
    out, error = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [recommend_scenario(scenario) for scenario in scenarios]
    assert error == ""


@pytest.mark.parametrize(
    ("line", "expected_error"),
    [
        ("[1]", "line 3: must be a JSON object"),
        ("{", "line 3: is not JSON: "),
        ('{"name": 5}', "line 3: name: must be a string"),
        ('{"name": "two", "config": 5}', "line 3: two: config: must be an object, is a number"),
        ('{"config": 5}', "line 3: config: must be an object, is a number"),
    ],
)
def test_the_command_line_says_which_line_is_bad(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, expected_error: str
) -> None:
    assert run(monkeypatch, f'{{"name": "none"}}\n\n{line}\n') == 2
    out, error = capsys.readouterr()
    assert out == '{"name": "none"}\n'
    assert error.startswith(f"kschedweb.engine: {expected_error}")
    assert len(error.splitlines()) == 1
