"""The form and the YAML are the same document, whichever side is edited."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.policies.editing import arguments, form, load_aware, writing
from kschedweb.policies.editing.arguments import ABSENT, FormField
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.editing.switches import as_dict
from kschedweb.policies.validation import check_profiles
from tests.support import tiers

PLAIN = """\
# Ours.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  # One profile.
  - schedulerName: default-scheduler # the usual one
"""
DETAILED = (
    PLAIN
    + """\
    plugins:
      score:
        disabled:
          - name: ImageLocality # slow
      multiPoint:
        enabled:
          # Spread harder.
          - name: PodTopologySpread
            weight: 5
    pluginConfig:
      - name: NodeResourcesFit
        args:
          # Pack.
          scoringStrategy:
            type: MostAllocated
            resources:
              - name: cpu
                weight: 3
              - {name: example.com/gpu, weight: 9}
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints:
            - maxSkew: 1
              topologyKey: zone
              whenUnsatisfiable: ScheduleAnyway
              matchLabelKeys: [app]
extenders: [] # none
"""
)


def build_profile_form(text: str, index: int = 0) -> form.ProfileForm:
    return form.build_form(parse_document(text).data, index, [])


def fields_of(profile_form: form.ProfileForm) -> list[FormField]:
    fields = [*(item for top in profile_form.general for item in top.walk()), *profile_form.fields]
    for row in profile_form.plugins:
        fields += [*([row.weight] if row.weight else []), *(row.arguments.walk() if row.arguments else [])]
    fields += [item for extender in profile_form.extenders for item in extender.group.walk()]
    return [item for item in fields if item.kind not in ("group", "table")]


def as_posted(profile_form: form.ProfileForm) -> dict[str, str]:
    """Return the fields that a browser sends for an untouched form."""
    values = {item.name: item.value for item in fields_of(profile_form)}
    values |= {switch.name: "on" for row in profile_form.plugins for switch in row.switches if switch.on}
    return values


@pytest.mark.parametrize(
    "text", [PLAIN, DETAILED, "kind: X\n", "profiles: 3\n", "[]\n", "profiles: [x]\n", '{"profiles": [{}]}']
)
def test_an_untouched_form_changes_nothing(text: str) -> None:
    assert writing.apply_form(text, text, as_posted(build_profile_form(text)), 0) == text


def test_a_strategy_chosen_in_the_form_is_one_line_in_the_yaml() -> None:
    values = as_posted(build_profile_form(DETAILED)) | {"args.NodeResourcesFit.scoringStrategy.type": "LeastAllocated"}
    assert writing.apply_form(DETAILED, DETAILED, values, 0) == DETAILED.replace("MostAllocated", "LeastAllocated")


def test_a_strategy_for_the_first_time_makes_a_plugin_config() -> None:
    values = as_posted(build_profile_form(PLAIN)) | {"args.NodeResourcesFit.scoringStrategy.type": "MostAllocated"}
    changed_text = writing.apply_form(PLAIN, PLAIN, values, 0)
    assert changed_text == PLAIN + (
        "    pluginConfig:\n      - name: NodeResourcesFit\n        args:\n"
        "          scoringStrategy:\n            type: MostAllocated\n"
    )
    assert check_profiles(changed_text).valid


def test_a_strategy_without_type_gets_the_default_one() -> None:
    values = as_posted(build_profile_form(PLAIN)) | {"args.NodeResourcesFit.scoringStrategy.resources.0.name": "cpu"}
    changed_text = writing.apply_form(PLAIN, PLAIN, values, 0)
    assert "type: LeastAllocated" in changed_text
    assert check_profiles(changed_text).valid


def test_blank_is_back_to_default_and_leaves_no_trace() -> None:
    values = as_posted(build_profile_form(PLAIN)) | {
        "weight.NodeAffinity": "7",
        "args.InterPodAffinity.hardPodAffinityWeight": "9",
    }
    changed_text = writing.apply_form(PLAIN, PLAIN, values, 0)
    assert "weight: 7" in changed_text
    assert "hardPodAffinityWeight: 9" in changed_text
    back = as_posted(build_profile_form(changed_text)) | {
        "weight.NodeAffinity": "",
        "args.InterPodAffinity.hardPodAffinityWeight": "",
    }
    assert writing.apply_form(changed_text, changed_text, back, 0) == PLAIN


def test_both_sides_may_be_edited_in_one_go() -> None:
    values = as_posted(build_profile_form(DETAILED)) | {"weight.NodeAffinity": "7"}
    edited_text = DETAILED.replace("MostAllocated", "LeastAllocated").replace("# Pack.", "# Spread.")
    changed_text = writing.apply_form(edited_text, DETAILED, values, 0)
    assert "type: LeastAllocated" in changed_text
    assert "# Spread." in changed_text
    assert "- name: NodeAffinity\n            weight: 7" in changed_text


def test_what_a_row_does_not_show_stays() -> None:
    values = as_posted(build_profile_form(DETAILED)) | {"args.PodTopologySpread.defaultConstraints.0.maxSkew": "4"}
    changed_text = writing.apply_form(DETAILED, DETAILED, values, 0)
    assert changed_text == DETAILED.replace("maxSkew: 1", "maxSkew: 4")


def test_a_wrong_value_is_kept_and_judged_beside_its_field() -> None:
    values = as_posted(build_profile_form(PLAIN)) | {"args.InterPodAffinity.hardPodAffinityWeight": "lots"}
    changed_text = writing.apply_form(PLAIN, PLAIN, values, 0)
    verdict = check_profiles(changed_text)
    rebuilt = form.build_form(parse_document(changed_text).data, 0, verdict.errors)
    (field,) = [item for item in fields_of(rebuilt) if item.problems]
    assert (field.name, field.value) == ("args.InterPodAffinity.hardPodAffinityWeight", "lots")
    assert "cannot unmarshal string" in field.problems[0].message


def test_another_profile_is_left_alone() -> None:
    text = writing.add_profile(DETAILED)
    assert [tab for tab in build_profile_form(text).tabs] == ["default-scheduler", "scheduler-2"]
    changed_text = writing.apply_form(
        text, text, as_posted(build_profile_form(text, 1)) | {"weight.NodeAffinity": "8"}, 1
    )
    before, after = parse_document(text).data["profiles"], parse_document(changed_text).data["profiles"]
    assert after[0] == before[0]
    assert after[1]["plugins"]["multiPoint"]["enabled"] == [{"name": "NodeAffinity", "weight": 8}]
    assert writing.remove_profile(changed_text, 1) == DETAILED


def test_reset_takes_every_word_about_a_plugin_away() -> None:
    changed_text = writing.reset_plugin(writing.reset_plugin(DETAILED, 0, "PodTopologySpread"), 0, "NodeResourcesFit")
    assert parse_document(changed_text).data["profiles"] == [
        {"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}}
    ]


def comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith("#")]


CHANGES = st.dictionaries(
    st.integers(0, 10_000), st.tuples(st.integers(0, 10_000), st.text("abc1.", max_size=4)), max_size=6
)


def changed_values(profile_form: form.ProfileForm, draws: dict[int, tuple[int, str]]) -> dict[str, str]:
    """The form after a person changed some of its switches, weights and arguments at will."""
    values = as_posted(profile_form)
    fields = fields_of(profile_form)
    switches = [switch for row in profile_form.plugins for switch in row.switches]
    for place, (number, text) in draws.items():
        if place % 2:
            switch = switches[place % len(switches)]
            if switch.name in values:
                del values[switch.name]
            else:
                values[switch.name] = "on"
        else:
            field = fields[place % len(fields)]
            values[field.name] = one_value(field, number, text)
    return values


def one_value(field: FormField, number: int, text: str) -> str:
    if field.all_choices:
        return [*field.all_choices, ""][number % (len(field.all_choices) + 1)]
    if field.kind == "number":
        return str(number % 120) if number % 5 else ""
    return text


@pytest.mark.parametrize("text", [PLAIN, DETAILED])
@settings(max_examples=tiers.count(20, 600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draws=CHANGES)
def test_the_form_reads_back_what_was_put_into_it(text: str, draws: dict[int, tuple[int, str]]) -> None:
    values = changed_values(build_profile_form(text), draws)
    changed_text = writing.apply_form(text, text, values, 0)
    rebuilt = build_profile_form(changed_text)
    assert switched_on(as_posted(rebuilt)) == switched_on(values)
    for schema_of, prefix in [
        (name, f"args.{name}") for name in load_tables().plugins if load_tables().args_schema(name)
    ]:
        schema = load_tables().args_schema(schema_of)
        assert schema is not None
        expected = arguments.read_value(schema, prefix, values)
        if isinstance(expected, dict):  # the first weight of a group brings the others along
            load_aware.complete_group(schema_of, expected, {}, load_tables().default_arguments.get(schema_of, {}))
        assert without_default_type(arguments.read_value(schema, prefix, as_posted(rebuilt))) == without_default_type(
            expected
        )
    for row in rebuilt.plugins:
        if row.weight and any(switch.on and switch.point == "score" for switch in row.switches):
            expected = values[row.weight.name] or row.weight.default
            assert (row.weight.value or row.weight.default) == ("1" if expected == "0" else expected)
    assert set(comments(PLAIN)) <= set(comments(changed_text))
    # A second round changes nothing.
    assert writing.apply_form(changed_text, changed_text, as_posted(rebuilt), 0) == changed_text


def switched_on(values: dict[str, str]) -> set[str]:
    return {name for name in values if name.startswith("on.")}


def without_default_type(value: Any) -> Any:
    """Arguments without the type that NodeResourcesFit is given where only the rest of its strategy is."""
    strategy = as_dict(as_dict(value).get("scoringStrategy")) if value is not ABSENT else {}
    if strategy.get("type") == "LeastAllocated":
        other_items = {key: item for key, item in strategy.items() if key != "type"}
        return {key: item for key, item in (value | {"scoringStrategy": other_items}).items() if item != {}} or ABSENT
    return value


def test_the_election_of_a_leader_is_edited_in_the_form_and_its_errors_stand_there() -> None:
    text = PLAIN + "leaderElection:\n  resourceName: batch # ours\n  retryPeriod: 2s\n"
    values = as_posted(build_profile_form(text))
    assert values["general.leaderElection.resourceName"] == "batch"
    assert writing.apply_form(text, text, values, 0) == text
    changed_values_sent = {
        **values,
        "general.leaderElection.renewDeadline": "20s",
        "general.leaderElection.retryPeriod": "",
    }
    changed_text = writing.apply_form(text, text, changed_values_sent, 0)
    assert "resourceName: batch # ours" in changed_text
    assert parse_document(changed_text).data["leaderElection"] == {"resourceName": "batch", "renewDeadline": "20s"}
    rebuilt = form.build_form(parse_document(changed_text).data, 0, check_profiles(changed_text).errors)
    [field_with_problem] = [field for field in fields_of(rebuilt) if field.problems]
    assert field_with_problem.name == "general.leaderElection.leaseDuration"
    assert field_with_problem.problems[0].message.endswith("must be greater than `RenewDeadline`")


def test_a_form_without_the_election_leaves_it_alone() -> None:
    text = PLAIN + "leaderElection: {resourceName: batch}\n"
    values = {
        name: value for name, value in as_posted(build_profile_form(text)).items() if "leaderElection" not in name
    }
    assert writing.apply_form(text, text, values, 0) == text
