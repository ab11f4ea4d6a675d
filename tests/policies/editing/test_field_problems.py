"""After kube-scheduler's words a form says in plain ones what is asked for."""

from __future__ import annotations

import pytest

from kschedweb.policies.editing import editor
from kschedweb.policies.editing.field_problems import explain_value
from kschedweb.policies.validation import check_profiles
from tests.policies.editing.test_form import fields_of

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ARGS = HEAD + "profiles: [{{pluginConfig: [{{name: {}, args: {{{}}}}}]}}]\n"


def problems_by_field(text: str) -> dict[str, tuple[str, str]]:
    """By field of the form: kube-scheduler's words and what they mean."""
    profile_form = editor.open_editor(text).form
    return {
        field.name: (field.problems[0].message, field.problems[0].plain)
        for field in fields_of(profile_form)
        if field.problems
    }


@pytest.mark.parametrize(
    ("plugin", "args", "words", "plain"),
    [
        ("InterPodAffinity", "hardPodAffinityWeight: lots", "cannot unmarshal string", "Must be a whole number."),
        ("InterPodAffinity", "hardPodAffinityWeight: 1.5", "cannot unmarshal number 1.5", "Must be a whole number."),
        ("InterPodAffinity", "hardPodAffinityWeight: 101", "not in valid range", "Must be between 0 and 100."),
        ("InterPodAffinity", "ignorePreferredTermsOfExistingPods: often", "bool", "Must be one of true, false."),
        ("VolumeBinding", "bindTimeoutSeconds: -1", "should not be a negative value", "Must be at least 0."),
        (
            "DynamicResources",
            "filterTimeout: soon",
            "invalid duration",
            "Must be a duration, such as 500ms, 30s or 1h30m.",
        ),
        ("NodeResourcesFit", "scoringStrategy: {type: Fullest}", "Unsupported value", "Must be one of LeastAllocated"),
    ],
)
def test_an_argument_says_what_is_asked_for(plugin: str, args: str, words: str, plain: str) -> None:
    [(message, explanation)] = problems_by_field(ARGS.format(plugin, args)).values()
    assert words in message
    assert explanation.startswith(plain)


@pytest.mark.parametrize(
    ("line", "name", "plain"),
    [
        ("parallelism: 0", "general.parallelism", "Must be at least 1."),
        (
            "podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 5",
            "general.podMaxBackoffSeconds",
            "Must be at least podInit",
        ),
        (
            "leaderElection: {leaseDuration: 1s}",
            "general.leaderElection.leaseDuration",
            "Must be longer than renewDeadline.",
        ),
        ("percentageOfNodesToScore: 1000000000000", "general.percentageOfNodesToScore", "Must be between 0 and 100."),
    ],
)
def test_so_does_a_field_of_all_profiles(line: str, name: str, plain: str) -> None:
    assert problems_by_field(HEAD + line + "\n")[name][1].startswith(plain)


def test_the_words_are_those_of_the_type_whatever_the_error_says() -> None:
    assert explain_value("number", {"type": "integer", "maximum": 2**31 - 1, "minimum": -(2**31)}, "3000000000") == (
        "Must be at most 2,147,483,647."
    )
    assert explain_value("number", {"type": "number"}, "many") == "Must be a number."
    assert explain_value("number", {"type": ["integer", "null"]}, "1.0") == "Must be a whole number."
    assert explain_value("number", {"type": "number", "exclusiveMinimum": 0}, "0") == "Must be above 0."
    assert explain_value("long", {"type": "string", "contentEncoding": "base64"}, "§") == "Must be text in base64."
    assert explain_value("text", {"type": "string"}, "anything") == ""


def test_a_value_that_is_well_is_not_blamed() -> None:
    text = ARGS.format("InterPodAffinity", "hardPodAffinityWeight: 5")
    assert check_profiles(text).valid
    blamed_fields = [
        field
        for field in fields_of(editor.open_editor(text).form)
        if explain_value(field.kind, field.schema, field.value)
    ]
    assert blamed_fields == []
