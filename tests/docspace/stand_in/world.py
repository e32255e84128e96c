"""What one DocSpace holds for one credential: people, folders, rooms, files, the trash, and the work under way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Final

MY, TRASH, ROOMS, ARCHIVE = 2, 3, 4, 5
FOLDER_TYPES: Final = {MY: 5, TRASH: 3, ROOMS: 14, ARCHIVE: 20}
ROOM_FOLDER_TYPES: Final = {1: 15, 2: 16, 5: 19, 6: 22, 8: 28}
CONVERTIBLE: Final = {
    ".docx": [".pdf", ".txt", ".odt"],
    ".xlsx": [".csv", ".pdf"],
    ".pptx": [".pdf"],
    ".doc": [".docx", ".csv", ".txt"],
}
KEPT_OPERATIONS = 200


class Wrong(Exception):  # noqa: N818 - it is an answer: the API's own, with its status
    """What the API answers to a request that it does not do."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Person:
    id: str
    name: str
    email: str
    status: int = 1
    is_admin: bool = False


@dataclass
class Folder:
    id: int
    title: str
    parent: int
    room_type: int | None = None
    tags: list[str] = field(default_factory=list[str])
    access: dict[str, int] = field(default_factory=dict[str, int])
    """Of a room: who may do what, by the person's id."""


@dataclass
class File:
    id: int
    title: str
    folder: int
    content: bytes
    version: int = 1

    @property
    def extension(self) -> str:
        dot = self.title.rfind(".")
        return self.title[dot:] if dot > 0 else ""


@dataclass
class Operation:
    """Work that goes on after its request was answered. It comes to its end by being asked about."""

    id: str
    kind: int
    effect: Callable[["Operation"], None]
    polls: float
    error: str = ""
    asked: int = 0
    ended: bool = False
    url: str = ""

    @property
    def progress(self) -> int:
        if self.ended:
            return 100
        return 50 if self.polls == inf else int(100 * self.asked / self.polls)

    def ask(self) -> None:
        self.asked += 1
        if not self.ended and not self.error and self.asked >= self.polls:
            self.end()

    def end(self) -> None:
        self.ended = True
        self.effect(self)


@dataclass
class Session:
    """An upload under way."""

    folder: int
    name: str
    total: int
    received: bytearray = field(default_factory=bytearray)


@dataclass
class World:
    """Ids begin alike in each world, so that an answer from another one has the right id and the wrong words."""

    owner: Person
    people: dict[str, Person] = field(default_factory=dict[str, Person])
    folders: dict[int, Folder] = field(default_factory=dict[int, Folder])
    files: dict[int, File] = field(default_factory=dict[int, File])
    operations: dict[str, Operation] = field(default_factory=dict[str, Operation])
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    downloads: dict[str, bytes] = field(default_factory=dict[str, bytes])
    invited: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """The body of every change of a room's security."""
    forbidden: set[int] = field(default_factory=set[int])
    """Folders, rooms and files that this credential may not change."""
    polls: float = 2
    """How often an operation is asked about before it ends; infinite for one that never does by itself."""
    fails: list[str] = field(default_factory=list[str])
    """What the next operations fail with, one each."""
    downloads_at: str | None = None
    """Where finished downloads are said to lie, instead of here."""
    convertible: dict[str, list[str]] = field(
        default_factory=lambda: {key: list(to) for key, to in CONVERTIBLE.items()}
    )
    _numbers: Iterator[int] = field(default_factory=lambda: count(1000))

    def __post_init__(self) -> None:
        self.people[self.owner.id] = self.owner
        for id, title in ((MY, "My documents"), (TRASH, "Trash"), (ROOMS, "Rooms"), (ARCHIVE, "Archive")):
            self.folders.setdefault(id, Folder(id, title, 0))

    def number(self) -> int:
        return next(self._numbers)

    def folder(self, id: int | None, *, kind: str = "folder") -> Folder:
        found = None if id is None else self.folders.get(id)
        if found is None or (kind == "room" and found.room_type is None):
            raise Wrong(404, f"The required {kind} was not found")
        return found

    def file(self, id: int | None) -> File:
        found = None if id is None else self.files.get(id)
        if found is None:
            raise Wrong(404, "The required file was not found")
        return found

    def changing(self, *ids: int) -> None:
        if self.forbidden.intersection(ids):
            raise Wrong(403, "No rights")

    def make_folder(self, parent: int, title: str, room_type: int | None = None) -> Folder:
        self.changing(parent)
        made = Folder(self.number(), title, self.folder(parent).id, room_type)
        if room_type is not None:
            made.access[self.owner.id] = 9
        self.folders[made.id] = made
        return made

    def make_file(self, folder: int, title: str, content: bytes) -> File:
        """A name that is taken gets a number, as `createNewIfExist` asks for."""
        self.changing(folder)
        taken = {each.title for each in self.files_in(self.folder(folder).id)}
        stem, dot, extension = title.rpartition(".")
        free = next(
            name
            for number in count()
            if (name := title if not number else f"{stem} ({number}){dot}{extension}") not in taken
        )
        made = File(self.number(), free, folder, content)
        self.files[made.id] = made
        return made

    def files_in(self, folder: int) -> list[File]:
        return [each for each in self.files.values() if each.folder == folder]

    def folders_in(self, parent: int) -> list[Folder]:
        return [each for each in self.folders.values() if each.parent == parent]

    def root_of(self, id: int) -> int:
        while id in self.folders and self.folders[id].parent:
            id = self.folders[id].parent
        return id

    def start(self, kind: int, effect: Callable[[Operation], None]) -> Operation:
        begun = Operation(f"op-{self.number()}", kind, effect, self.polls, self.fails.pop(0) if self.fails else "")
        self.operations[begun.id] = begun
        for old in list(self.operations)[:-KEPT_OPERATIONS]:
            del self.operations[old]
        return begun

    def finish(self) -> None:
        """Everything that runs comes to its end when it is asked about next, however often that was to be."""
        for operation in self.operations.values():
            operation.polls = operation.asked + 1

    def move(self, files: list[int], folders: list[int], destination: int) -> None:
        for id in files:
            self.file(id).folder = destination
        for id in folders:
            self.folder(id).parent = destination

    def copy(self, files: list[int], folders: list[int], destination: int) -> None:
        for id in files:
            original = self.file(id)
            self.make_file(destination, original.title, original.content)
        for id in folders:
            original_folder = self.folder(id)
            into = self.make_folder(destination, original_folder.title)
            inside = [each.id for each in self.folders_in(id) if each.id != into.id]
            self.copy([each.id for each in self.files_in(id)], inside, into.id)
