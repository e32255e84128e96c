"""The operator: a command is applied, saved, and only then on the board; what the store refuses changes nothing."""

from dataclasses import replace

import anyio
import pytest
from tests.core.boards import ME, NOW, PERSON, key, server, toolset
from tests.gateway.desk import Desk
from tests.support.doubles import MemoryStore, Save
from tests.support.house import PATIENCE, declared
from tests.support.sentences import rejection

from pegboard.core.commands.commands import AddServer, RemoveServer, SetSwitch
from pegboard.core.model.ids import PrincipalId, ToolId, ToolsetId
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy, PolicyDecisions, Switch
from pegboard.gateway import operator as operate
from pegboard.gateway.board import Notice
from pegboard.gateway.operator import SaveFailure, error_text
from pegboard.ports.stores import StaleVersion

pytestmark = pytest.mark.anyio

GITHUB, FILES, NOTES = key("dev~github"), key("dev~files"), key("docs~notes")
OFF = SetSwitch(GITHUB, enabled=False)
ADD_NOTES = AddServer(server(NOTES, origin=PERSON), Toolset(NOTES.toolset, PERSON))


def desk(store: MemoryStore | None = None) -> Desk:
    return Desk(declared(GITHUB, FILES), store)


# Applying, saving, swapping


@pytest.mark.behaviour("commands.apply_or_reject", "store.policy_versions")
async def test_a_command_is_saved_with_its_author_and_then_on_the_board() -> None:
    at = desk()
    done = await at.operator.execute(OFF, ME)
    assert done is at.board.policy
    assert at.board.policy.decisions == PolicyDecisions(1, switches={GITHUB: Switch(False, ME, NOW)})
    assert at.store.decided is at.board.policy.decisions
    assert at.store.saves == [Save(1, ME, "SetSwitch", NOW)]


async def test_nothing_is_on_the_board_before_it_is_saved() -> None:
    at = desk()
    at.store.hold = anyio.Event()
    before = at.board.policy
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.operator.execute, OFF, ME)
            await at.store.asked.wait()
            assert at.board.policy is before
            at.store.hold.set()
    assert at.board.policy.version == 1


@pytest.mark.behaviour("commands.apply_or_reject", "toolsets.declared_is_read_only")
async def test_a_rejected_command_is_not_saved() -> None:
    at = desk()
    before = at.board.policy
    assert await at.operator.execute(RemoveServer(GITHUB), ME) == CommandRejection(
        rejection(before, RemoveServer(GITHUB))
    )
    assert (at.board.policy, at.store.saves) == (before, [])


@pytest.mark.behaviour("toolsets.decisions_cover_both_sources")
async def test_switches_of_declared_and_installed_servers_are_kept_alike() -> None:
    at = desk()
    for command in (ADD_NOTES, OFF, SetSwitch(NOTES, enabled=False)):
        assert isinstance(await at.operator.execute(command, ME), Policy)
    assert set(at.store.decided.switches) == {GITHUB, NOTES}


# Races


@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_a_command_that_lost_a_race_stands_on_what_is_true_now() -> None:
    at = desk()
    theirs = PolicyDecisions(1, switches={FILES: Switch(False, PrincipalId("ann"), NOW)})
    at.store.decide_elsewhere(theirs)
    assert isinstance(await at.operator.execute(OFF, ME), Policy)
    assert at.board.policy.decisions == PolicyDecisions(2, switches={**theirs.switches, GITHUB: Switch(False, ME, NOW)})


async def test_a_command_that_no_longer_makes_sense_after_a_lost_race_is_rejected() -> None:
    at = desk()
    at.store.decide_elsewhere(PolicyDecisions(1, servers={NOTES: server(NOTES, origin=PERSON)}))
    done = await at.operator.execute(ADD_NOTES, ME)
    assert isinstance(done, CommandRejection)
    assert "docs~notes is there already" in done.why
    assert at.board.policy.decisions == at.store.decided


@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_whoever_names_the_version_they_looked_at_is_told_when_it_is_outdated() -> None:
    at = desk()
    await at.operator.execute(OFF, ME)
    assert await at.operator.execute(SetSwitch(FILES, enabled=False), ME, expecting=0) == StaleVersion(1)
    assert isinstance(await at.operator.execute(SetSwitch(FILES, enabled=False), ME, expecting=1), Policy)
    # The store may know of more than the board does.
    at.store.decide_elsewhere(replace(at.store.decided, version=7))
    assert await at.operator.execute(SetSwitch(FILES, enabled=True), ME, expecting=2) == StaleVersion(7)
    assert at.board.policy.version == 7
    assert [save.version for save in at.store.saves] == [1, 2]


async def test_a_command_gives_up_when_others_are_always_faster() -> None:
    class Contested(MemoryStore):
        async def load(self) -> PolicyDecisions:
            await super().load()
            found = self.decided
            self.decided = replace(found, version=found.version + 1)
            return found

    at = desk(Contested())
    at.store.decide_elsewhere(PolicyDecisions(1))
    done = await at.operator.execute(OFF, ME)
    assert isinstance(done, StaleVersion)
    assert at.store.saves == []


async def test_commands_at_once_are_all_kept_one_after_the_other() -> None:
    at = desk()
    names = [f"tool_{n}" for n in range(50)]
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(at.operator.execute, SetSwitch(ToolId(GITHUB, name), enabled=False), ME)
    assert at.board.policy.version == 50
    assert at.board.policy.decisions == at.store.decided
    assert {tool.name for tool in at.store.decided.switches if isinstance(tool, ToolId)} == set(names)
    assert [save.version for save in at.store.saves] == list(range(1, 51))


async def test_two_gateways_on_one_store_lose_no_command() -> None:
    store = MemoryStore()
    here, there = desk(store), desk(store)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for n, at in enumerate([here, there] * 5):
                tasks.start_soon(at.operator.execute, SetSwitch(ToolId(GITHUB, f"tool_{n}"), enabled=False), ME)
    assert len(store.decided.switches) == store.decided.version == 10
    await here.operator.reload()
    await there.operator.reload()
    assert here.board.policy == there.board.policy


@pytest.mark.behaviour("store.change_bell")
async def test_what_another_process_decided_is_taken_over() -> None:
    at = desk()
    at.store.decide_elsewhere(PolicyDecisions(4, switches={GITHUB: Switch(False, ME, NOW)}))
    await at.operator.reload()
    assert at.board.policy.decisions is at.store.decided


# A store that fails


async def test_a_save_that_fails_changes_nothing_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    class ReadOnly(MemoryStore):
        async def save(self, *args: object, **kwargs: object) -> StaleVersion:
            raise OSError("attempt to write a readonly database\n[SQL: INSERT …]\n[parameters: ('swordfish',)]")

    at = desk(ReadOnly())
    before = at.board.policy
    done = await at.operator.execute(OFF, ME)
    assert done == SaveFailure(
        "The store did not take this: attempt to write a readonly database. Nothing was changed. Try again."
    )
    assert isinstance(done, CommandRejection)
    assert at.board.policy is before
    assert [record.getMessage() for record in caplog.records] == ["The store did not take SetSwitch by me"]


async def test_while_the_store_is_away_a_command_ends_in_words_and_the_next_one_can_succeed() -> None:
    at = desk()
    before = at.board.policy
    at.store.go_away(ConnectionError("connection refused"))
    assert await at.operator.execute(OFF, ME) == SaveFailure(
        "The store does not answer: connection refused. It is not known whether this was saved; the board shows what "
        "was true before, and follows as soon as the store is back. See: pegboard doctor"
    )
    assert at.board.policy is before
    with anyio.fail_after(PATIENCE):
        await at.operator.store_uncertain.wait()
    at.store.come_back()
    assert isinstance(await at.operator.execute(OFF, ME), Policy)


async def test_a_save_whose_answer_was_lost_is_found_in_the_store() -> None:
    at = desk()
    at.store.loses_answers = True
    done = await at.operator.execute(OFF, ME)
    assert done is at.board.policy
    assert (
        at.board.policy.decisions == at.store.decided == PolicyDecisions(1, switches={GITHUB: Switch(False, ME, NOW)})
    )


async def test_a_store_that_hangs_holds_a_command_no_longer_than_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "STORE_TIMEOUT_S", 0)
    at = desk()
    at.store.hold = anyio.Event()
    with anyio.fail_after(PATIENCE):
        done = await at.operator.execute(OFF, ME)
    assert isinstance(done, SaveFailure)
    assert "no answer within 0 seconds" in done.why
    assert at.board.policy.version == 0


async def test_a_store_that_goes_away_in_a_lost_race_is_told() -> None:
    class Fading(MemoryStore):
        async def save(self, *args: object, **kwargs: object) -> StaleVersion:
            self.go_away(ConnectionError("connection refused"))
            return StaleVersion(3)

    at = desk(Fading())
    ended = await at.operator.execute(OFF, ME)
    assert isinstance(ended, SaveFailure)
    assert ended.why.endswith("connection refused. Nothing was changed. Try again.")
    assert at.board.policy.version == 0


async def test_whoever_leaves_during_a_save_does_not_part_the_board_from_the_store() -> None:
    at = desk()
    at.store.hold = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.operator.execute, OFF, ME)
            await at.store.asked.wait()
            tasks.cancel_scope.cancel()
            at.store.hold.set()
    assert (
        at.board.policy.decisions == at.store.decided == PolicyDecisions(1, switches={GITHUB: Switch(False, ME, NOW)})
    )
    with anyio.fail_after(PATIENCE):
        assert isinstance(await at.operator.execute(SetSwitch(GITHUB, enabled=True), ME), Policy)


async def test_whoever_leaves_while_waiting_for_their_turn_changes_nothing() -> None:
    at = desk()
    at.store.hold = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.operator.execute, OFF, ME)
            await at.store.asked.wait()
            with anyio.move_on_after(0):
                await at.operator.execute(SetSwitch(FILES, enabled=False), ME)
            at.store.hold.set()
    assert set(at.store.decided.switches) == {GITHUB}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("disk full"), "disk full."),
        (OSError("disk full.\nmore"), "disk full."),
        (OSError(""), "OSError('')."),
        (TimeoutError(), "no answer within 15 seconds."),
        (OSError("x" * 1000), "x" * 300 + "."),
    ],
)
def test_an_error_is_told_in_one_short_sentence(error: Exception, words: str) -> None:
    assert error_text(error) == words


# Redeclaring


async def test_another_declaration_leaves_what_people_decided() -> None:
    at = desk()
    await at.operator.execute(OFF, ME)
    assert await at.operator.apply_settings(declared(GITHUB)) == ()
    assert at.board.policy == Policy(declared(GITHUB), at.store.decided)
    assert len(at.store.saves) == 1


CLASH = (
    "'docs~notes' is declared at pegboard.yaml:7 and also installed by me. "
    "Rename it in the file, or run: pegboard servers remove docs~notes"
)


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
async def test_a_declaration_that_clashes_with_what_is_installed_touches_neither() -> None:
    at = desk()
    await at.operator.execute(ADD_NOTES, ME)
    before = at.board.policy
    assert await at.operator.apply_settings(declared(GITHUB, NOTES)) == (CLASH,)
    assert at.board.policy is before
    assert at.board.notices["clash docs~notes"].text == CLASH


async def test_a_declaration_that_clashed_is_taken_over_when_what_it_clashed_with_is_removed() -> None:
    at = desk()
    await at.operator.execute(ADD_NOTES, ME)
    await at.operator.apply_settings(declared(GITHUB, NOTES))
    await at.operator.execute(RemoveServer(NOTES), ME)
    assert at.board.policy.declared == declared(GITHUB, NOTES)
    assert dict(at.board.notices) == {}


async def test_a_declaration_that_waits_gives_way_to_the_next_one() -> None:
    at = desk()
    await at.operator.execute(ADD_NOTES, ME)
    await at.operator.apply_settings(declared(GITHUB, NOTES))
    assert await at.operator.apply_settings(declared(GITHUB)) == ()
    assert at.board.policy.declared == declared(GITHUB)
    assert dict(at.board.notices) == {}


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
async def test_a_clash_from_before_is_told_until_one_of_the_two_is_gone() -> None:
    store = MemoryStore(
        PolicyDecisions(
            1, servers={NOTES: server(NOTES, origin=PERSON)}, toolsets={NOTES.toolset: Toolset(NOTES.toolset, PERSON)}
        )
    )
    at = Desk(declared(NOTES), store)
    at.board.add_notice(Notice("configuration", "stays", NOW))
    assert at.board.notices["clash docs~notes"] == Notice("clash docs~notes", CLASH, NOW)
    at.clock.passes(60)
    await at.operator.execute(SetSwitch(NOTES, enabled=False), ME)
    assert at.board.notices["clash docs~notes"].since == NOW
    await at.operator.execute(RemoveServer(NOTES), ME)
    assert set(at.board.notices) == {"configuration"}
    assert set(at.board.policy.servers) == {NOTES}


async def test_a_clash_that_another_process_makes_is_told_when_it_is_heard() -> None:
    at = Desk(declared(NOTES))
    at.store.decide_elsewhere(PolicyDecisions(1, toolsets={ToolsetId("docs"): replace(toolset("docs"), origin=PERSON)}))
    await at.operator.reload()
    assert list(at.board.notices) == ["clash docs"]


async def test_a_declaration_and_a_command_at_once_are_both_kept() -> None:
    at = desk()
    at.store.hold = anyio.Event()
    moved = DeclaredSettings(servers={GITHUB: server(GITHUB, origin=DeclaredAt("pegboard.yaml", 99))})
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.operator.execute, OFF, ME)
            await at.store.asked.wait()
            tasks.start_soon(at.operator.apply_settings, moved)
            await anyio.wait_all_tasks_blocked()
            at.store.hold.set()
    assert at.board.policy == Policy(moved, PolicyDecisions(1, switches={GITHUB: Switch(False, ME, NOW)}))
