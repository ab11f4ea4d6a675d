"""Experiments: started as jobs, run by run, refused with a reason beside the field."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from kschedweb import __version__
from kschedweb.engine.releases import CURRENT
from kschedweb.jobs.models import JobState
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.experiments import selectors, services
from kschedweb.playground.experiments.models import Experiment, Recording, Run
from kschedweb.web.errors import ApplicationError

pytestmark = pytest.mark.django_db
SMALL = {"nodes": 4, "deployments": 40, "used": 0.5, "since": 3600, "pace": 60}
LIMIT = 1 << 20


def ignore_step(text: str, completed: int, total: int) -> None:
    pass


def start_experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {"policies": ["default", "water-level"], "seeds": [1], "setup": SMALL, "recording": None}
    return services.experiment_start(user=None, **{**fields, **changes})


def recording_lines(hours: int = 2) -> bytes:
    day = selectors.demo_recording()
    return "\n".join(",".join(line.split(",")[: 1 + 12 * hours]) for line in day.to_csv_lines()).encode()


def add_short_recording() -> Recording:
    return services.recording_add(user=None, name="short", content=gzip.compress(recording_lines()), limit=LIMIT)


def test_an_experiment_is_a_job_and_its_runs_are_kept() -> None:
    experiment = start_experiment(recording=add_short_recording(), policies=["default", "water-level", "future"])
    assert experiment.job is not None
    assert experiment.job.state == JobState.QUEUED
    steps: list[tuple[str, int, int]] = []
    result = services.experiment_run(experiment=experiment, step=lambda *step: steps.append(step))
    assert result == {"experiment": str(experiment.pk), "runs": 3}
    assert steps[0] == ("kube-scheduler's defaults, seed 1", 1, 6)
    assert steps[-1] == ("Oracle (best possible), seed 1", 6, 6)
    series_list = selectors.list_series(experiment)
    assert [series.policy for series in series_list] == ["default", "water-level", "future"]
    assert [series.engines for series in series_list] == [
        [CURRENT.engine],
        [CURRENT.engine],
        [f"kschedweb {__version__}"],
    ]
    assert series_list[0].levels.shape == (1, 24, 4)
    assert series_list[0].skew[12:].mean() == pytest.approx(series_list[0].measures["skew"], rel=1e-3)


def test_a_cancelled_experiment_keeps_what_is_done_and_goes_on_there() -> None:
    experiment = start_experiment(recording=add_short_recording())

    def stop(text: str, completed: int, total: int) -> None:
        if completed == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        services.experiment_run(experiment=experiment, step=stop)
    assert [run.policy for run in Run.objects.all()] == ["default"]
    first = Run.objects.get()
    services.experiment_run(experiment=experiment, step=ignore_step)
    assert [run.policy for run in Run.objects.all()] == ["default", "water-level"]
    assert Run.objects.get(policy="default").pk == first.pk


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"policies": []}, "policies", "Choose from 1 to 12"),
        ({"policies": ["best"]}, "policies", "There is no policy best"),
        ({"policies": ["default@7"]}, "policies", "There is no policy default@7"),
        ({"seeds": []}, "seeds", "from 1 to 5"),
        ({"seeds": [-1]}, "seeds", "whole numbers, 0 or more"),
        ({"setup": {"nodes": 0}}, "nodes", "Must be above 0"),
        ({"setup": {"nodes": 900}}, "nodes", "Must not be above 200"),
        ({"setup": {"used": 3.0}}, "used", "Must be from"),
        ({"setup": {"colour": 1}}, "colour", "Is not known"),
    ],
)
def test_what_cannot_be_run_is_refused_beside_its_field(changes: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        start_experiment(**changes)
    assert caught.value.errors[0]["path"] == field
    assert message in caught.value.detail
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one,1,x", "line 1, value 2: 'x' is not a number"),
        (b"\xff\xfe", "neither CSV text nor gzipped"),
        (b"\x1f\x8bnonsense", "neither CSV text nor gzipped"),
        (gzip.compress(b"1" * (LIMIT + 1)), "larger than this site takes"),
        (b"", "there are no lines"),
    ],
    ids=["a word", "other bytes", "a broken archive", "a large archive", "nothing"],
)
def test_a_file_that_is_no_recording_is_refused_with_its_place(content: bytes, message: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        services.recording_add(user=None, name="bad", content=content, limit=LIMIT)
    assert message in caught.value.detail
    assert caught.value.errors[0]["path"] == "file"


def test_a_name_is_taken_once() -> None:
    add_short_recording()
    with pytest.raises(ApplicationError, match="choose another name"):
        add_short_recording()


def test_saved_revisions_can_be_compared(db: None) -> None:
    experiment = start_experiment(recording=add_short_recording(), policies=["default@1"])
    services.experiment_run(experiment=experiment, step=ignore_step)
    assert selectors.list_series(experiment)[0].policy == "default@1"
    assert selectors.policy_title("default@1") == "default, revision 1"
