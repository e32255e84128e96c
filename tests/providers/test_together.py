"""Two providers of one source, joined: what is shown, who is called, and how both are told."""

from collections.abc import Sequence
from datetime import UTC, datetime

import anyio
import pytest
from tests.providers.containers.boxes import KEY, called

from pegboard.core.call import Admitted, Outcome, ProviderFailed, Returned
from pegboard.core.catalogue import Asleep, Down, Health, Listing, Off, Starting, Up
from pegboard.core.ids import ToolId
from pegboard.core.tool import Tool, ToolSpec
from pegboard.ports import Peer, Progress, Ring
from pegboard.providers.together import Together

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOWN = Down(NOW, "needs podman or docker")


class Shelf:
    """A provider in this process whose tools answer with its name."""

    library = None

    def __init__(self, name: str, health: Health, *tools: str) -> None:
        self.name, self.source = name, KEY
        self.told: list[str] = []
        self.health = health
        self._tools = tuple(Tool(ToolId(KEY, tool), ToolSpec(tool, description=name)) for tool in tools)

    def listing(self) -> Listing:
        return Listing(KEY, self.health, self._tools)

    async def run(self, ring: Ring) -> None:
        self.told.append("run")
        ring()
        await anyio.sleep_forever()

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        return Returned(self.name.encode())

    def restart(self) -> None:
        self.told.append("restart")

    def leave(self, why: str) -> None:
        self.told.append(why)

    def log(self) -> Sequence[str]:
        return (f"log of {self.name}",)


@pytest.mark.behaviour("containers.beside_functions")
@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (Up(NOW), DOWN, DOWN),
        (DOWN, Asleep(NOW), DOWN),
        (Asleep(NOW), Up(NOW), Asleep(NOW)),
        (Starting(1, NOW), Up(NOW), Starting(1, NOW)),
        (Off(), Up(NOW), Off()),
        (Up(NOW), Up(NOW), Up(NOW)),
    ],
)
def test_a_toolset_is_as_well_as_the_worse_of_its_parts(first: Health, second: Health, told: Health) -> None:
    assert Together(Shelf("a", first), Shelf("b", second)).listing().health == told


@pytest.mark.anyio
@pytest.mark.behaviour("containers.beside_functions")
async def test_the_tools_of_both_are_shown_and_each_is_called_where_it_is() -> None:
    functions, commands = Shelf("functions", Up(NOW), "add", "both"), Shelf("commands", Up(NOW), "both", "count")
    joined = Together(functions, commands)
    shown = [(tool.id.name, tool.spec.description) for tool in joined.listing().tools]
    assert shown == [("add", "functions"), ("both", "functions"), ("count", "commands")]
    answers = [await joined.call(called(name, {})) for name in ("add", "both", "count", "gone")]
    assert answers == [
        Returned(b"functions"),
        Returned(b"functions"),
        Returned(b"commands"),
        ProviderFailed("demo has no tool 'gone' now. List the tools again", may_have_run=False),
    ]
    assert joined.log() == ("log of functions", "log of commands")


@pytest.mark.anyio
async def test_both_are_run_restarted_and_left_together() -> None:
    both = Shelf("functions", Up(NOW)), Shelf("commands", Up(NOW))
    joined = Together(*both)
    rung: list[Health] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(joined.run, lambda: rung.append(joined.listing().health))
            await anyio.wait_all_tasks_blocked()
            joined.restart()
            joined.leave("was removed")
            tasks.cancel_scope.cancel()
    assert rung == [Up(NOW), Up(NOW)]
    assert [shelf.told for shelf in both] == [["run", "restart", "was removed"]] * 2
