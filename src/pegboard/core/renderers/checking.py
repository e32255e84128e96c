"""What is wrong with a renderer or its configuration, each told with what may stand there."""

from collections.abc import Iterator, Mapping

from pegboard.core.reference import closest_names
from pegboard.core.tool import Json

from .catalogue import DEFAULT_RENDERER, RENDERER_NAMES, RENDERERS, KeyType, RendererKey, find_renderer
from .interpolation import MAX_DEPTH, REFERENCE_ROOTS, malformed_references, roots_in


def renderer_problem(name: str) -> str | None:
    if name == DEFAULT_RENDERER or find_renderer(name) is not None:
        return None
    known = [*RENDERER_NAMES, *(alias for each in RENDERERS for alias in each.aliases), DEFAULT_RENDERER]
    near = closest_names(name, known)
    hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
    return f"there is no renderer {name[:64]!r}. {hint}There are: {', '.join(known)}."


def config_problems(name: str, config: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Each as the key and what is wrong with it; empty for a renderer that is not known, which is told by itself."""
    known = find_renderer(name)
    if known is None:
        return ()
    keys = {key.name: key for key in known.keys}
    return tuple((key, problem) for key, value in config.items() for problem in _problems(known.name, keys, key, value))


def _problems(name: str, keys: Mapping[str, RendererKey], key: str, value: Json) -> Iterator[str]:
    if key not in keys:
        near = closest_names(key, keys)
        hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
        yield f"the renderer {name} does not take this. {hint}It takes: {', '.join(keys)}."
        return
    if _nesting_depth(value) > MAX_DEPTH:
        yield f"this is nested more than {MAX_DEPTH} levels deep."
        return
    if value is not None and not _is_reference(value) and not is_valid_value(keys[key].type, value):
        yield f"this must be {keys[key].type.value}, or a reference such as $args.{key} or $return."
    for place in dict.fromkeys(malformed_references(value)):
        yield (
            f'{place[:64]} breaks off. A path goes on with .name, [0] or ["a name"]; for the sign itself leave a '
            f"blank before it."
        )
    for root in dict.fromkeys(roots_in(value)):
        if root not in REFERENCE_ROOTS and (near := closest_names(root, REFERENCE_ROOTS)):
            yield (
                f"${root[:64]} refers to nothing. Did you mean {' or '.join(f'${one}' for one in near)}? "
                f"For these characters themselves write $${root[:64]}."
            )


def is_valid_value(kind: KeyType, value: Json) -> bool:
    match kind:
        case KeyType.ANY:
            return True
        case KeyType.TEXT:
            return isinstance(value, str)
        case KeyType.FLAG:
            return isinstance(value, bool)
        case KeyType.PORT:
            return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535
        case KeyType.ADDRESS:
            return isinstance(value, str) and value.startswith(("http://", "https://"))
        case KeyType.FILE | KeyType.PATH:
            return isinstance(value, str) and is_inside(value)
        case KeyType.TEXTS:
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case KeyType.NUMBER:
            return isinstance(value, int) and not isinstance(value, bool)
        case KeyType.ROWS:
            return isinstance(value, list) and all(isinstance(one, dict | list) or _is_reference(one) for one in value)
        case KeyType.OBJECTS:
            return isinstance(value, list) and all(isinstance(one, dict) or _is_reference(one) for one in value)
        case KeyType.PAIRS:
            if isinstance(value, dict):
                return True
            return isinstance(value, list) and all(
                (isinstance(one, list) and len(one) == 2) or _is_reference(one) for one in value
            )


def _is_reference(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("$")


def is_inside(path: str, folder: str | None = None) -> bool:
    """Whether a path stays in the folder it is taken from, on every system. Where the folder is known, its own name may
    stand before it."""
    plain = path.replace("\\", "/")
    if folder and plain.startswith(whole := folder.replace("\\", "/").rstrip("/") + "/"):
        plain = plain[len(whole) :]
    parts = plain.split("/")
    return bool(plain) and ".." not in parts and parts[0][:1] not in ("", "~") and not {":", "\0"} & {*plain}


def _nesting_depth(value: Json) -> int:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH + 1:
        level = [inner for item in level for inner in _children(item)]
        depth += 1
    return depth - 1


def _children(item: Json) -> Iterator[Json]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list):
        yield from item
