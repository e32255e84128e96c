"""`pegboard docspace check`: who you are there and what you may see, or what is wrong and what to do."""

from pathlib import Path

import anyio
import pytest
from tests.docspace.boards import PATIENCE
from tests.docspace.stand_in import ADA_KEY, Fault, StandIn, stand_in

from pegboard.bootstrap.launcher import CommandLauncher
from pegboard.config.docspace_toolsets import misconfiguration_remedies
from pegboard.core.model.web_api import ApiMisconfiguration
from pegboard.surfaces.cli.api import DocSpaceCheck, Options
from pegboard.surfaces.cli.doctor import report_lines
from pegboard.surfaces.cli.output import CommandError, Exit

pytestmark = pytest.mark.anyio
PAGE = b"<!doctype html><title>Welcome</title>"


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


def environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"DOCSPACE_{name.upper()}", value)


async def looked() -> DocSpaceCheck:
    with anyio.fail_after(PATIENCE):
        return await CommandLauncher().check_docspace(Options())


async def refused() -> tuple[int, str]:
    with pytest.raises(CommandError) as ended:
        await looked()
    return ended.value.code, ended.value.message


@pytest.mark.behaviour("docspace.check")
async def test_it_says_who_you_are_and_what_you_may_see_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in() as docspace:
        docspace.faults.append(Fault(403, path="people/filter"))
        environment(monkeypatch, base_url=docspace.url, api_key=ADA_KEY)
        found = await looked()
        methods = {seen.method for seen in docspace.seen}
    sees = {"documents": None, "rooms": None, "people": found.part_errors["people"]}
    assert found == DocSpaceCheck(docspace.url, "Ada", "ada@example.com", "owner", sees)
    assert (found.part_errors["people"] or "").startswith("HTTP 403")
    assert methods == {"GET"}


@pytest.mark.behaviour("docspace.check")
async def test_what_is_in_the_way_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await refused() == (
        Exit.CONFIG,
        "there is no DocSpace here. Write docspace in pegboard.yaml, or set DOCSPACE_BASE_URL and DOCSPACE_API_KEY for "
        "this command, as for the gateway.",
    )
    environment(monkeypatch, base_url="localhost:8080", api_key=ADA_KEY)
    code, told = await refused()
    assert (code, told.splitlines()[-1].strip()) == (
        Exit.CONFIG,
        "DOCSPACE_BASE_URL: custom Expected a URL that begins with http:// or https://, but got localhost:8080",
    )
    async with stand_in() as docspace:
        environment(monkeypatch, base_url=docspace.url, api_key="another")
        assert await refused() == (
            Exit.REFUSED,
            f"{docspace.url}: it does not know these credentials (HTTP 401). Make another key or token in DocSpace, or "
            "correct the password.",
        )
        environment(monkeypatch, api_key=ADA_KEY, base_url=f"{docspace.url}elsewhere/")
        code, told = await refused()
        assert (code, told.split(": ", 1)[1].split(".")[0]) == (
            Exit.NOT_FOUND,
            "what is there answers the API with HTTP 404",
        )
        environment(monkeypatch, base_url=docspace.url.replace("http:", "https:"))
        code, told = await refused()
        assert (code, ": its TLS cannot be trusted or spoken: " in told) == (Exit.UNREACHABLE, True)
        nobody = docspace.url
    environment(monkeypatch, base_url=nobody)
    code, told = await refused()
    assert (code, ": it cannot be reached: connect ECONNREFUSED " in told) == (Exit.UNREACHABLE, True)
    environment(monkeypatch, username="ada")
    assert await refused() == (
        Exit.CONFIG,
        "\n".join(("No password", *misconfiguration_remedies(ApiMisconfiguration("No password")))),
    )


@pytest.mark.behaviour("docspace.check")
async def test_a_web_page_in_place_of_the_api_is_no_docspace(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in() as docspace:
        shows_a_page(docspace)
        environment(monkeypatch, base_url=docspace.url, api_key=ADA_KEY)
        assert await refused() == (
            Exit.NOT_FOUND,
            f"{docspace.url}: what is there answers the API with a web page. Use the address that a browser shows for "
            "your DocSpace, without what follows the host.",
        )


@pytest.mark.behaviour("docspace.check")
async def test_where_callers_bring_everything_there_is_nothing_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, transport="streamable-http")
    assert await looked() == DocSpaceCheck()


@pytest.mark.behaviour("docspace.check")
async def test_a_base_url_that_redirects_is_told_as_such_and_not_as_a_wrong_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with stand_in() as docspace, stand_in() as before:
        real = docspace.url.rstrip("/")
        before.faults.append(Fault(301, path="people/@self", headers={"Location": f"{real}/api/2.0/people/@self"}))
        environment(monkeypatch, base_url=before.url, api_key=ADA_KEY)
        assert await refused() == (
            Exit.NOT_FOUND,
            f"{before.url}: it redirects to {real}, where credentials do not follow. Use that as the base URL.",
        )


@pytest.mark.behaviour("docspace.check")
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            Fault(200, body=b'{"response":{"id":"1"},"status":0,"statusCode":200}'),
            "what is there answers the API with no Content-Type, which no tool can read",
        ),
        (
            Fault(200, body={"response": {"id": "1"}}, headers={"Content-Type": "application/octet-stream"}),
            "what is there answers the API with the Content-Type 'application/octet-stream', which no tool can read",
        ),
        (
            Fault(200, body={"response": {}, "status": 0, "statusCode": 200}),
            "what is there answers with JSON that is not DocSpace's",
        ),
        (Fault(200, body=["x"]), "what is there answers the API with JSON that is not DocSpace's"),
        (
            Fault(200, body=b'{"resp', headers={"Content-Type": "application/json"}),
            "what is there answers the API with what is no JSON: Unterminated string in JSON at position 6",
        ),
        (
            Fault(200, body=b" " * (8 * 1024 * 1024 + 1)),
            "what is there answers, but not as DocSpace does: the answer is longer than 8 MiB",
        ),
    ],
)
async def test_what_no_tool_could_read_is_no_docspace_and_why_is_told(
    fault: Fault, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand_in() as docspace:
        docspace.faults.append(fault)
        environment(monkeypatch, base_url=docspace.url, api_key=ADA_KEY)
        mend = "Use the address that a browser shows for your DocSpace, without what follows the host."
        assert await refused() == (Exit.NOT_FOUND, f"{docspace.url}: {told}. {mend}")


@pytest.mark.behaviour("docspace.check")
async def test_what_docspace_says_makes_no_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"message": "NO\n  rooms      you may", "type": "t", "stack": "", "hresult": 1}
    refusal = {"status": 1, "statusCode": 403, "error": error}
    async with stand_in() as docspace:
        docspace.faults.append(Fault(403, path="people/@self", body=refusal))
        environment(monkeypatch, base_url=docspace.url, api_key=ADA_KEY)
        code, told = await refused()
    assert (code, len(told.splitlines())) == (Exit.REFUSED, 1)
    assert told.startswith(f"{docspace.url}: it does not know these credentials (HTTP 403, NO rooms you may). ")
    forged = DocSpaceCheck("http://d/", "Ada\nx", "a@b\ny", "owner", {"rooms": "NO\n  people     you may see them"})
    assert report_lines(forged) == [
        "http://d/ is a DocSpace, and you are Ada x <a@b y> there, owner.",
        "  rooms      refused: NO   people     you may see them",
    ]


def shows_a_page(docspace: StandIn) -> None:
    docspace.faults.append(Fault(200, path="people/@self", body=PAGE, headers={"content-type": "text/html"}))
