"""A DocSpace for tests: a real web server on loopback that keeps state and answers in the recorded shapes.

    async with stand_in() as docspace:
        docspace.url                                  # http://127.0.0.1:…/
        docspace.worlds[ADA].files                    # what whoever comes with ADA's key has
        docspace.seen                                 # every request as it came
        docspace.faults.append(Fault(503, path="files/fileops", headers={"Retry-After": "0"}))
        docspace.worlds[ADA].polls = inf              # operations that never end by themselves

By itself, for a look: `python -m tests.docspace.stand_in`.
"""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .faults import Fault, Hold
from .server import Seen, StandIn, listening
from .world import ARCHIVE, MY, ROOMS, TRASH, File, Folder, Person, World, Wrong

ADA_KEY, BOB_KEY, PAT = "sk-ada", "sk-bob", "pat-ada"
USERNAME, PASSWORD = "ada@example.com", "p:ä"
ADA, BOB = f"Bearer {ADA_KEY}", f"Bearer {BOB_KEY}"
BASIC = "Basic " + base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()


def furnished(name: str) -> World:
    """A world with a little of everything. Every word in it tells whose it is; every id is the same in each."""
    lower = name.lower()
    owner = Person("11111111-1111-4111-8111-111111111111", name, f"{lower}@example.com")
    world = World(owner)
    friend = Person("22222222-2222-4222-8222-222222222222", f"Friend of {name}", f"friend@{lower}.example.com")
    world.people[friend.id] = friend
    for folder in (
        Folder(10, f"{name}'s plans", MY),
        Folder(12, f"{name}'s drafts", 10),
        Folder(801, f"{name}'s forms", ROOMS, 1, ["t"], {owner.id: 9}),
        Folder(802, f"{name}'s team", ROOMS, 2, [], {owner.id: 9, friend.id: 10}),
        Folder(806, f"{name}'s public room", ROOMS, 6, [], {owner.id: 9}),
    ):
        world.folders[folder.id] = folder
    text = f"{name} wrote this.\n".encode()
    for file in (
        File(101, f"{lower}.txt", 10, text),
        File(102, "thrown.txt", TRASH, text),
        File(103, f"{lower}.docx", 10, text),
        File(104, f"{lower}.xlsx", 10, f"name,{name}\n".encode()),
        File(106, f"{lower}.pptx", 10, text),
        File(107, f"{lower}.csv", 12, f"name,{name}\n".encode()),
        File(108, f"{lower}.zip", 12, b"PK\x03\x04"),
        File(109, "no extension", 12, text),
    ):
        world.files[file.id] = file
    return world


def opened_to_all() -> dict[str, World]:
    """Ada's by key, by token, by name and password; Bob's by his key."""
    ada = furnished("Ada")
    return {ADA: ada, PAT: ada, BASIC: ada, BOB: furnished("Bob")}


@asynccontextmanager
async def stand_in(
    worlds: dict[str, World] | None = None, *, port: int = 0, prefix: str = ""
) -> AsyncIterator[StandIn]:
    docspace = StandIn(opened_to_all() if worlds is None else worlds, prefix)
    async with listening(docspace, port) as url:
        docspace.url = url
        yield docspace


__all__ = [
    "ADA",
    "ADA_KEY",
    "ARCHIVE",
    "BASIC",
    "BOB",
    "BOB_KEY",
    "MY",
    "PASSWORD",
    "PAT",
    "ROOMS",
    "TRASH",
    "USERNAME",
    "Fault",
    "File",
    "Folder",
    "Hold",
    "Person",
    "Seen",
    "StandIn",
    "World",
    "Wrong",
    "furnished",
    "listening",
    "opened_to_all",
    "stand_in",
]
