"""Every table of a document can be read with errors under their paths, and has a schema; some also by Go's rules."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from kschedweb.engine.config.decode import decode
from kschedweb.engine.config.types import BOOL, BYTES, DURATION, INT32, RAW, STRING, encode, go_name
from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.documents.leaves import Problems
from kschedweb.engine.documents.types import REQUIRED, ListType, MapType, Struct, StructField
from kschedweb.engine.releases import CURRENT, load

CONFIGURATION = CURRENT.schema.configuration
ALL = Struct(
    "v1.All",
    "One field of each type.",
    (
        StructField("text", STRING, "Text.", REQUIRED),
        StructField("flag", BOOL, "A flag.", False),
        StructField("wholeNumber", INT32, "A number.", 3),
        StructField("time", DURATION, "A time."),
        StructField("bytes", BYTES, "Bytes."),
        StructField("raw", RAW, "Anything."),
        StructField("list", ListType(STRING, max_items=2), "A list.", ()),
        StructField("map", MapType(INT32), "A map.", {}),
    ),
)
GOOD: dict[str, Any] = {"text": "a", "flag": True, "time": "1m30s", "bytes": "aGk=", "raw": [1], "list": ["x"]}
BAD = {
    "text": 1,
    "flag": "no",
    "wholeNumber": 2**31,
    "time": "soon",
    "bytes": "!",
    "list": ["x", "y", "z"],
    "map": {"a": 1.5},
    "more": 1,
}


def read(struct: Struct, raw: Any) -> tuple[Any, Problems]:
    problems: Problems = []
    return struct.read(raw, "", problems), problems


def test_one_table_is_read_in_two_ways() -> None:
    value, problems = read(ALL, GOOD)
    assert not problems
    assert value["whole_number"] == 3
    decoded = decode(ALL, GOOD).value
    assert decoded["wholeNumber"] == 0  # as Go has it: defaults are another step
    for name in ("text", "flag", "time", "bytes", "raw"):
        assert value[name] == decoded[name]
    assert encode(ALL, decoded) == GOOD | {"raw": [1]}


def test_every_problem_has_its_path() -> None:
    _, problems = read(ALL, BAD)
    assert {problem.path for problem in problems} == {*BAD, "map.a"} - {"map"}
    assert {problem.path for problem in read(ALL, {})[1]} == {"text"}


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    schema = jsonschema.Draft202012Validator(Schemas().struct_schema(ALL))
    assert not list(schema.iter_errors(GOOD))
    refused = {error.path[0] for error in schema.iter_errors(BAD) if error.path}
    assert refused >= {"text", "flag", "wholeNumber", "time", "list", "map"}


@pytest.mark.parametrize(
    "struct", [CONFIGURATION, *(spec.args.struct for spec in CURRENT.registry.specs.values() if spec.args)]
)
def test_names_in_go_are_those_of_the_tables(struct: Struct) -> None:
    assert all(go_name(field.type) for field in struct.fields)
    assert read(struct, {"nonsense": 1})[1][0].path == "nonsense"


def test_the_default_configuration_fits_its_table() -> None:
    configuration = load(None).configuration
    assert configuration is not None
    _, problems = read(CONFIGURATION, configuration.document)
    assert not problems
