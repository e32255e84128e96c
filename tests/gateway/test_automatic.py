"""The search before the first turn on a real board: it finds what is open to its view, and opens nothing."""

from dataclasses import replace
from functools import partial

import pytest
from tests.surfaces.mcp.workshop import DECLARED, HERE, key, open_workshop

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.settings import PinnedEntry, PresentationSettings
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.prompts.model import Model

pytestmark = pytest.mark.anyio
CREATE_FILE, CREATE_FOLDER = ToolId(key("files"), "create_file"), ToolId(key("folders"), "create_folder")


@pytest.mark.behaviour("deferred.automatic", "autosearch.uses_the_users_query")
async def test_what_the_user_says_finds_the_tools_that_fit_and_no_locked_one() -> None:
    async with open_workshop() as workshop:
        gateway = workshop.gateway
        found = await gateway.prompts.automatic_search(View(), "Please create a file and a folder", Model(3))
        assert {*found.found_tools.ids} == {CREATE_FILE, CREATE_FOLDER}
        off = await gateway.operator.execute(SetSwitch(CREATE_FOLDER, False), LOCAL_PRINCIPAL)
        assert isinstance(off, Policy)
        again = await gateway.prompts.automatic_search(View(), "Please create a file and a folder", Model(3))
        assert CREATE_FILE in again.found_tools.ids
        assert not any("create_folder" in str(decision) for decision in again.decisions)
        vault = await gateway.prompts.automatic_search(View(), "open the vault", Model(70))
        assert not any("vault" in str(decision) for decision in vault.decisions)


@pytest.mark.behaviour("deferred.automatic")
async def test_a_narrowed_view_finds_nothing_outside_it() -> None:
    async with open_workshop() as workshop:
        view = View().narrow(Selection(disabled=("toolset:folders",)))
        found = await workshop.gateway.prompts.automatic_search(view, "create a folder", Model(70))
    assert CREATE_FOLDER not in found.found_tools.ids


@pytest.mark.behaviour("deferred.automatic")
async def test_tools_that_are_shown_anyway_take_nobodys_place() -> None:
    always = PresentationSettings(
        always_visible=(PinnedEntry("files:create_file", HERE), PinnedEntry(str(CREATE_FOLDER), HERE))
    )
    async with open_workshop(replace(DECLARED, presentation=always)) as workshop:
        said = "create a file, create a folder"
        found = await workshop.gateway.prompts.automatic_search(View(), said, Model())
    assert len(found.found_tools.ids) == 2
    assert {CREATE_FILE, CREATE_FOLDER}.isdisjoint(found.found_tools.ids)


@pytest.mark.behaviour("deferred.automatic")
@pytest.mark.parametrize(
    ("said", "why_not", "why"),
    [
        ("create a file", "it is not among prompts.builtins", "it is not among prompts.builtins"),
        ("", None, "the user has said nothing to search by"),
        (" \n\t ", None, "the user has said nothing to search by"),
    ],
)
async def test_nothing_is_searched_without_reason(said: str, why_not: str | None, why: str) -> None:
    known = MaterializedTools(((CREATE_FILE,),))
    async with open_workshop() as workshop:
        found = await workshop.gateway.prompts.automatic_search(View(), said, Model(8), found=known, why_not=why_not)
    assert found.found_tools == known
    assert [decision.why for decision in found.decisions] == [why]


@pytest.mark.behaviour("deferred.automatic")
async def test_where_no_tool_is_deferred_nothing_is_searched() -> None:
    async with open_workshop(selection=Selection(disabled=("*",))) as workshop:
        found = await workshop.gateway.prompts.automatic_search(View(), "create a file", Model(8))
    assert [decision.why for decision in found.decisions] == ["no tool is deferred: whatever there is, is shown"]


@pytest.mark.behaviour("deferred.automatic")
async def test_a_user_who_pastes_a_book_is_answered_by_its_beginning() -> None:
    async with open_workshop() as workshop:
        found = await workshop.gateway.prompts.automatic_search(View(), "create a file \U0001f4da" * 100_000, Model(8))
    assert CREATE_FILE in found.found_tools.ids


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_what_the_user_said_before_is_searched_again_while_places_are_free() -> None:
    async with open_workshop() as workshop:
        gateway, model = workshop.gateway, Model(13)
        first = (await gateway.prompts.automatic_search(View(), "create a file", model)).found_tools.ids
        again = (
            await gateway.prompts.automatic_search(View(), "yes please", model, earlier=["create a file"])
        ).found_tools.ids
        assert (again, len(again) > 2) == (first, True)
        mixed = await gateway.prompts.automatic_search(
            View(), "add two numbers", model, earlier=["yes please", "create a file"]
        )
        assert (mixed.found_tools.ids[0].name, mixed.found_tools.ids[1]) == ("add", CREATE_FILE)
        assert len(mixed.found_tools.ids) == 5
        off = await gateway.operator.execute(SetSwitch(CREATE_FILE, False), LOCAL_PRINCIPAL)
        assert isinstance(off, Policy)
        called = [str(CREATE_FILE), "create_folder", "no_such_tool"]
        locked = await gateway.prompts.automatic_search(View(), " ", Model(3), earlier=["create a file"], called=called)
        assert CREATE_FILE not in locked.found_tools.ids
        assert (CREATE_FOLDER in locked.found_tools.ids, len(locked.found_tools.ids)) == (True, 2)


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_only_the_latest_distinct_messages_are_searched_again() -> None:
    async with open_workshop() as workshop:
        search = partial(workshop.gateway.prompts.automatic_search, View(), "yes", Model(13))
        near = await search(earlier=[*["yes", "ok", " "] * 1000, *("go on", "and now?", "do it"), "create a file"])
        assert CREATE_FILE in near.found_tools.ids
        far = await search(earlier=[*("ok", "go on", "and now?", "do it", "please"), "create a file"])
        assert far.found_tools.ids == ()
