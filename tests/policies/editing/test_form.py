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


def shown(text: str, index: int = 0) -> form.ProfileForm:
    return form.build_form(parse_document(text).data, index, [])


def fields_of(built: form.ProfileForm) -> list[FormField]:
    fields = [*(item for top in built.general for item in top.walk()), *built.fields]
    for row in built.plugins:
        fields += [*([row.weight] if row.weight else []), *(row.arguments.walk() if row.arguments else [])]
    fields += [item for one in built.extenders for item in one.group.walk()]
    return [item for item in fields if item.kind not in ("group", "table")]


def as_posted(built: form.ProfileForm) -> dict[str, str]:
    """What a browser sends for an untouched form."""
    sent = {item.name: item.value for item in fields_of(built)}
    sent |= {switch.name: "on" for row in built.plugins for switch in row.switches if switch.on}
    return sent


@pytest.mark.parametrize(
    "text", [PLAIN, DETAILED, "kind: X\n", "profiles: 3\n", "[]\n", "profiles: [x]\n", '{"profiles": [{}]}']
)
def test_an_untouched_form_changes_nothing(text: str) -> None:
    assert writing.apply_form(text, text, as_posted(shown(text)), 0) == text


def test_a_strategy_chosen_in_the_form_is_one_line_in_the_yaml() -> None:
    sent = as_posted(shown(DETAILED)) | {"args.NodeResourcesFit.scoringStrategy.type": "LeastAllocated"}
    assert writing.apply_form(DETAILED, DETAILED, sent, 0) == DETAILED.replace("MostAllocated", "LeastAllocated")


def test_a_strategy_for_the_first_time_makes_a_plugin_config() -> None:
    sent = as_posted(shown(PLAIN)) | {"args.NodeResourcesFit.scoringStrategy.type": "MostAllocated"}
    changed = writing.apply_form(PLAIN, PLAIN, sent, 0)
    assert changed == PLAIN + (
        "    pluginConfig:\n      - name: NodeResourcesFit\n        args:\n"
        "          scoringStrategy:\n            type: MostAllocated\n"
    )
    assert check_profiles(changed).valid


def test_a_strategy_without_type_gets_the_default_one() -> None:
    sent = as_posted(shown(PLAIN)) | {"args.NodeResourcesFit.scoringStrategy.resources.0.name": "cpu"}
    changed = writing.apply_form(PLAIN, PLAIN, sent, 0)
    assert "type: LeastAllocated" in changed
    assert check_profiles(changed).valid


def test_blank_is_back_to_default_and_leaves_no_trace() -> None:
    sent = as_posted(shown(PLAIN)) | {"weight.NodeAffinity": "7", "args.InterPodAffinity.hardPodAffinityWeight": "9"}
    changed = writing.apply_form(PLAIN, PLAIN, sent, 0)
    assert "weight: 7" in changed
    assert "hardPodAffinityWeight: 9" in changed
    back = as_posted(shown(changed)) | {"weight.NodeAffinity": "", "args.InterPodAffinity.hardPodAffinityWeight": ""}
    assert writing.apply_form(changed, changed, back, 0) == PLAIN


def test_both_sides_may_be_edited_in_one_go() -> None:
    sent = as_posted(shown(DETAILED)) | {"weight.NodeAffinity": "7"}
    edited = DETAILED.replace("MostAllocated", "LeastAllocated").replace("# Pack.", "# Spread.")
    changed = writing.apply_form(edited, DETAILED, sent, 0)
    assert "type: LeastAllocated" in changed
    assert "# Spread." in changed
    assert "- name: NodeAffinity\n            weight: 7" in changed


def test_what_a_row_does_not_show_stays() -> None:
    sent = as_posted(shown(DETAILED)) | {"args.PodTopologySpread.defaultConstraints.0.maxSkew": "4"}
    changed = writing.apply_form(DETAILED, DETAILED, sent, 0)
    assert changed == DETAILED.replace("maxSkew: 1", "maxSkew: 4")


def test_a_wrong_value_is_kept_and_judged_beside_its_field() -> None:
    sent = as_posted(shown(PLAIN)) | {"args.InterPodAffinity.hardPodAffinityWeight": "lots"}
    changed = writing.apply_form(PLAIN, PLAIN, sent, 0)
    checked = check_profiles(changed)
    built = form.build_form(parse_document(changed).data, 0, checked.errors)
    (field,) = [item for item in fields_of(built) if item.problems]
    assert (field.name, field.value) == ("args.InterPodAffinity.hardPodAffinityWeight", "lots")
    assert "cannot unmarshal string" in field.problems[0].message


def test_another_profile_is_left_alone() -> None:
    text = writing.add_profile(DETAILED)
    assert [tab for tab in shown(text).tabs] == ["default-scheduler", "scheduler-2"]
    changed = writing.apply_form(text, text, as_posted(shown(text, 1)) | {"weight.NodeAffinity": "8"}, 1)
    before, after = parse_document(text).data["profiles"], parse_document(changed).data["profiles"]
    assert after[0] == before[0]
    assert after[1]["plugins"]["multiPoint"]["enabled"] == [{"name": "NodeAffinity", "weight": 8}]
    assert writing.remove_profile(changed, 1) == DETAILED


def test_reset_takes_every_word_about_a_plugin_away() -> None:
    changed = writing.reset_plugin(writing.reset_plugin(DETAILED, 0, "PodTopologySpread"), 0, "NodeResourcesFit")
    assert parse_document(changed).data["profiles"] == [
        {"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}}
    ]


def comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith("#")]


CHANGES = st.dictionaries(
    st.integers(0, 10_000), st.tuples(st.integers(0, 10_000), st.text("abc1.", max_size=4)), max_size=6
)


def changed_values(built: form.ProfileForm, draws: dict[int, tuple[int, str]]) -> dict[str, str]:
    """The form after a person changed some of its switches, weights and arguments at will."""
    sent = as_posted(built)
    fields = fields_of(built)
    switches = [switch for row in built.plugins for switch in row.switches]
    for place, (number, text) in draws.items():
        if place % 2:
            switch = switches[place % len(switches)]
            if switch.name in sent:
                del sent[switch.name]
            else:
                sent[switch.name] = "on"
        else:
            field = fields[place % len(fields)]
            sent[field.name] = one_value(field, number, text)
    return sent


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
    sent = changed_values(shown(text), draws)
    changed = writing.apply_form(text, text, sent, 0)
    again = shown(changed)
    assert switched_on(as_posted(again)) == switched_on(sent)
    for schema_of, prefix in [
        (name, f"args.{name}") for name in load_tables().plugins if load_tables().args_schema(name)
    ]:
        schema = load_tables().args_schema(schema_of)
        assert schema is not None
        wanted = arguments.read_value(schema, prefix, sent)
        if isinstance(wanted, dict):  # the first weight of a group brings the others along
            load_aware.complete_group(schema_of, wanted, {}, load_tables().default_arguments.get(schema_of, {}))
        assert told(arguments.read_value(schema, prefix, as_posted(again))) == told(wanted)
    for row in again.plugins:
        if row.weight and any(switch.on and switch.point == "score" for switch in row.switches):
            wanted = sent[row.weight.name] or row.weight.default
            assert (row.weight.value or row.weight.default) == ("1" if wanted == "0" else wanted)
    assert set(comments(PLAIN)) <= set(comments(changed))
    # A second round changes nothing.
    assert writing.apply_form(changed, changed, as_posted(again), 0) == changed


def switched_on(sent: dict[str, str]) -> set[str]:
    return {name for name in sent if name.startswith("on.")}


def told(value: Any) -> Any:
    """Arguments without the type that NodeResourcesFit is given where only the rest of its strategy is."""
    strategy = as_dict(as_dict(value).get("scoringStrategy")) if value is not ABSENT else {}
    if strategy.get("type") == "LeastAllocated":
        rest = {key: item for key, item in strategy.items() if key != "type"}
        return {key: item for key, item in (value | {"scoringStrategy": rest}).items() if item != {}} or ABSENT
    return value


def test_the_election_of_a_leader_is_edited_in_the_form_and_its_errors_stand_there() -> None:
    text = PLAIN + "leaderElection:\n  resourceName: batch # ours\n  retryPeriod: 2s\n"
    sent = as_posted(shown(text))
    assert sent["general.leaderElection.resourceName"] == "batch"
    assert writing.apply_form(text, text, sent, 0) == text
    asked = {**sent, "general.leaderElection.renewDeadline": "20s", "general.leaderElection.retryPeriod": ""}
    written = writing.apply_form(text, text, asked, 0)
    assert "resourceName: batch # ours" in written
    assert parse_document(written).data["leaderElection"] == {"resourceName": "batch", "renewDeadline": "20s"}
    placed = form.build_form(parse_document(written).data, 0, check_profiles(written).errors)
    [told] = [field for field in fields_of(placed) if field.problems]
    assert told.name == "general.leaderElection.leaseDuration"
    assert told.problems[0].message.endswith("must be greater than `RenewDeadline`")


def test_a_form_without_the_election_leaves_it_alone() -> None:
    text = PLAIN + "leaderElection: {resourceName: batch}\n"
    sent = {name: value for name, value in as_posted(shown(text)).items() if "leaderElection" not in name}
    assert writing.apply_form(text, text, sent, 0) == text
