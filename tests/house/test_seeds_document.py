"""docs/seeds.md: what its tables name exists, and what the founding documents name is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import pytest
from django.core.management import get_commands
from django.urls import is_valid_path

from kschedweb.engine.__main__ import main
from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.releases.classic.catalogue import EDITION
from tests.support.documents import DOCS, missing_tests

TEXT = (DOCS / "seeds.md").read_text(encoding="utf-8")
COLUMNS = ["item", "where", "test", "remark"]
# What each founding document names of the engine's plugins, predicates, priorities and extension points.
ARTICLES = {
    "000": """BalancedResourceAllocation EqualPriority HostName ImageLocalityPriority InterPodAffinityPriority
        LeastRequestedPriority MatchNodeSelector MaxCSIVolumeCountPred MostRequestedPriority NoDiskConflict
        NodeAffinityPriority NodePreferAvoidPodsPriority PodFitsPorts PodFitsResources
        RequestedToCapacityRatioPriority SelectorSpreadPriority ServiceSpreadingPriority TaintTolerationPriority""",
    "001": "ImageLocality InterPodAffinity bind filter postBind preBind preFilter preScore score",
    "002": "filter preFilter preScore score",
    "003": """BalancedResourceAllocation CheckNodeDiskPressure CheckNodeMemoryPressure HostName InterPodAffinityPriority
        LeastRequestedPriority MatchNodeSelector MaxAzureDiskVolumeCount MaxEBSVolumeCount MaxGCEPDVolumeCount
        NoDiskConflict NoVolumeZoneConflict NodeAffinityPriority NodeName NodePreferAvoidPodsPriority
        PodFitsHostPorts PodFitsResources SelectorSpreadPriority TaintTolerationPriority""",
    "004": """NodeAffinity PodFitsResources PodTopologySpread bind filter permit postBind postFilter preBind preFilter
        preScore reserve score""",
}


@dataclass(frozen=True)
class Row:
    """A row of a table of items; ``section`` is the heading of its document."""

    section: str
    item: str
    place: str
    test: str
    remark: str


def tables() -> Iterator[tuple[str, list[list[str]]]]:
    """Each table with the heading of its document, cells without the line below the head."""
    for section in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        for block in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
            lines = [[cell.strip() for cell in line.strip("|").split(" |")] for line in block.splitlines()]
            yield heading, [lines[0], *lines[2:]]


@cache
def rows() -> tuple[Row, ...]:
    return tuple(Row(heading, *cells) for heading, (head, *lines) in tables() if head == COLUMNS for cells in lines)


def code_words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_each_document_has_its_items() -> None:
    for article in ARTICLES:
        assert sum(row.section.startswith(article) for row in rows()) >= 10, article
    assert all(row.item and row.place and row.test for row in rows())
    items = [(row.section, row.item) for row in rows()]
    assert len(set(items)) == len(items)


def test_every_test_exists() -> None:
    test_names = [name for row in rows() for name in code_words(row.test)]
    assert len(test_names) > 200
    assert all(re.fullmatch(r"\S+\.py::\w+", name) for name in test_names)
    assert missing_tests(TEXT) == []


def test_every_page_and_call_is_an_address_of_the_site() -> None:
    addresses = {name for name in code_words(TEXT) if re.fullmatch(r"([A-Z]+ )?/\S*/", name)}
    assert len(addresses) > 15
    for address in addresses:
        path = re.sub(r"\bID\b", str(UUID(int=0)), address.rpartition(" ")[2])
        assert is_valid_path(path), address


def test_every_command_has_its_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {name for name in code_words(TEXT) if name.startswith(("python -m ", "manage.py "))}
    assert len(commands) > 4
    for command in commands:
        if command.startswith("manage.py "):
            assert command.split()[1] in {*get_commands(), "version"}, command
            continue
        program, *arguments = command.split()[2:]
        assert program == "kschedweb.engine"
        with pytest.raises(SystemExit) as exit_info:
            main([*arguments, "--help"] if arguments[0] != "--version" else arguments)
        assert exit_info.value.code == 0, command
    capsys.readouterr()


def find_names(text: str) -> set[str]:
    """The words of ``text``; an extension point may be written as its method: PreFilter, preFilter."""
    words = set(re.findall(r"[A-Za-z]\w+", text))
    return words - {*EXTENSION_POINTS} | {word[0].lower() + word[1:] for word in words if not word.islower()}


def test_what_the_documents_name_and_the_engine_knows_is_in_the_tables() -> None:
    engine_names = {*(spec.name for spec in CURRENT.specs), *EDITION.predicates, *EDITION.priorities, *EXTENSION_POINTS}
    for article, names in ARTICLES.items():
        documented_names = find_names(
            " ".join(f"{row.item} {row.remark}" for row in rows() if row.section.startswith(article))
        )
        missing = set(names.split()) & engine_names - documented_names
        assert missing == set(), article


def test_what_is_out_of_scope_has_a_reason() -> None:
    ((head, *lines),) = [table for heading, table in tables() if heading == "Out of scope"]
    assert head == ["what", "why"]
    assert len(lines) > 5
    assert all(topic and reason.endswith(".") for topic, reason in lines)
