"""References inside a schema: where they lead, and what is left over when one is taken away."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from .tool import Json, JsonObject

_REFS: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor", "$id")
_DEFINITIONS: Final = ("$defs", "definitions")


def pointer_step(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def resolve_ref(schema: JsonObject, ref: str) -> Json:
    """What a reference within the schema leads to; `None` for any other."""
    if ref == "#":
        return schema
    if not ref.startswith("#/"):
        return None
    found: Json = schema
    for part in ref[2:].split("/"):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        match found:
            case dict():
                found = found.get(name)
            case list() if name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            case _:
                return None
    return found


def refs_in(value: Json) -> Iterator[str]:
    """Without recursion: a server may nest as deep as it likes."""
    for member in _walk_objects(value):
        yield from (ref for key in _REFS if isinstance(ref := member.get(key), str))


def refs_outside(schema: JsonObject, name: str) -> Iterator[str]:
    """Every reference but those of this parameter itself."""
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            yield from refs_in({other: subschema for other, subschema in value.items() if other != name})
        else:
            yield from refs_in({key: value})


def has_anchors(value: Json) -> bool:
    return any(isinstance(member.get(key), str) for member in _walk_objects(value) for key in _ANCHORS)


def prune_definitions(shown: JsonObject, whole: JsonObject) -> JsonObject:
    """Without the definitions that only what was taken away had used. Whatever is not plainly so stays."""
    if not any(key in shown for key in _DEFINITIONS):
        return shown
    if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in refs_in(whole)):
        return shown
    before, now = _used_definitions(whole), _used_definitions(shown)
    rest = dict(shown)
    for key in _DEFINITIONS:
        definitions = shown.get(key)
        if isinstance(definitions, dict):
            kept = {
                name: value
                for name, value in definitions.items()
                if (place := f"#/{key}/{pointer_step(name)}") in now or place not in before
            }
            rest.pop(key) if not kept else rest.update({key: kept})
    return rest


def _used_definitions(schema: JsonObject) -> set[str]:
    """The definitions that are reached, by their pointers."""
    outside: JsonObject = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    waiting, used = [*refs_in(outside)], set[str]()
    while waiting:
        place = "/".join(waiting.pop().split("/")[:3])
        if place not in used:
            used.add(place)
            waiting += refs_in(resolve_ref(schema, place))
    return used


def _walk_objects(value: Json) -> Iterator[JsonObject]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
