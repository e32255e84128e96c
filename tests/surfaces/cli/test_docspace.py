"""`pegboard docspace check` at a terminal: words or one document, and the code that says how it ended."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from tests.docspace.stand_in import ADA_KEY, StandIn, stand_in
from tests.surfaces.cli.terminal import Pegboard


@pytest.fixture
def docspace(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """In a thread of its own, because the command has the loop of this one."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(stand_in()) as found:
        monkeypatch.setenv("DOCSPACE_BASE_URL", found.url)
        monkeypatch.setenv("DOCSPACE_API_KEY", ADA_KEY)
        yield found


@pytest.mark.behaviour("docspace.check")
def test_it_tells_who_you_are_in_words_or_as_one_document(docspace: StandIn, pegboard: Pegboard) -> None:
    words, document = pegboard("docspace", "check"), pegboard("docspace", "check", "--json")
    assert (words.code, words.out) == (
        0,
        f"{docspace.url} is a DocSpace, and you are Ada <ada@example.com> there, owner.\n"
        "  documents  you may see them\n  rooms      you may see them\n  people     you may see them\n",
    )
    assert (document.code, document.json) == (
        0,
        {
            "baseUrl": docspace.url,
            "name": "Ada",
            "email": "ada@example.com",
            "role": "owner",
            "accessible": {"documents": True, "rooms": True, "people": True},
            "errors": {},
        },
    )


@pytest.mark.behaviour("docspace.check")
def test_what_is_in_the_way_is_one_document_too(
    docspace: StandIn, pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCSPACE_API_KEY", "another")
    refused = pegboard("docspace", "check", "--json")
    monkeypatch.setenv("DOCSPACE_USERNAME", "ada")
    misconfigured = pegboard("docspace", "check", "--json")
    assert (refused.code, refused.json["kind"], refused.json["baseUrl"]) == (5, "refused", docspace.url)
    assert (misconfigured.code, misconfigured.json["errors"]) == (3, ["No password"])


@pytest.mark.behaviour("docspace.check")
def test_where_callers_bring_everything_that_is_said(pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCSPACE_TRANSPORT", "http")
    done = pegboard("docspace", "check")
    assert (done.code, done.out) == (
        0,
        "Each caller brings a DocSpace and credentials of its own, so there is nothing to try here.\n"
        "Who comes by pegboard stdio cannot, and is told: No authentication method.\n",
    )


@pytest.mark.behaviour("docspace.check")
def test_a_key_that_is_forgotten_or_misspelt_is_no_success(pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCSPACE_BASE_URL", "http://127.0.0.1:1/")
    forgotten = pegboard("docspace", "check")
    monkeypatch.setenv("DOCSPACE_APIKEY", "sk")
    misspelt = pegboard("docspace", "check")
    monkeypatch.delenv("DOCSPACE_BASE_URL")
    none = pegboard("docspace", "check")
    needs = "pegboard: No authentication method\nSay one of api_key, "
    meant = "the environment: DOCSPACE_APIKEY: nobody reads this. Did you mean DOCSPACE_API_KEY?"
    assert (forgotten.code, forgotten.err.startswith(needs), meant in forgotten.err) == (3, True, False)
    assert (misspelt.code, misspelt.err.startswith(needs), meant in misspelt.err) == (3, True, True)
    assert (none.code, none.err.splitlines()[-1].strip()) == (3, meant)


@pytest.mark.behaviour("docspace.misconfigured", "docspace.decided_like_any_other")
def test_its_toolsets_are_not_given_away_and_the_doctor_tells_what_is_wrong_once(
    pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCSPACE_API_KEY", "sk")
    kept = pegboard("toolset", "export", "files")
    assert (kept.code, kept.err.splitlines()[-1]) == (
        6,
        "pegboard: files comes with Pegboard, and there is nothing to give away. Write docspace in the other "
        "pegboard.yaml.",
    )
    monkeypatch.setenv("DOCSPACE_TOOLSETS", "file")
    doctor = pegboard("doctor", "--json")
    [finding] = [each for each in doctor.json["findings"] if each["severity"]]
    assert doctor.code == 1
    assert finding["message"].startswith(
        "DocSpace is misconfigured: Parsing environment variables; DOCSPACE_TOOLSETS: custom Unknown value: file. "
    )
