"""Two providers of one source, joined: what is shown, who is called, and how both are told."""

from collections.abc import Sequence
from datetime import UTC, datetime

import anyio
import pytest
from tests.providers.container.boxes import KEY, called

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ProviderAsleep,
    ProviderDown,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import ChangeCallback, ClientPeer, Progress
from pegboard.providers.composite import CompositeProvider

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOWN = ProviderDown(NOW, "needs podman or docker")


class Shelf:
    """A provider in this process whose tools answer with its name."""

    resources = None

    def __init__(self, name: str, health: Health, *tools: str) -> None:
        self.name, self.source = name, KEY
        self.told: list[str] = []
        self.health = health
        self._tools = tuple(Tool(ToolId(KEY, tool), ToolSpec(tool, description=name)) for tool in tools)

    def listing(self) -> Listing:
        return Listing(KEY, self.health, self._tools)

    async def run(self, ring: ChangeCallback) -> None:
        self.told.append("run")
        ring()
        await anyio.sleep_forever()

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        return ToolSuccess(self.name.encode())

    def restart(self) -> None:
        self.told.append("restart")

    def drain(self, why: str) -> None:
        self.told.append(why)

    def log(self) -> Sequence[str]:
        return (f"log of {self.name}",)


@pytest.mark.behaviour("containers.beside_functions")
@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (ProviderUp(NOW), DOWN, DOWN),
        (DOWN, ProviderAsleep(NOW), DOWN),
        (ProviderAsleep(NOW), ProviderUp(NOW), ProviderAsleep(NOW)),
        (ProviderStart(1, NOW), ProviderUp(NOW), ProviderStart(1, NOW)),
        (ProviderOff(), ProviderUp(NOW), ProviderOff()),
        (ProviderUp(NOW), ProviderUp(NOW), ProviderUp(NOW)),
    ],
)
def test_a_toolset_is_as_well_as_the_worse_of_its_parts(first: Health, second: Health, told: Health) -> None:
    assert CompositeProvider(Shelf("a", first), Shelf("b", second)).listing().health == told


@pytest.mark.anyio
@pytest.mark.behaviour("containers.beside_functions")
async def test_the_tools_of_both_are_shown_and_each_is_called_where_it_is() -> None:
    functions, commands = (
        Shelf("functions", ProviderUp(NOW), "add", "both"),
        Shelf("commands", ProviderUp(NOW), "both", "count"),
    )
    joined = CompositeProvider(functions, commands)
    shown = [(tool.id.name, tool.spec.description) for tool in joined.listing().tools]
    assert shown == [("add", "functions"), ("both", "functions"), ("count", "commands")]
    answers = [await joined.call(called(name, {})) for name in ("add", "both", "count", "gone")]
    assert answers == [
        ToolSuccess(b"functions"),
        ToolSuccess(b"functions"),
        ToolSuccess(b"commands"),
        ProviderFailure("demo has no tool 'gone' now. List the tools again", may_have_run=False),
    ]
    assert joined.log() == ("log of functions", "log of commands")


@pytest.mark.anyio
async def test_both_are_run_restarted_and_left_together() -> None:
    both = Shelf("functions", ProviderUp(NOW)), Shelf("commands", ProviderUp(NOW))
    joined = CompositeProvider(*both)
    rung: list[Health] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(joined.run, lambda: rung.append(joined.listing().health))
            await anyio.wait_all_tasks_blocked()
            joined.restart()
            joined.drain("was removed")
            tasks.cancel_scope.cancel()
    assert rung == [ProviderUp(NOW), ProviderUp(NOW)]
    assert [shelf.told for shelf in both] == [["run", "restart", "was removed"]] * 2
