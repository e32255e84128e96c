"""Names in settings that no tool has: in the log once, in a notice for as long as they stay, and never half judged."""

import logging
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.core.boards import PERSON, key, server, tool
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, House, declared, opened

from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.commands.commands import AddServer
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.gateway.file_watch import CONFIG_NOTICE, follow_file
from pegboard.gateway.maintenance import UNKNOWN_NAMES, notice_text

pytestmark = pytest.mark.anyio

GITHUB, FILES = key("dev~github"), key("docs~files")
GET, READ = tool(GITHUB, "widget_get"), tool(FILES, "read_file")
AT = DeclaredAt("pegboard.yaml", 14)


def misspelled(*names: str) -> DeclaredSettings:
    lines = dict.fromkeys(names, AT)
    return replace(declared(GITHUB, FILES), selection=Selection(disabled=names), selection_lines=lines)


def notice(house: House) -> str | None:
    found = house.board.notices.get(UNKNOWN_NAMES)
    return None if found is None else found.text


TEXT = (
    "Unknown tool 'widget_gett' in selection.disabled_tools (pegboard.yaml:14). Did you mean 'widget_get'? Until the "
    "entry is corrected or marked as optional, mcp:dev~github:widget_get is locked."
)


@pytest.mark.behaviour("names.unknown_is_shown")
async def test_an_unknown_name_is_logged_once_and_shown_until_it_is_corrected(caplog: pytest.LogCaptureFixture) -> None:
    providers = Providers({GITHUB: (GET,), FILES: (READ,)})
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING, "pegboard.gateway.maintenance"):
        async with opened(misspelled("widget_gett"), providers) as house:
            await house.until(lambda: notice(house) == TEXT)
            assert house.statuses()[str(GET.id)] == "disabled_unknown"
            house.provider(FILES).lists(READ, tool(FILES, "write_file"))
            await house.until(lambda: len(house.board.catalogue.tools) == 3)
            await house.gateway.unknown_names.refresh()
            await house.gateway.operator.apply_settings(misspelled("widget_get"))
            await house.until(lambda: notice(house) is None)
    assert [record.getMessage() for record in caplog.records] == [
        f"{TEXT} Correct it at pegboard.yaml:14, or mark it as optional."
    ]


@pytest.mark.behaviour("names.denial_fails_closed")
async def test_the_tool_of_a_misspelled_denial_is_open_at_no_moment_of_a_start() -> None:
    seen: set[bool] = set()
    with anyio.fail_after(PATIENCE):
        async with opened(
            misspelled("widget_gett"), Providers({GITHUB: (GET,), FILES: (READ,)}), settle=False
        ) as house:
            while len(house.board.catalogue.tools) < 2:
                verdict = house.board.resolution(View()).verdicts.get(GET.id)
                seen.add(isinstance(verdict, OpenTool))
                await anyio.lowlevel.checkpoint()
            seen.add(isinstance(house.board.resolution(View()).verdicts[GET.id], OpenTool))
    assert seen == {False}


async def test_a_pattern_that_fits_nothing_is_logged_and_makes_no_notice(caplog: pytest.LogCaptureFixture) -> None:
    declared_ = replace(declared(GITHUB), denials=(Denial(Pattern("github", "drop_*"), AT),))
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING, "pegboard.gateway.maintenance"):
        async with opened(declared_, Providers({GITHUB: (GET,)})) as house:
            await house.gateway.unknown_names.refresh()
            assert house.board.notices == {}
    assert [record.getMessage() for record in caplog.records] == [
        "deny (pegboard.yaml:14): no tool fits 'github:drop_*'. If it is not meant for tools that are still to come, "
        "correct it at pegboard.yaml:14."
    ]


def test_many_unknown_names_are_counted_first() -> None:
    assert notice_text(["a"]) == "a"
    assert notice_text(["a", "b"]) == "2 names in the settings match nothing.\na\nb"
    assert notice_text([str(each) for each in range(22)]).endswith("\nand 2 more: pegboard doctor")


def written(file: Path, text: str) -> Settings:
    file.write_text(text)
    loaded = load_settings_file(file)
    assert isinstance(loaded, Settings)
    return loaded


@pytest.mark.behaviour("config.selected_toolsets_exist")
async def test_an_edit_that_names_an_unknown_toolset_is_refused_until_it_is_installed(tmp_path: Path) -> None:
    file, servers = tmp_path / "pegboard.yaml", "servers: {github: {command: x, toolset: dev}}\n"
    settings = written(file, servers)
    accepted: list[str] = []
    async with opened(settings.declared, settle=False) as house:
        board = house.board
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    follow_file,
                    settings,
                    house.gateway.board,
                    house.gateway.clock,
                    house.gateway.operator,
                    accepted.append,
                )
                written(file, f"{servers}selection: {{toolsets: [dve]}}\n")
                await house.until(lambda: CONFIG_NOTICE in board.notices)
                assert board.notices[CONFIG_NOTICE].text.endswith(
                    "pegboard.yaml:2: selection.toolsets[0]: unknown toolset 'dve'. Did you mean 'dev'? Correct it, "
                    "install the toolset first (pegboard servers add NAME --toolset dve), or mark the entry as "
                    "optional."
                )
                assert (board.policy.declared.selection, accepted) == (Selection(), [])
                wiki = key("wiki~wiki")
                await house.does(AddServer(server(wiki, origin=PERSON), Toolset(wiki.toolset, PERSON)))
                good = written(file, f"{servers}selection: {{toolsets: [wiki]}}\n")
                await house.until(lambda: CONFIG_NOTICE not in board.notices)
                assert accepted == [good.digest]
                optional = "{name: dve, optional: true}"
                written(file, f"{servers}selection: {{toolsets: [wiki, {optional}]}}\n")
                await house.until(lambda: "dve" in str(board.policy.declared.selection))
                assert ToolId(GITHUB, "widget_get") not in board.resolution(View()).open_ids
                written(file, f"{servers}deny: ['gihub:*']\n")
                await house.until(lambda: CONFIG_NOTICE in board.notices)
                assert "deny[0]: unknown toolset or server 'gihub'. Did you mean 'github' or" in (
                    board.notices[CONFIG_NOTICE].text
                )
                pages = key("wiki~pages")
                await house.does(AddServer(server(pages, origin=PERSON), Toolset(pages.toolset, PERSON)))
                written(file, f"{servers}deny: ['pages:*', 'wiki~pages:*']\n")
                await house.until(lambda: len(board.policy.declared.denials) == 2)
                assert CONFIG_NOTICE not in board.notices
                tasks.cancel_scope.cancel()
