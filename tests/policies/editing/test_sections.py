"""What of the form is shown: plugins that are found, those that differ, and extension points in calling order."""

from __future__ import annotations

import pytest

from kschedweb.engine.config.schema import EXTENSION_POINTS, GROUP_POINTS
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.releases import load
from kschedweb.policies.editing import editor, writing
from kschedweb.policies.editing.editor import ProfileEditor
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.editing.sections import BY_POINT, LONGEST, FormFilter, Section
from tests.policies.editing.test_form import DETAILED, PLAIN, as_posted, shown

WRITTEN_DEFAULT = (
    PLAIN
    + """\
    pluginConfig:
      - name: InterPodAffinity
        args:
          hardPodAffinityWeight: 1
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: LeastAllocated
            resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""
)


def opened(text: str, **asked: str) -> ProfileEditor:
    return editor.open_editor(text, 0, {}, FormFilter.from_query(asked))


def plugins(text: str, **asked: str) -> list[str]:
    return [row.name for row in opened(text, **asked).form.plugins if row.is_shown]


def section(text: str, point: str, **asked: str) -> Section:
    return next(one for one in opened(text, **asked).form.sections if one.point == point)


def test_a_plugin_is_found_by_words_of_its_name_or_of_what_it_does() -> None:
    assert plugins(PLAIN, find="imagelocality") == ["ImageLocality"]
    assert plugins(PLAIN, find="already  images") == ["ImageLocality"]
    assert plugins(PLAIN, find="no such plugin") == []
    assert len(plugins(PLAIN)) == len(load_tables().plugins)


def test_changed_only_shows_what_differs_from_the_default() -> None:
    assert plugins(PLAIN, changed="1") == []
    assert set(plugins(DETAILED, changed="1")) == {"NodeResourcesFit", "PodTopologySpread", "ImageLocality"}
    assert plugins(DETAILED, changed="1", find="image") == ["ImageLocality"]


def test_a_default_that_is_written_out_does_not_differ_but_can_be_taken_back() -> None:
    assert plugins(WRITTEN_DEFAULT, changed="1") == []
    written = {row.name for row in opened(WRITTEN_DEFAULT).form.plugins if row.is_changed}
    assert written == {"InterPodAffinity", "NodeResourcesFit"}


def test_errors_are_shown_whatever_is_looked_for() -> None:
    wrong = WRITTEN_DEFAULT.replace("hardPodAffinityWeight: 1", "hardPodAffinityWeight: 101")
    assert plugins(wrong, find="imagelocality") == ["InterPodAffinity", "ImageLocality"]


def test_sections_are_the_extension_points_in_order_with_their_plugins_as_they_are_called() -> None:
    found = opened(DETAILED).form.sections
    assert [one.point for one in found] == [*EXTENSION_POINTS, *GROUP_POINTS]
    configuration = load(DETAILED).configuration
    assert configuration is not None
    for one in found:
        if one.point in configuration.profiles[0].points:
            called = [reference.name for reference in configuration.profiles[0].points[one.point]]
            assert one.order.split() == called
            assert [row.place for row in one.running] == list(range(1, len(called) + 1))
    assert {one.point for one in found if one.is_changed} == {"score"}
    assert "ImageLocality" in {row.plugin.name for row in section(DETAILED, "score").available}


def test_a_section_is_shown_with_a_plugin_that_is() -> None:
    shown_points = [one.point for one in opened(PLAIN, find="imagelocality", by=BY_POINT).form.sections if one.is_shown]
    assert shown_points == ["score"]
    changed = [one.point for one in opened(DETAILED, changed="1", by=BY_POINT).form.sections if one.is_shown]
    assert changed == ["score"]


def test_problems_of_an_extension_point_stand_there_in_plain_words() -> None:
    text = PLAIN + "    plugins:\n      multiPoint:\n        disabled: [{name: DefaultBinder}]\n"
    [problem] = section(text, "bind").problems
    assert "at least one bind plugin is needed" in problem.message
    assert problem.plain == "Switch a plugin on at bind, such as DefaultBinder."
    assert section(text, "bind", find="nothing").is_shown


def test_an_order_in_the_form_is_an_order_in_the_text() -> None:
    order = section(DETAILED, "filter").order.split()
    moved = [order[1], order[0], *order[2:]]
    sent = as_posted(shown(DETAILED)) | {"order.filter": " ".join(moved)}
    changed = writing.apply_form(DETAILED, DETAILED, sent, 0)
    assert section(changed, "filter").order.split() == moved
    assert changed == DETAILED.replace(
        "      multiPoint:\n",
        f"      filter:\n        enabled:\n          - name: {order[1]}\n      multiPoint:\n",
    ) or parse_document(changed).data["profiles"][0]["plugins"]["filter"] == {"enabled": [{"name": order[1]}]}
    assert "# Spread harder." in changed
    untouched = as_posted(shown(DETAILED)) | {"order.filter": " ".join(order)}
    assert writing.apply_form(DETAILED, DETAILED, untouched, 0) == DETAILED


def test_a_plugin_that_is_switched_on_with_another_order_comes_last() -> None:
    order = section(DETAILED, "score").order.split()
    sent = as_posted(shown(DETAILED)) | {
        "order.score": " ".join(reversed(order)),
        "on.TargetLoadPacking.score": "on",
    }
    changed = writing.apply_form(DETAILED, DETAILED, sent, 0)
    assert section(changed, "score").order.split() == [*reversed(order), "TargetLoadPacking"]


@pytest.mark.parametrize(
    ("asked", "place"),
    [("score NodeAffinity up", 0), ("score NodeAffinity down", 2), ("score TaintToleration up", None)],
)
def test_a_button_moves_a_plugin_by_one_place(asked: str, place: int | None) -> None:
    changed = writing.move_plugin(PLAIN, 0, asked, load_tables())
    if place is None:
        assert changed == PLAIN
    else:
        assert section(changed, "score").order.split()[place] == "NodeAffinity"


@pytest.mark.parametrize(
    "asked", ["", "score", "score nobody up", "nowhere NodeAffinity up", "score ImageLocality down"]
)
def test_a_move_that_cannot_be_changes_nothing(asked: str) -> None:
    assert writing.move_plugin(PLAIN, 0, asked, load_tables()) == PLAIN
    assert writing.move_plugin(PLAIN, 7, "", load_tables()) == PLAIN


def test_what_is_asked_for_is_read_from_any_address() -> None:
    assert FormFilter.from_query({"beside": "x", "by": "colour", "changed": "0"}) == FormFilter()
    asked = {"find": " a b ", "changed": "1", "by": "point", "beside": "2"}
    read = FormFilter.from_query(asked)
    assert FormFilter.from_query(read.query) == read
    assert read.query == {"find": "a b", "changed": "1", "by": "point", "beside": "2"}
    assert len(FormFilter.from_query({"find": "x" * 1000}).find) == LONGEST
