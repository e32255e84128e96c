"""What a toolset brings itself, on a running gateway: seen, approved, run, changed and removed like a server."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.core.imports import FETCH, ID, KIT, installing, own, own_tool
from tests.core.imports import server as kit_server
from tests.support.doubles import SINCE, MemorySecrets, Providers, ScriptedProvider
from tests.support.house import PATIENCE, House, call_of, opened

from pegboard.config.references import expander
from pegboard.core.calls.call import LockedToolRefusal, ToolSuccess
from pegboard.core.commands.commands import ApproveTool, BlockTool, ReleaseServer, SetSwitch, SetTrust
from pegboard.core.commands.toolset_install import RemoveToolset
from pegboard.core.decision.status import UnsetSecret, explain_reason, general_remedy, operator_detail, remedy
from pegboard.core.model.catalogue import Listing, ProviderAsleep, ProviderDown, ProviderStart
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server, Timeouts, Trust
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import OwnTools, Tool
from pegboard.core.policy.policy import DeclaredSettings, PolicyDecisions
from pegboard.gateway.doctor import BoardIssue, diagnose
from pegboard.gateway.toolsets.secrets import ToolsetSecrets
from pegboard.ports.providers import UnresolvedReference

pytestmark = pytest.mark.anyio

ADD, SUM, GREP = own_tool("add"), own_tool("sum"), own_tool("grep")


def listed(server: Server) -> Listing:
    """As a provider of these does: all is known before anything of it runs."""
    assert isinstance(server.connection, OwnTools)
    return Listing(
        server.key, ProviderAsleep(SINCE), tuple(Tool(own_tool(spec.name), spec) for spec in server.connection.specs)
    )


def made(server: Server) -> ScriptedProvider:
    provider = ScriptedProvider(server)
    if isinstance(server.connection, OwnTools):
        provider.word = listed(server)
    return provider


def is_starting(house: House, attempt: int) -> bool:
    return house.board.catalogue.health(KIT) == ProviderStart(attempt, SINCE)


async def imported(house: House, *servers: Server, version: str = "1.0") -> None:
    await house.does(installing(*servers, version=version))
    await house.until(lambda: house.board.catalogue.listings.keys() == {server.key for server in servers})


@pytest.mark.behaviour("toolsets.own_tools_are_judged_alike")
async def test_what_a_person_imports_is_approved_at_first_sight_and_open_before_it_runs() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add", commands=("grep",)))
        await house.until(lambda: house.statuses() == {"kit:add": "open", "kit:grep": "open"})
        approvals = house.board.policy.decisions.approvals
        assert {tool: approval.first_sight for tool, approval in approvals.items()} == {ADD: True, GREP: True}
        assert isinstance(house.board.catalogue.health(KIT), ProviderAsleep)
        assert isinstance(await house.gateway.caller.call(call_of("add", {"path": "withheld-00"}), View()), ToolSuccess)
        assert [admitted.tool.id for admitted in house.provider(KIT).calls] == [ADD]


@pytest.mark.behaviour("toolsets.own_tools_are_judged_alike", "toolsets.import_again_keeps_decisions")
async def test_another_import_starts_it_anew_and_what_changed_or_came_waits() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add", "sum"))
        await house.until(lambda: house.statuses() == {"kit:add": "open", "kit:sum": "open"})
        former = house.provider(KIT)
        await house.does(SetSwitch(SUM, enabled=False))
        changed = own("sum", "grep", digest="b" * 64)
        assert isinstance(changed.connection, OwnTools)
        (kept, fresh) = changed.connection.python
        other = replace(kept, spec=replace(kept.spec, description="Now it deletes."))
        changed = replace(changed, connection=replace(changed.connection, python=(other, fresh)))
        await house.does(installing(changed, version="2.0"))
        with anyio.fail_after(PATIENCE):
            await former.stopped.wait()
        await house.until(lambda: house.statuses() == {"kit:sum": "disabled_by_user", "kit:grep": "pending_approval"})
        await house.does(SetSwitch(SUM, enabled=True), ApproveTool(GREP, fresh.spec, fresh.spec.fingerprint))
        assert house.statuses() == {"kit:sum": "pending_approval", "kit:grep": "open"}


async def test_another_import_of_the_same_files_restarts_nothing() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        await house.does(installing(own("add"), version="1.1"))
        assert [provider.source for provider in house.providers.made] == [KIT]


@pytest.mark.behaviour("toolsets.import_leaves_no_ghosts")
async def test_a_removed_toolset_leaves_the_board_with_all_its_providers() -> None:
    async with opened(DeclaredSettings(), Providers({FETCH: ()}, make=made)) as house:
        await imported(house, own("add"), kit_server(FETCH))
        await house.does(RemoveToolset(ID))
        await house.until(lambda: house.board.catalogue.listings == {})
        with anyio.fail_after(PATIENCE):
            await house.provider(KIT).stopped.wait()
            await house.provider(FETCH).stopped.wait()
        assert replace(house.board.policy.decisions, version=0) == PolicyDecisions()
        assert house.gateway.providers.log(KIT) == ()


async def test_a_toolset_that_is_off_runs_nothing_and_shows_its_tools_locked() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        await house.does(SetSwitch(ID, enabled=False))
        await house.until(lambda: house.statuses() == {"kit:add": "server_disabled"})
        with anyio.fail_after(PATIENCE):
            await house.provider(KIT).stopped.wait()
        await house.does(SetSwitch(ID, enabled=True))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})


async def test_what_waits_for_its_review_is_not_run_before_it() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await house.does(installing(replace(own("add"), quarantined=True)))
        await house.until(lambda: KIT in house.board.catalogue.listings)
        assert house.providers.made == []
        (finding,) = diagnose(house.board)
        assert finding == BoardIssue(
            "kit",
            "Toolset kit is in quarantine until a person has reviewed it.",
            "Look at it: pegboard servers review kit   Then: pegboard servers release kit   "
            "If you do not want it: pegboard toolset remove kit",
        )
        await house.does(ReleaseServer(KIT))
        await house.until(lambda: house.statuses() == {"kit:add": "pending_approval"})


async def test_trust_and_blocks_hold_for_what_a_toolset_brings_itself() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await house.does(installing(own("add", "sum")))
        await house.until(lambda: house.statuses() == {"kit:add": "open", "kit:sum": "open"})
        await house.does(BlockTool(ADD))
        assert house.statuses() == {"kit:add": "disabled_by_user", "kit:sum": "open"}
        await house.does(SetTrust(KIT, Trust.STRICT))
        assert house.board.policy.decisions.trust == {KIT: Trust.STRICT}
        assert house.status(SUM) == "open"


async def test_trouble_of_a_toolset_is_told_in_words_of_a_toolset() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        house.provider(KIT).falls("has no environment, because its requirements cannot be installed: no such package")
        await house.until(lambda: house.statuses() == {"kit:add": "server_unavailable"})
        (finding,) = diagnose(house.board)
        assert finding == BoardIssue(
            "kit",
            "Toolset kit is down: has no environment, because its requirements cannot be installed: no such package.",
            "pegboard servers logs kit   Correct it (mend the toolset and import it again: pegboard toolset import), "
            "or try again: pegboard servers restart kit",
        )
        refused = await house.gateway.caller.call(call_of("add", {"path": "withheld-00"}), View())
        assert isinstance(refused, LockedToolRefusal)
        assert explain_reason(refused.reason) == (
            "Toolset kit is down: has no environment, because its requirements cannot be installed."
        )
        assert operator_detail(refused.reason) == (
            "It has no environment, because its requirements cannot be installed: no such package."
        )
        assert remedy(refused.reason, Audience.AGENT).endswith("ask the user to run: pegboard doctor")


@pytest.mark.behaviour("toolsets.secret_not_set_is_told")
async def test_a_secret_that_is_not_set_is_told_with_the_command_that_sets_it_wherever_one_asks() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        house.provider(KIT).falls(str(UnsetSecret(ID, "TOKEN")))
        await house.until(lambda: house.statuses() == {"kit:add": "server_unavailable"})
        command = "pegboard toolset secrets set kit TOKEN"
        assert diagnose(house.board) == (
            BoardIssue("kit", "Toolset kit is down: the secret TOKEN is not set.", command),
        )
        refused = await house.gateway.caller.call(call_of("add", {"path": "withheld-00"}), View())
        assert isinstance(refused, LockedToolRefusal)
        assert explain_reason(refused.reason) == "Toolset kit is down: the secret TOKEN is not set."
        assert remedy(refused.reason, Audience.AGENT) == f"Ask the user to set the secret: {command}"
        assert operator_detail(refused.reason) is None
        assert general_remedy(refused.reason, Audience.AGENT) == (
            "Ask the user to set the secret: pegboard toolset secrets set TOOLSET NAME"
        )


@pytest.mark.behaviour("toolsets.secret_not_set_is_told")
async def test_a_secret_that_refers_to_nothing_is_told_with_what_it_refers_to_and_what_sets_it() -> None:
    secrets = ToolsetSecrets(MemorySecrets(), expander({"HOME": "ann"}, Path()))
    await secrets.save(ID, "TOKEN", "${NOPE}")
    await secrets.save(ID, "OTHER", "${HOME}")
    assert secrets.value(ID, "OTHER") == "ann"
    why = (
        "the secret TOKEN of kit stands for nothing: ${NOPE} stands for nothing: the environment variable NOPE is not "
        "set. Set it before the gateway starts, or write ${NOPE:-a default}."
    )
    assert secrets.values(ID, ("OTHER", "TOKEN")) == UnresolvedReference(why)
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        house.provider(KIT).falls(why)
        await house.until(lambda: house.statuses() == {"kit:add": "server_unavailable"})
        mend = "Mend what it names, or set the secret to something else: pegboard toolset secrets set kit TOKEN"
        assert diagnose(house.board) == (BoardIssue("kit", f"Toolset kit is down: {why}", mend),)


async def test_a_provider_that_cannot_be_made_leaves_its_toolset_down_and_others_up() -> None:
    def broken(server: Server) -> ScriptedProvider:
        if server.key == KIT:
            raise RuntimeError("no such folder")
        return made(server)

    async with opened(DeclaredSettings(), Providers({FETCH: ()}, make=broken)) as house:
        await house.does(installing(own("add"), kit_server(FETCH)))
        await house.until(lambda: isinstance(house.board.catalogue.health(KIT), ProviderDown))
        assert FETCH in house.gateway.providers.sources


@pytest.mark.behaviour("toolsets.calls_wait_for_a_start")
async def test_a_call_while_it_is_just_being_started_waits_for_it() -> None:
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, own("add"))
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        provider = house.provider(KIT)
        ready = provider.word
        provider.becomes(ProviderStart(1, SINCE), *ready.tools)
        await house.until(lambda: house.statuses() == {"kit:add": "server_unavailable"})
        ended: list[object] = []

        async def call() -> None:
            ended.append(await house.gateway.caller.call(call_of("add", {"path": "withheld-00"}), View()))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await anyio.wait_all_tasks_blocked()
                assert (ended, provider.calls) == ([], [])
                provider.becomes(ready.health, *ready.tools)
        assert [type(each) for each in ended] == [ToolSuccess]


@pytest.mark.behaviour("toolsets.calls_wait_for_a_start")
async def test_a_call_is_refused_when_the_start_takes_too_long_or_failed_once() -> None:
    hasty = own("add")
    hasty = replace(hasty, timeouts=Timeouts(start=30, call=0.01))
    async with opened(DeclaredSettings(), Providers(make=made)) as house:
        await imported(house, hasty)
        await house.until(lambda: house.statuses() == {"kit:add": "open"})
        provider = house.provider(KIT)
        for attempt in (1, 2):
            provider.becomes(ProviderStart(attempt, SINCE), *provider.word.tools)
            await house.until(partial(is_starting, house, attempt))
            with anyio.fail_after(PATIENCE):
                ended = await house.gateway.caller.call(call_of("add", {"path": "withheld-00"}), View())
            assert isinstance(ended, LockedToolRefusal)
            assert explain_reason(ended.reason) == f"Toolset kit is starting (attempt {attempt})."
        assert provider.calls == []
