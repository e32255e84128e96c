"""A process of its own that uses a store, to be run beside another one or to be killed.

    python -m tests.store.saver URL share NAME TIMES    saves so many grants, whoever else saves
    python -m tests.store.saver URL record NAME TIMES   records so many calls
    python -m tests.store.saver URL endless             saves one version after the other and records calls

What `endless` has done is told on standard output: `saved VERSION` once a save is acknowledged, and
`recorded NUMBER MICROSECONDS` once a call is recorded, with its time.
"""

import sys
from dataclasses import replace
from itertools import count

import anyio
from tests.core.boards import PERSON
from tests.core.imports import FETCH, ID, KIT, own, own_tool, server
from tests.store.calls import NOON, record
from tests.store.engines import now

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import PolicyDecisions, Switch
from pegboard.ports.stores import SavedVersion
from pegboard.store.call_records import to_microseconds
from pegboard.store.open import Store, open_store

DEV = ToolsetId("dev")


def version(number: int) -> PolicyDecisions:
    """Every table that an import writes tells the number, and two more, so that half a version would show."""
    switch = Switch(number % 2 == 0, LOCAL_PRINCIPAL, NOON, f"version {number}")
    mine = own(f"add{number}", commands=(f"grep{number}",), digest=f"{number:064}")
    said = Override(ID, own_tool(f"add{number}"), name_override=f"version {number}", from_manifest=True)
    file = ToolsetFile(f"tools/v{number}.py", FileKind.PYTHON, f"{number:064}", number)
    return PolicyDecisions(
        number,
        servers={KIT: mine, FETCH: server(FETCH, f"fetch{number}")},
        toolsets={ID: Toolset(ID, PERSON, version=str(number), user_mcp=False)},
        switches={DEV: switch},
        grants={PrincipalId(f"p{number}"): frozenset({DEV})},
        files={ID: (file,)},
        manifest_overrides=(said,),
    )


async def share(store: Store, name: str, times: int) -> None:
    for number in range(times):
        while True:
            before = await store.policy.load()
            grants = {**before.grants, PrincipalId(f"{name}{number}"): frozenset({DEV})}
            after = replace(before, version=before.version + 1, grants=grants)
            if isinstance(
                await store.policy.save(before, after, by=PrincipalId(name), what="share", at=now()), SavedVersion
            ):
                break


async def endless(store: Store) -> None:
    before = PolicyDecisions()
    for number in count(1):
        after = version(number)
        assert await store.policy.save(before, after, by=LOCAL_PRINCIPAL, what="endless", at=now()) == SavedVersion(
            number
        )
        print(f"saved {number}", flush=True)
        before = after
        at = now()
        store.audit.record(record(at=at, id=str(number)))
        print(f"recorded {number} {to_microseconds(at)}", flush=True)
        # Nobody decides without a pause, and calls are written between two decisions.
        await anyio.sleep(0.005)


async def record_many(store: Store, name: str, times: int) -> None:
    for number in range(times):
        store.audit.record(record(at=now(), id=f"{name}{number}"))
        if number % 50 == 0:
            await store.audit.flush()


async def main(*arguments: str) -> None:
    url, what, *rest = arguments
    async with open_store(url, clock=now) as store:
        if what == "share":
            await share(store, rest[0], int(rest[1]))
        elif what == "record":
            await record_many(store, rest[0], int(rest[1]))
        else:
            await endless(store)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
