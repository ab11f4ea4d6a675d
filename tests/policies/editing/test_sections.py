"""Sections of the form: plugins of a search, those that differ, and extension points in calling order."""

from __future__ import annotations

import pytest

from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.releases import CURRENT, load
from kschedweb.policies.editing import editor, writing
from kschedweb.policies.editing.editor import ProfileEditor
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.editing.sections import BY_POINT, LONGEST, FormFilter, Section
from tests.policies.editing.test_form import DETAILED, PLAIN, as_posted, build_profile_form

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


def open_filtered(text: str, **query: str) -> ProfileEditor:
    return editor.open_editor(text, 0, {}, FormFilter.from_query(query))


def shown_plugins(text: str, **query: str) -> list[str]:
    return [row.name for row in open_filtered(text, **query).form.plugins if row.is_shown]


def find_section(text: str, point: str, **query: str) -> Section:
    return next(section for section in open_filtered(text, **query).form.sections if section.point == point)


def test_a_plugin_is_found_by_words_of_its_name_or_of_what_it_does() -> None:
    assert shown_plugins(PLAIN, find="imagelocality") == ["ImageLocality"]
    assert shown_plugins(PLAIN, find="already  images") == ["ImageLocality"]
    assert shown_plugins(PLAIN, find="no such plugin") == []
    assert len(shown_plugins(PLAIN)) == len(load_tables().plugins)


def test_changed_only_shows_what_differs_from_the_default() -> None:
    assert shown_plugins(PLAIN, changed="1") == []
    assert set(shown_plugins(DETAILED, changed="1")) == {"NodeResourcesFit", "PodTopologySpread", "ImageLocality"}
    assert shown_plugins(DETAILED, changed="1", find="image") == ["ImageLocality"]


def test_a_default_that_is_written_out_does_not_differ_but_can_be_taken_back() -> None:
    assert shown_plugins(WRITTEN_DEFAULT, changed="1") == []
    changed_plugins = {row.name for row in open_filtered(WRITTEN_DEFAULT).form.plugins if row.is_changed}
    assert changed_plugins == {"InterPodAffinity", "NodeResourcesFit"}


def test_errors_are_shown_whatever_is_looked_for() -> None:
    wrong = WRITTEN_DEFAULT.replace("hardPodAffinityWeight: 1", "hardPodAffinityWeight: 101")
    assert shown_plugins(wrong, find="imagelocality") == ["InterPodAffinity", "ImageLocality"]


def test_sections_are_the_extension_points_in_order_with_their_plugins_as_they_are_called() -> None:
    sections = open_filtered(DETAILED).form.sections
    assert [section.point for section in sections] == [*EXTENSION_POINTS, *CURRENT.schema.group_points]
    configuration = load(DETAILED).configuration
    assert configuration is not None
    for point_section in sections:
        if point_section.point in configuration.profiles[0].points:
            called_names = [reference.name for reference in configuration.profiles[0].points[point_section.point]]
            assert point_section.order.split() == called_names
            assert [row.place for row in point_section.running] == list(range(1, len(called_names) + 1))
    assert {section.point for section in sections if section.is_changed} == {"score"}
    assert "ImageLocality" in {row.plugin.name for row in find_section(DETAILED, "score").available}


def test_a_section_is_shown_with_a_plugin_that_is() -> None:
    shown_points = [
        section.point
        for section in open_filtered(PLAIN, find="imagelocality", by=BY_POINT).form.sections
        if section.is_shown
    ]
    assert shown_points == ["score"]
    changed_points = [
        section.point for section in open_filtered(DETAILED, changed="1", by=BY_POINT).form.sections if section.is_shown
    ]
    assert changed_points == ["score"]


def test_problems_of_an_extension_point_stand_there_in_plain_words() -> None:
    text = PLAIN + "    plugins:\n      multiPoint:\n        disabled: [{name: DefaultBinder}]\n"
    [problem] = find_section(text, "bind").problems
    assert "at least one bind plugin is needed" in problem.message
    assert problem.plain == "Switch a plugin on at bind, such as DefaultBinder."
    assert find_section(text, "bind", find="nothing").is_shown


def test_an_order_in_the_form_is_an_order_in_the_text() -> None:
    order = find_section(DETAILED, "filter").order.split()
    new_order = [order[1], order[0], *order[2:]]
    values = as_posted(build_profile_form(DETAILED)) | {"order.filter": " ".join(new_order)}
    changed_text = writing.apply_form(DETAILED, DETAILED, values, 0)
    assert find_section(changed_text, "filter").order.split() == new_order
    assert changed_text == DETAILED.replace(
        "      multiPoint:\n",
        f"      filter:\n        enabled:\n          - name: {order[1]}\n      multiPoint:\n",
    ) or parse_document(changed_text).data["profiles"][0]["plugins"]["filter"] == {"enabled": [{"name": order[1]}]}
    assert "# Spread harder." in changed_text
    untouched = as_posted(build_profile_form(DETAILED)) | {"order.filter": " ".join(order)}
    assert writing.apply_form(DETAILED, DETAILED, untouched, 0) == DETAILED


def test_a_plugin_that_is_switched_on_with_another_order_comes_last() -> None:
    order = find_section(DETAILED, "score").order.split()
    values = as_posted(build_profile_form(DETAILED)) | {
        "order.score": " ".join(reversed(order)),
        "on.TargetLoadPacking.score": "on",
    }
    changed_text = writing.apply_form(DETAILED, DETAILED, values, 0)
    assert find_section(changed_text, "score").order.split() == [*reversed(order), "TargetLoadPacking"]


@pytest.mark.parametrize(
    ("command", "place"),
    [("score NodeAffinity up", 0), ("score NodeAffinity down", 2), ("score TaintToleration up", None)],
)
def test_a_button_moves_a_plugin_by_one_place(command: str, place: int | None) -> None:
    changed_text = writing.move_plugin(PLAIN, 0, command, load_tables())
    if place is None:
        assert changed_text == PLAIN
    else:
        assert find_section(changed_text, "score").order.split()[place] == "NodeAffinity"


@pytest.mark.parametrize(
    "command", ["", "score", "score nobody up", "nowhere NodeAffinity up", "score ImageLocality down"]
)
def test_a_move_that_cannot_be_changes_nothing(command: str) -> None:
    assert writing.move_plugin(PLAIN, 0, command, load_tables()) == PLAIN
    assert writing.move_plugin(PLAIN, 7, "", load_tables()) == PLAIN


def test_what_is_asked_for_is_read_from_any_address() -> None:
    assert FormFilter.from_query({"beside": "x", "by": "colour", "changed": "0"}) == FormFilter()
    query = {"find": " a b ", "changed": "1", "by": "point", "beside": "2"}
    read = FormFilter.from_query(query)
    assert FormFilter.from_query(read.query) == read
    assert read.query == {"find": "a b", "changed": "1", "by": "point", "beside": "2"}
    assert len(FormFilter.from_query({"find": "x" * 1000}).find) == LONGEST
