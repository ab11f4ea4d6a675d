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


def silent(text: str, done: int, total: int) -> None:
    pass


def make(**changes: Any) -> Experiment:
    asked: dict[str, Any] = {"policies": ["default", "water-level"], "seeds": [1], "setup": SMALL, "recording": None}
    return services.experiment_start(user=None, **{**asked, **changes})


def lines(hours: int = 2) -> bytes:
    day = selectors.demo_recording()
    return "\n".join(",".join(line.split(",")[: 1 + 12 * hours]) for line in day.to_csv_lines()).encode()


def short() -> Recording:
    return services.recording_add(user=None, name="short", content=gzip.compress(lines()), limit=LIMIT)


def test_an_experiment_is_a_job_and_its_runs_are_kept() -> None:
    experiment = make(recording=short(), policies=["default", "water-level", "future"])
    assert experiment.job is not None
    assert experiment.job.state == JobState.QUEUED
    steps: list[tuple[str, int, int]] = []
    result = services.experiment_run(experiment=experiment, step=lambda *step: steps.append(step))
    assert result == {"experiment": str(experiment.pk), "runs": 3}
    assert steps[0] == ("kube-scheduler's defaults, seed 1", 1, 6)
    assert steps[-1] == ("A placement that knows the future, seed 1", 6, 6)
    listed = selectors.list_series(experiment)
    assert [one.policy for one in listed] == ["default", "water-level", "future"]
    assert [one.engines for one in listed] == [[CURRENT.engine], [CURRENT.engine], [f"kschedweb {__version__}"]]
    assert listed[0].levels.shape == (1, 24, 4)
    assert listed[0].skew[12:].mean() == pytest.approx(listed[0].measures["skew"], rel=1e-3)


def test_a_cancelled_experiment_keeps_what_is_done_and_goes_on_there() -> None:
    experiment = make(recording=short())

    def stop(text: str, done: int, total: int) -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        services.experiment_run(experiment=experiment, step=stop)
    assert [run.policy for run in Run.objects.all()] == ["default"]
    first = Run.objects.get()
    services.experiment_run(experiment=experiment, step=silent)
    assert [run.policy for run in Run.objects.all()] == ["default", "water-level"]
    assert Run.objects.get(policy="default").pk == first.pk


@pytest.mark.parametrize(
    ("changes", "field", "said"),
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
def test_what_cannot_be_run_is_refused_beside_its_field(changes: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        make(**changes)
    assert caught.value.errors[0]["path"] == field
    assert said in caught.value.detail
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"one,1,x", "line 1, value 2: 'x' is not a number"),
        (b"\xff\xfe", "neither CSV text nor gzipped"),
        (b"\x1f\x8bnonsense", "neither CSV text nor gzipped"),
        (gzip.compress(b"1" * (LIMIT + 1)), "larger than this site takes"),
        (b"", "there are no lines"),
    ],
    ids=["a word", "other bytes", "a broken archive", "a large archive", "nothing"],
)
def test_a_file_that_is_no_recording_is_refused_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        services.recording_add(user=None, name="bad", content=content, limit=LIMIT)
    assert said in caught.value.detail
    assert caught.value.errors[0]["path"] == "file"


def test_a_name_is_taken_once() -> None:
    short()
    with pytest.raises(ApplicationError, match="choose another name"):
        short()


def test_saved_revisions_can_be_compared(db: None) -> None:
    experiment = make(recording=short(), policies=["default@1"])
    services.experiment_run(experiment=experiment, step=silent)
    assert selectors.list_series(experiment)[0].policy == "default@1"
    assert selectors.policy_title("default@1") == "default, revision 1"
