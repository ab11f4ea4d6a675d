"""Feature gates: each release knows its own, and refuses what its kube-scheduler would."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kschedweb import engine
from kschedweb.engine.config import GateError
from kschedweb.engine.releases import (
    CURRENT,
    RELEASES,
    ReleaseError,
    cli_validate,
    find_upgrade_range,
    get_release,
    load,
    read_gates,
    write_gates,
)
from kschedweb.engine.releases.gates import SIMULATED, SIMULATED_SINCE_1_38

OPTION = re.compile(r"(\w+)=true\|false \((\w+) - default=(\w+)\)(?! if )")


@pytest.mark.parametrize(
    ("release", "gates", "expected_error"),
    [
        ("1.36", {"Nope": True}, "unrecognized feature gate: Nope"),
        ("1.34", {"GenericWorkload": True}, "unrecognized feature gate: GenericWorkload"),
        (
            "1.37",
            {"NodeDeclaredFeatures": False},
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
        ),
        (
            "1.37",
            {"TopologyAwareWorkloadScheduling": True},
            "TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
        ),
    ],
)
def test_what_kube_scheduler_would_not_start_with_is_refused_in_its_words(
    release: str, gates: dict[str, bool], expected_error: str
) -> None:
    with pytest.raises(GateError, match=re.escape(expected_error)):
        RELEASES[release].with_gates(gates)


def test_a_gate_decides_what_it_decides_in_kube_scheduler() -> None:
    before, after = RELEASES["1.36"], RELEASES["1.36"].with_gates({"StorageCapacityScoring": True})
    assert not before.is_enabled("StorageCapacityScoring")
    assert after.is_enabled("StorageCapacityScoring")
    assert after.engine.endswith("kube-scheduler 1.36.3 with StorageCapacityScoring=true")
    assert "NodeDeclaredFeatures" not in {ref.name for ref in RELEASES["1.35"].in_tree_plugins.defaults}
    with_features = RELEASES["1.35"].with_gates({"NodeDeclaredFeatures": True})
    assert "NodeDeclaredFeatures" in {ref.name for ref in with_features.in_tree_plugins.defaults}


def test_groups_of_pods_need_their_gates_and_a_release_that_has_them_in_this_form() -> None:
    plugins = ("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")

    def group_defaults(release: str, *gates: str) -> list[tuple[str, int]]:
        plugins_with_gates = RELEASES[release].with_gates(dict.fromkeys(gates, True)).in_tree_plugins
        return [(ref.name, ref.weight) for ref in plugins_with_gates.defaults if ref.name in plugins]

    both = ("GenericWorkload", "TopologyAwareWorkloadScheduling")
    assert group_defaults("1.37") == []
    assert group_defaults("1.37", "GenericWorkload") == [("GangScheduling", 0)]
    assert group_defaults("1.37", *both) == [
        ("GangScheduling", 0),
        ("TopologyPlacementGenerator", 0),
        ("PodGroupPodsCount", 1),
    ]
    assert not RELEASES["1.36"].with_gates(dict.fromkeys(both, True)).has_group_scheduling
    assert not RELEASES["1.37"].has_group_scheduling
    on = RELEASES["1.37"].with_gates({"GenericWorkload": True})
    assert (on.has_group_scheduling, on.has_topology_scheduling) == (True, False)


def test_all_gates_of_a_stage_are_switched_at_once() -> None:
    alpha = RELEASES["1.37"].with_gates({"AllAlpha": True, "GenericWorkload": True})
    assert alpha.is_enabled("TopologyAwareWorkloadScheduling")
    assert not RELEASES["1.37"].is_enabled("TopologyAwareWorkloadScheduling")


ASKS = re.compile(r"""\b(?:is_enabled|on)\("(\w+)"|conditions = \("(\w+)", "(\w+)"\)""")


def test_what_the_engine_asks_is_said_to_be_simulated() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(engine.__file__).parent.rglob("*.py")]
    asked_gates = {name for text in texts for gate_names in ASKS.findall(text) for name in gate_names if name}
    simulated = SIMULATED | SIMULATED_SINCE_1_38
    gated = {gate for gate in simulated if any(spec.gate == gate for spec in RELEASES["1.38"].specs)}
    assert asked_gates | gated == simulated


@pytest.mark.parametrize("release", RELEASES)
def test_a_gate_whose_effect_is_outside_the_simulation_is_told(release: str) -> None:
    unlocked = {name: gate for name, gate in RELEASES[release].gates.items() if not gate.locked}
    assert any(gate.is_unsimulated for gate in unlocked.values())
    for name, gate in unlocked.items():
        switched = replace(RELEASES[release], switched={name: not gate.default})
        is_told = any(warning.startswith(f"featureGates.{name}: ") for warning in load(None, switched).warnings)
        assert is_told is gate.is_unsimulated


def test_gates_are_written_as_the_flag_takes_them() -> None:
    gates = {"A": True, "B": False}
    assert read_gates(write_gates(gates)) == gates == read_gates(" A=true, B=False,")
    with pytest.raises(ReleaseError, match="'A=maybe' must be Name=true or Name=false"):
        read_gates("A=maybe")


@pytest.mark.parametrize("name", ["newest", "1", "1.", "2.1", "1.36.3", "v1.36", " 1.36", "1.36\n", "1.12345"])
def test_what_is_no_release_is_refused(name: str) -> None:
    with pytest.raises(
        ReleaseError, match=re.escape("must be one of 1.34, 1.35, 1.36, 1.37, 1.38 preview (1.38.0-beta.0)")
    ):
        get_release(name)


@pytest.mark.parametrize(("name", "answers"), [("1.9", "1.34"), ("1.33", "1.34"), ("1.39", "1.38"), ("1.100", "1.38")])
def test_of_a_release_that_is_not_known_the_nearest_answers_and_says_so(name: str, answers: str) -> None:
    release = get_release(name, {"StorageCapacityScoring": False})
    assert (release.name, release.version) == (answers, RELEASES[answers].version)
    label = RELEASES[answers].label
    assert release.remark == f"kube-scheduler {name} is not known here: {label}, the nearest release, answers."
    assert cli_validate("", release)["warnings"] == [release.remark]
    assert all(release.remark == "" for release in RELEASES.values() if not release.is_preview)


def test_a_preview_is_chosen_by_name_alone_and_says_what_it_is() -> None:
    (preview,) = (release for release in RELEASES.values() if release.is_preview)
    assert preview.label == f"{preview.name} preview ({preview.version})"
    assert preview.remark == f"kube-scheduler {preview.label} answers: the release itself may differ."
    assert get_release("") is CURRENT is not preview
    assert cli_validate("", get_release(preview.name))["warnings"] == [preview.remark]
    assert find_upgrade_range("") == ("1.35", "1.37")
    assert find_upgrade_range("v1.36.2") == ("1.36", "1.37")
    assert find_upgrade_range("v1.37.0") == ("1.37", "1.38")
    assert find_upgrade_range("v1.38.0") == ("1.38", "1.38")


def test_a_need_is_of_one_release() -> None:
    without_taints = {"DRADeviceTaints": False}
    for name in ("1.36", "1.37"):
        with pytest.raises(GateError, match=r"DRADeviceTaintRules is enabled, but depends on .* \[DRADeviceTaints\]"):
            RELEASES[name].with_gates(without_taints | {"DRADeviceTaintRules": True})
    with pytest.raises(GateError) as refusal:
        RELEASES["1.38"].with_gates(without_taints | {"DRADeviceTaintRules": False})
    assert str(refusal.value) == (
        "[cannot set feature gate DRADeviceTaints to false, feature is locked to true, "
        "cannot set feature gate DRADeviceTaintRules to false, feature is locked to true]"
    )


def test_the_table_is_what_kube_scheduler_says_of_itself(assets: Path) -> None:
    """Its help lists the gates that are not generally available."""
    version_text = subprocess.run(
        [assets / "kube-scheduler", "--version"], capture_output=True, text=True, check=True
    ).stdout
    release = RELEASES[version_text.split()[1].removeprefix("v").rpartition(".")[0]]
    text = subprocess.run([assets / "kube-scheduler", "--help"], capture_output=True, text=True, check=True).stdout
    listed = {name: (stage.lower(), default == "true") for name, stage, default in OPTION.findall(text)}
    known_gates = {name: (gate.stage, gate.default) for name, gate in release.gates.items()}
    assert {name: known_gates.get(name) for name in listed if not name.startswith("All")} == {
        name: gate for name, gate in listed.items() if not name.startswith("All")
    }
    assert len(listed) > 100
