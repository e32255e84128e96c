"""The API's rooms and who may enter them, and its people."""

from typing import Any

from .asking import Ask, Page, Reply, paged, route
from .files import content_of
from .shapes import folder_told, operation_told, person_told, shares_told
from .world import ARCHIVE, ROOM_FOLDER_TYPES, ROOMS, Folder, Person, Wrong

ARCHIVING = 9


def _make_room(ask: Ask) -> Reply:
    type = ask.body.get("roomType") if isinstance(ask.body, dict) else None
    if type not in ROOM_FOLDER_TYPES:
        raise Wrong(400, f"The value {type!r} is not valid for roomType")
    return folder_told(ask.world, ask.world.make_folder(ROOMS, ask.text("title"), type))


def _rooms(ask: Ask) -> Reply:
    archived = ask.one("searchArea") == "Archive"
    where = ask.world.folder(ARCHIVE if archived else ROOMS)
    types = ask.many("type")
    rooms = [each for each in ask.world.folders_in(where.id) if not types or str(each.room_type) in types]
    return content_of(ask, where, rooms)


def _room(ask: Ask) -> Folder:
    return ask.world.folder(ask.id(), kind="room")


def _change_room(ask: Ask) -> Reply:
    room = _room(ask)
    ask.world.changing(room.id)
    if isinstance(ask.body, dict) and ask.body.get("title"):
        room.title = ask.text("title")
    return folder_told(ask.world, room)


def _archive(ask: Ask) -> Reply:
    """One operation, not a list of them: so was it recorded."""
    room = _room(ask)
    ask.world.changing(room.id)
    return operation_told(ask.world.start(ARCHIVING, lambda _: ask.world.move([], [room.id], ARCHIVE)))


def _shares(ask: Ask) -> Reply:
    words = (ask.one("filterValue") or "").casefold()
    told = [each for each in shares_told(ask.world, _room(ask)) if words in each["sharedTo"]["displayName"].casefold()]
    return Page(paged(ask, told), len(told))


def _share(ask: Ask) -> Reply:
    room, world = _room(ask), ask.world
    world.changing(room.id)
    body: Any = ask.body if isinstance(ask.body, dict) else {}
    world.invited.append(body)
    for invitation in body.get("invitations", []):
        person = _invited(ask, invitation)
        access = invitation.get("access", 0)
        if access:
            room.access[person.id] = access
        else:
            room.access.pop(person.id, None)
    return {"members": shares_told(world, room), "warning": ""}


def _invited(ask: Ask, invitation: dict[str, Any]) -> Person:
    """Whoever is invited by an address that nobody has is a new person, who has not answered yet."""
    people = ask.world.people
    if (id := invitation.get("id")) is not None:
        if id not in people:
            raise Wrong(404, "The required user was not found")
        return people[id]
    email = invitation["email"]
    known = next((each for each in people.values() if each.email == email), None)
    if known is not None:
        return known
    id = f"{ask.world.number():08d}-0000-4000-8000-000000000000"
    people[id] = Person(id, email.partition("@")[0], email, status=4)
    return people[id]


def _people(ask: Ask) -> Reply:
    words = (ask.one("filterValue") or "").casefold()
    separator = ask.one("filterSeparator")
    wanted = words.split(separator) if separator else [words]
    found = [
        each
        for each in ask.world.people.values()
        if any(word in each.name.casefold() or word in each.email.casefold() for word in wanted)
    ]
    if ask.one("sortBy"):
        found.sort(key=lambda each: each.name)
    if ask.one("sortOrder") == "1":
        found.reverse()
    return Page([person_told(each, ask.world.owner) for each in paged(ask, found)], len(found))


ROUTES = (
    route("POST", "files/rooms", _make_room),
    route("GET", "files/rooms", _rooms),
    route("GET", "files/rooms/{}", lambda ask: folder_told(ask.world, _room(ask))),
    route("PUT", "files/rooms/{}", _change_room),
    route("PUT", "files/rooms/{}/archive", _archive),
    route("GET", "files/rooms/{}/share", _shares),
    route("PUT", "files/rooms/{}/share", _share),
    route("GET", "people/filter", _people),
    route("GET", "people/@self", lambda ask: person_told(ask.world.owner, ask.world.owner)),
)
