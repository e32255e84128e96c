"""What the scanner finds in its corpus is what its page says, and enough of it."""

from collections import Counter

import pytest
from tests.corpus.figures import HONEST, POISONED, results, tables
from tests.corpus.measure import CORPUS, Figures, figures, main, samples
from tests.docs.pages import page

from pegboard.core.scan.findings import ScanFindingKind, Severity


@pytest.mark.behaviour("scanner.published_figures")
def test_the_page_tells_what_the_scanner_finds_today() -> None:
    told = page("docs/reference/scanner.md").text
    assert [table for table in tables() if table not in told] == [], "print them: python -m tests.corpus.figures"


@pytest.mark.behaviour("scanner.false_alarms")
@pytest.mark.parametrize("name", HONEST)
def test_of_two_hundred_honest_tools_at_most_one_has_a_hard_finding(name: str) -> None:
    total = figures(results(name))
    assert total.hard * 200 <= total.tools
    assert total.found * 10 <= total.tools


@pytest.mark.behaviour("scanner.recall", "approvals.scanner_marks")
def test_nine_of_ten_poisoned_tools_in_the_usual_wording_are_marked() -> None:
    total = figures(results("poisoned_held_out"))
    assert total.found * 10 >= total.tools * 9
    assert total.hard * 10 >= total.tools * 7


@pytest.mark.behaviour("scanner.recall")
def test_the_fresh_set_is_large_and_mostly_orders_in_several_languages() -> None:
    """So that what the page tells of it means something."""
    fresh = samples(CORPUS / "poisoned_fresh.jsonl")
    orders = [each for each in fresh if each.kind is ScanFindingKind.INSTRUCTION]
    assert len(fresh) >= 60
    assert len(orders) >= 25
    assert {each.kind for each in fresh} == {*ScanFindingKind}
    assert sum(not each.spec.description.isascii() for each in orders) >= 5


@pytest.mark.behaviour("approvals.scanner_marks")
def test_what_is_found_in_a_poisoned_tool_is_mostly_what_it_was_poisoned_with() -> None:
    found = [each for name in POISONED for each in results(name) if each.findings]
    assert sum(each.is_of_its_kind for each in found) * 20 >= len(found) * 19


@pytest.mark.behaviour("scanner.corpus")
def test_the_corpus_has_what_it_promises() -> None:
    poisoned = [each for name in POISONED for each in samples(CORPUS / f"{name}.jsonl")]
    honest = [each for name in HONEST for each in samples(CORPUS / f"{name}.jsonl")]
    assert len(poisoned) >= 200
    assert min(Counter(each.kind for each in poisoned).values()) >= 20
    assert {each.kind for each in poisoned} == {*ScanFindingKind}
    assert len(honest) >= 400
    assert {each.kind for each in honest} == {None}
    everything = [*poisoned, *honest]
    assert len({each.id for each in everything}) == len(everything)
    assert len({each.spec.fingerprint for each in everything}) == len(everything)


@pytest.mark.behaviour("scanner.harmless_excerpts")
def test_whatever_is_told_of_a_poisoned_tool_can_be_shown() -> None:
    findings = [finding for name in POISONED for each in results(name) for finding in each.findings]
    for finding in findings:
        assert finding.sentence.isprintable()
        assert finding.excerpt.isprintable()
        assert len(finding.sentence) < 400
        assert len(finding.excerpt) < 1200
    assert {finding.severity for finding in findings} == {*Severity}


def test_a_file_of_tools_is_measured_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = CORPUS / "poisoned_fresh.jsonl"
    total = figures(results("poisoned_fresh"))
    main([str(path), "--list", "--missed"])
    printed = capsys.readouterr().out
    assert f"{path}: {total.tools} tools, something found in {total.found}, hard in {total.hard}; " in printed
    assert printed.count("\tnothing\n") == total.tools - total.found
    assert total == Figures(total.tools, total.found, total.hard)
