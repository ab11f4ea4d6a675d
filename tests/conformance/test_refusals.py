"""Refusals of an API server: the recorded answers of kube-apiserver 1.37."""

from __future__ import annotations

from tests.conformance.batches import recorded_lines
from tests.conformance.refused import RECORDED, engine_answer, same

MESSAGE_PARTS = (
    "topologyKey: Required value: can not be empty",
    "must be in the range 1-100",
    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    "maxSkew: Invalid value: 0: must be greater than zero",
    "{topologyKey, whenUnsatisfiable}: Duplicate value",
    "not a valid selector operator",
    "must be specified when `operator` is 'In' or 'NotIn'",
    "value must be empty when `operator` is 'Exists'",
    "effect must be 'NoExecute' when `tolerationSeconds` is set",
    "name part must consist of",
    "limit of",
    "must be an integer",
    "must be greater than or equal to 0",
    "is not positive integer multiple of hugepages-2Mi",
    "exists in both matchLabelKeys and labelSelector",
    "nodeAffinityPolicy: Unsupported value",
    "schedulingGates[1]: Duplicate value",
    "hostPort: Duplicate value",
    "taints must be unique by key and effect pair",
    "maximum allowed value of a user defined priority",
    "must not be greater than 100%",
    "Local volume requires node affinity",
    "`selector` does not match template `labels`",
    "aggregate container requests of",
)


def test_the_engine_says_what_the_api_server_said() -> None:
    answers = ((line, engine_answer(line["object"])) for line in recorded_lines(RECORDED))
    assert [(line, ours) for line, ours in answers if not same(line["expected"], ours)] == []


def test_the_recorded_answers_hold_what_people_get_wrong() -> None:
    fields = [field for line in recorded_lines(RECORDED) for field in line["expected"]["fields"]]
    assert [words for words in MESSAGE_PARTS if not any(words in field for field in fields)] == []


def test_right_objects_and_quantities_that_are_none_are_among_them() -> None:
    messages = [line["expected"]["message"] for line in recorded_lines(RECORDED)]
    assert messages.count("") > len(recorded_lines(RECORDED)) // 5
    assert sum("quantities must match the regular expression" in message for message in messages) > 2
