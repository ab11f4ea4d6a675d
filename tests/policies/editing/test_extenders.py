"""Extenders are added, changed and removed in the form, and their errors stand beside their fields."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.policies.editing import editor, extenders, writing
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.validation import check_profiles
from tests.policies.editing.test_form import PLAIN, as_posted, build_profile_form, fields_of

TWO = (
    PLAIN
    + """\
extenders:
  # Knows licences.
  - urlPrefix: https://licences.example.com/scheduler # ours
    filterVerb: filter
    prioritizeVerb: prioritize
    weight: 4
    managedResources:
      - name: example.com/licence
        ignoredByScheduler: true
  # Knows GPUs.
  - urlPrefix: https://gpus.example.com
    bindVerb: bind
    tlsConfig: {serverName: gpus} # inside
"""
)


def apply_fields(text: str, **fields: str) -> str:
    return writing.apply_form(text, text, as_posted(build_profile_form(text)) | fields, 0)


def extender_fields(values: dict[str, str]) -> dict[str, str]:
    return {f"extenders.{name}": value for name, value in values.items()}


def test_an_untouched_form_leaves_extenders_alone() -> None:
    assert apply_fields(TWO) == TWO


def test_every_field_of_an_extender_is_in_the_form() -> None:
    schema: Any = load_tables().properties_of("KubeSchedulerConfiguration")["extenders"]["items"]
    first = extenders.build_forms(parse_document(TWO).data, load_tables())[0]
    assert {field.label for field in first.group.fields} == schema["properties"].keys()
    tls = next(field for field in first.group.fields if field.label == "tlsConfig")
    assert {field.label for field in tls.fields} == schema["properties"]["tlsConfig"]["properties"].keys()


def test_a_field_is_one_line_of_the_text() -> None:
    assert apply_fields(TWO, **extender_fields({"0.weight": "9"})) == TWO.replace("weight: 4", "weight: 9")
    assert apply_fields(TWO, **extender_fields({"1.tlsConfig.serverName": "cards"})) == TWO.replace(
        "gpus} #", '"cards"} #'
    )
    assert apply_fields(TWO, **extender_fields({"0.filterVerb": ""})) == TWO.replace("    filterVerb: filter\n", "")


def test_the_blank_one_adds_an_extender() -> None:
    blank = extenders.build_forms(parse_document(TWO).data, load_tables())[-1]
    assert (blank.index, blank.is_new, blank.title) == (2, True, "")
    fields = extender_fields(
        {"2.urlPrefix": "https://third.example.com", "2.filterVerb": "filter", "2.ignorable": "true"}
    )
    text = apply_fields(TWO, **fields)
    assert text == TWO + ("  - urlPrefix: https://third.example.com\n    filterVerb: filter\n    ignorable: true\n")
    assert check_profiles(text).valid
    first = apply_fields(PLAIN, **extender_fields({"0.urlPrefix": "https://a"}))
    assert first == PLAIN + "extenders:\n  - urlPrefix: https://a\n"


def test_removing_takes_its_lines_only() -> None:
    shortened = extenders.remove_extender(TWO, 1)
    assert parse_document(shortened).data["extenders"] == parse_document(TWO).data["extenders"][:1]
    assert "# Knows licences." in shortened
    assert "# ours" in shortened
    assert "extenders" not in parse_document(extenders.remove_extender(shortened, 0)).data
    assert extenders.remove_extender(TWO, 7) == TWO


def test_an_extender_that_moved_in_the_yaml_keeps_what_the_form_changes() -> None:
    moved_text = TWO.replace("extenders:\n", "extenders:\n  - urlPrefix: https://new.example.com\n")
    values = as_posted(build_profile_form(TWO)) | extender_fields({"1.bindVerb": "take"})
    text = writing.apply_form(moved_text, TWO, values, 0)
    assert [extender.get("bindVerb") for extender in parse_document(text).data["extenders"]] == [None, None, "take"]


def test_what_the_form_does_not_know_stays() -> None:
    text = TWO.replace("    bindVerb: bind\n", "    bindVerb: bind\n    later: 1\n")
    assert "later: 1" in apply_fields(text, **extender_fields({"1.bindVerb": "take"}))


@pytest.mark.parametrize(
    ("fields", "name", "words", "plain"),
    [
        ({"0.weight": "0"}, "0.weight", "must have a positive weight applied to it", "Must be at least 1 where"),
        ({"0.weight": "many"}, "0.weight", "cannot unmarshal string", "Must be a whole number."),
        (
            {"0.managedResources.0.name": "cpu"},
            "0.managedResources.0.name",
            "is an invalid extended resource name",
            "Must be the name of an extended resource",
        ),
        ({"0.httpTimeout": "soon"}, "0.httpTimeout", "invalid duration", "Must be a duration"),
        ({"1.tlsConfig.caData": "§"}, "1.tlsConfig.caData", "illegal base64 data", "Must be text in base64."),
        ({"1.tlsConfig.caData": "aGk="}, "1.tlsConfig.caData", "unable to parse bytes as PEM", "Must be a PEM block"),
        ({"1.tlsConfig.keyData": "aGk="}, "1.tlsConfig.keyData", "a private key cannot be saved here", ""),
    ],
)
def test_an_error_stands_beside_its_field_and_what_was_typed_stays(
    fields: dict[str, str], name: str, words: str, plain: str
) -> None:
    edited_view = editor.read_posted(
        {**as_posted(build_profile_form(TWO)), **extender_fields(fields), "document": TWO, "base": TWO, "profile": "0"}
    )
    [field] = [item for item in fields_of(edited_view.form) if item.problems]
    assert field.name == f"extenders.{name}"
    assert field.value == fields[name]
    assert words in field.problems[0].message
    assert field.problems[0].plain.startswith(plain)


def test_two_that_bind_are_told_at_the_extenders() -> None:
    edited_view = editor.read_posted(
        {
            **as_posted(build_profile_form(TWO)),
            **extender_fields({"0.bindVerb": "bind"}),
            "document": TWO,
            "base": TWO,
            "profile": "0",
        }
    )
    [problem] = edited_view.form.extender_problems
    assert "only one extender can implement bind" in problem.message
    assert problem.plain == "Leave bindVerb in one extender only."


def test_only_so_many_are_fields() -> None:
    text = PLAIN + "extenders:\n" + "".join(f"  - urlPrefix: https://e{number}\n" for number in range(23))
    profile_form = build_profile_form(text)
    assert (len(profile_form.extenders), profile_form.extenders_left_out) == (extenders.LIMIT, 3)
    assert apply_fields(text) == text
    edited_extenders = parse_document(apply_fields(text, **extender_fields({"4.filterVerb": "f"}))).data["extenders"]
    assert len(edited_extenders) == 23
    assert edited_extenders[4]["filterVerb"] == "f"
