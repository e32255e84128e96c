"""Every decision leaves its trace: by whom, when, at which version, and what became of it."""

import json
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.core.boards import ME, NOW, PERSON, key, server, tool
from tests.gateway.desk import Desk
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, declared, opened
from tests.support.sentences import rejection

from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.calls.activity import FILE_PRINCIPAL, DecisionRecord
from pegboard.core.commands.commands import AddServer, RemoveServer, SetSwitch
from pegboard.core.model.server import Trust
from pegboard.core.model.toolset import Toolset
from pegboard.gateway.file_watch import follow_file
from pegboard.gateway.operator import FIRST_SIGHT, SaveFailure

pytestmark = pytest.mark.anyio

GITHUB, NOTES = key("dev~github"), key("docs~notes")
OFF = SetSwitch(GITHUB, enabled=False, note="noisy")
SECRET = "hunter2"


@pytest.mark.behaviour("audit.decisions")
async def test_what_became_of_each_command_is_recorded() -> None:
    at = Desk(declared(GITHUB))
    await at.operator.execute(OFF, ME)
    at.clock.passes(60)
    await at.operator.execute(RemoveServer(GITHUB), ME)
    await at.operator.execute(OFF, ME, expecting=0)
    at.store.go_away(ConnectionError("connection refused"))
    not_saved = await at.operator.execute(OFF, ME)
    assert isinstance(not_saved, SaveFailure)
    later = NOW + timedelta(minutes=1)
    words = "switched off: noisy"
    assert at.audit.decisions == [
        DecisionRecord("switch", "dev~github", words, ME, NOW, 1),
        DecisionRecord(
            "server",
            "dev~github",
            rejection(at.board.policy, RemoveServer(GITHUB)),
            ME,
            later,
            1,
            "rejected",
        ),
        DecisionRecord("switch", "dev~github", "The policy was at version 1 already.", ME, later, 1, "stale"),
        DecisionRecord("switch", "dev~github", f"{words}. {not_saved.why}", ME, later, 1, "not_saved"),
    ]


@pytest.mark.behaviour("audit.decisions")
async def test_a_first_sight_is_a_decision_too_and_calls_tell_the_version_they_were_made_under() -> None:
    async with opened(declared(GITHUB, trust=Trust.BASELINE), Providers({GITHUB: (tool(GITHUB, "read"),)})) as house:
        await house.until(lambda: bool(house.board.policy.version))
        await house.does(AddServer(server(NOTES, origin=PERSON), Toolset(NOTES.toolset, PERSON)))
        assert [(one.kind, one.about, one.by, one.policy_version) for one in house.audit.decisions] == [
            ("first_sight", "dev~github", FIRST_SIGHT, 1),
            ("server", "docs~notes", ME, 2),
        ]


def written(file: Path, **servers: object) -> Settings:
    file.write_text(json.dumps({"servers": servers}))
    loaded = load_settings_file(file)
    assert isinstance(loaded, Settings)
    return loaded


@pytest.mark.behaviour("audit.config_changes")
async def test_edits_of_the_file_are_recorded_by_what_they_changed_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "pegboard.yaml"
    command = {"command": "server", "env": {"TOKEN": SECRET}}
    settings = written(file, one=command)
    async with opened(settings.declared, settle=False) as house:
        said: list[tuple[str, str]] = []

        async def recorded(how_many: int) -> None:
            while len(house.audit.decisions) < how_many:
                await anyio.lowlevel.checkpoint()
            said[:] = [(one.text, one.outcome) for one in house.audit.decisions]

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    follow_file, settings, house.gateway.board, house.gateway.clock, house.gateway.operator
                )
                await recorded(1)
                written(file, one={**command, "env": {"TOKEN": f"{SECRET}-new"}}, two={"command": "x"})
                await recorded(2)
                file.write_text(f"servers: {{one: {{comand: {SECRET}}}}}\n")
                await recorded(3)
                await house.does(
                    AddServer(server(key("three~three"), origin=PERSON), Toolset(key("three~three").toolset, PERSON))
                )
                file.write_text(json.dumps({"servers": {"three": {"command": "y"}}, "audit": {"arguments": True}}))
                await recorded(5)
                tasks.cancel_scope.cancel()
    assert said[0] == (f"pegboard.yaml was loaded at the start, SHA-256 {settings.digest[:12]}", "done")
    assert said[1] == ("pegboard.yaml: server two~two added; server one~one: connection changed", "done")
    assert said[2] == ("pegboard.yaml was edited and cannot be used; problems: 1, the first in line 1", "broken")
    waits, ended = said[4]
    assert (ended, SECRET in str(said)) == ("waits", False)
    assert waits.startswith(
        "pegboard.yaml: server three~three added; server one~one removed; server two~two removed; audit changed. "
        "It waits: 'three~three' is declared at "
    )
    assert {one.by for one in house.audit.decisions} == {FILE_PRINCIPAL, ME}
