"""The page of the reference tells what the last record shows, and nothing written by hand."""

import pytest
from tests.conformance.known import known, surprises
from tests.conformance.record import loaded
from tests.conformance.suite import RELEASE, VERSIONS
from tests.conformance.tables import PAGE_PATH, page
from tests.conformance.ways import WAYS
from tests.support.node import ROOT


@pytest.mark.behaviour("mcp.out.conformance")
def test_the_page_is_what_the_record_makes_of_it() -> None:
    assert (ROOT / PAGE_PATH).read_text("utf-8") == page(loaded(), known()), "make conformance ARGS=--record"


def test_the_record_is_of_this_suite_on_every_way() -> None:
    record = loaded()
    assert record.release == RELEASE
    assert [(run.way, run.version) for run in record.runs] == [
        (way.name, version) for way in WAYS for version in VERSIONS
    ]


@pytest.mark.behaviour("mcp.out.conformance", "mcp.in.conformance")
def test_the_record_holds_no_surprise() -> None:
    found = [told for run in loaded().runs for told in surprises(run.way, run.version, run.short, known())]
    assert found == []
