"""What is wrong with a renderer or its configuration, each told with what may stand there."""

from collections.abc import Iterator, Mapping

from pegboard.core.reference import closest
from pegboard.core.tool import Json

from .catalogue import CATALOGUE, DEFAULT_RENDERER, NAMES, Key, Kind, renderer
from .interpolation import DEEPEST, ROOTS, broken_off, roots_in


def renderer_problem(name: str) -> str | None:
    if name == DEFAULT_RENDERER or renderer(name) is not None:
        return None
    known = [*NAMES, *(alias for each in CATALOGUE for alias in each.aliases), DEFAULT_RENDERER]
    near = closest(name, known)
    hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
    return f"there is no renderer {name[:64]!r}. {hint}There are: {', '.join(known)}."


def config_problems(name: str, config: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Each as the key and what is wrong with it; empty for a renderer that is not known, which is told by itself."""
    known = renderer(name)
    if known is None:
        return ()
    keys = {key.name: key for key in known.keys}
    return tuple((key, problem) for key, value in config.items() for problem in _problems(known.name, keys, key, value))


def _problems(name: str, keys: Mapping[str, Key], key: str, value: Json) -> Iterator[str]:
    if key not in keys:
        near = closest(key, keys)
        hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
        yield f"the renderer {name} does not take this. {hint}It takes: {', '.join(keys)}."
        return
    if _depth(value) > DEEPEST:
        yield f"this is nested more than {DEEPEST} levels deep."
        return
    if value is not None and not _refers(value) and not is_fitting(keys[key].kind, value):
        yield f"this must be {keys[key].kind.value}, or a reference such as $args.{key} or $return."
    for place in dict.fromkeys(broken_off(value)):
        yield (
            f'{place[:64]} breaks off. A path goes on with .name, [0] or ["a name"]; for the sign itself leave a '
            f"blank before it."
        )
    for root in dict.fromkeys(roots_in(value)):
        if root not in ROOTS and (near := closest(root, ROOTS)):
            yield (
                f"${root[:64]} refers to nothing. Did you mean {' or '.join(f'${one}' for one in near)}? "
                f"For these characters themselves write $${root[:64]}."
            )


def is_fitting(kind: Kind, value: Json) -> bool:
    match kind:
        case Kind.ANY:
            return True
        case Kind.TEXT:
            return isinstance(value, str)
        case Kind.FLAG:
            return isinstance(value, bool)
        case Kind.PORT:
            return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535
        case Kind.ADDRESS:
            return isinstance(value, str) and value.startswith(("http://", "https://"))
        case Kind.FILE | Kind.PATH:
            return isinstance(value, str) and is_inside(value)
        case Kind.TEXTS:
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case Kind.NUMBER:
            return isinstance(value, int) and not isinstance(value, bool)
        case Kind.ROWS:
            return isinstance(value, list) and all(isinstance(one, dict | list) or _refers(one) for one in value)
        case Kind.OBJECTS:
            return isinstance(value, list) and all(isinstance(one, dict) or _refers(one) for one in value)
        case Kind.PAIRS:
            if isinstance(value, dict):
                return True
            return isinstance(value, list) and all(
                (isinstance(one, list) and len(one) == 2) or _refers(one) for one in value
            )


def _refers(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("$")


def is_inside(path: str, folder: str | None = None) -> bool:
    """Whether a path stays in the folder it is taken from, on every system. Where the folder is known, its own name may
    stand before it."""
    plain = path.replace("\\", "/")
    if folder and plain.startswith(whole := folder.replace("\\", "/").rstrip("/") + "/"):
        plain = plain[len(whole) :]
    parts = plain.split("/")
    return bool(plain) and ".." not in parts and parts[0][:1] not in ("", "~") and not {":", "\0"} & {*plain}


def _depth(value: Json) -> int:
    level, depth = [value], 0
    while level and depth <= DEEPEST + 1:
        level = [inner for item in level for inner in _inside(item)]
        depth += 1
    return depth - 1


def _inside(item: Json) -> Iterator[Json]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list):
        yield from item
