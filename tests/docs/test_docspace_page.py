"""The pages of DocSpace: their commands run as they stand, and their tables tell what there is."""

import re
from pathlib import Path

import anyio
import pytest
from tests.docs.pages import is_as_shown, page
from tests.docspace.stand_in import ADA_KEY, stand_in
from tests.surfaces.cli.terminal import program

from pegboard.config.docspace import PREFIX, SECRET_NAMES
from pegboard.config.docspace_toolsets import TOOLSETS, misconfiguration_remedies
from pegboard.core.calls.caller_credentials import CREDENTIAL_HEADERS
from pegboard.core.model.web_api import ApiMisconfiguration

HOW_TO = page("docs/how-to/docspace.md")
REFERENCE = page("docs/reference/docspace.md")


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.behaviour("docspace.check", "docspace.on_the_board")
async def test_a_new_user_comes_from_two_variables_to_listed_rooms(tmp_path: Path) -> None:
    exports, check, call = (block.text for block in HOW_TO.blocks if block.language == "sh")
    [shown] = [block.text for block in HOW_TO.blocks if block.language == "text"]
    names = re.findall(r"export (\w+)=", exports)
    assert names == ["DOCSPACE_BASE_URL", "DOCSPACE_API_KEY"]
    async with stand_in() as docspace:
        environ = {names[0]: docspace.url, names[1]: ADA_KEY, "PEGBOARD_DATA_DIR": str(tmp_path / "data")}

        async def typed(line: str) -> str:
            words = re.findall(r"'([^']*)'|(\S+)", line.removeprefix("pegboard "))
            done = await anyio.to_thread.run_sync(
                lambda: program(tmp_path, *(quoted or bare for quoted, bare in words), cwd=None, python=None, **environ)
            )
            assert done.code == 0, done.err
            return done.out

        checked = await typed(check.strip())
        listed = await typed(call.strip())
    assert is_as_shown(shown.replace("https://example.onlyoffice.com/", docspace.url), checked)
    assert "Ada's team" in listed


@pytest.mark.behaviour("docspace.environment", "docspace.request_credentials", "docspace.misconfigured")
def test_the_reference_tells_every_tool_variable_header_and_reason() -> None:
    spans = {*REFERENCE.spans}
    assert {*TOOLSETS, *(name for names in TOOLSETS.values() for name in names)} <= spans
    assert {f"{PREFIX}{name}" for name in SECRET_NAMES} <= spans
    assert {name.decode().title() for name in CREDENTIAL_HEADERS} <= spans
    reasons = re.findall(r"`([^`]*)`", REFERENCE.text.partition("## When it is misconfigured")[2].partition("\n## ")[0])
    known = [reason for reason in reasons if misconfiguration_remedies(ApiMisconfiguration(reason))]
    assert len(known) == 6
