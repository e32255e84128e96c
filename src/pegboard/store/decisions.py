"""Switches, approvals, overrides, grants and confirmations as rows."""

import hashlib
from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.confirmation import ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import (
    BuiltinKey,
    PrincipalId,
    ServerId,
    ServerKey,
    SourceKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    is_id,
    parse_server_key,
    parse_tool_id,
)
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt, InstalledBy, Origin
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Approval, Switch, Switchable
from pegboard.store.text import (
    Row,
    check_members,
    check_texts,
    check_type,
    index_key,
    overflow_text,
    parse_instant,
    read_json,
    to_json_text,
)

# What a decision is about, as text: a tool, a pattern, a server or a toolset.


def kind_and_text(what: ToolId | Pattern | Switchable) -> tuple[str, str]:
    """The kind and the text. The text alone would not do: `dev:x` may be a tool or a pattern."""
    match what:
        case ToolId():
            return _TOOL_KINDS[type(what.source)], str(what)
        case Pattern():
            return "pattern", str(what)
        case ServerKey():
            return "server", str(what)
        case str():
            return "toolset", what
        case _:
            assert_never(what)


_TOOL_KINDS: Final[Mapping[type[SourceKey], str]] = {
    ServerKey: "mcp_tool",
    ToolsetKey: "toolset_tool",
    BuiltinKey: "builtin_tool",
}


SWITCHABLE_KINDS: Final = frozenset({*_TOOL_KINDS.values(), "server", "toolset"})


def target_of(kind: str, text: str) -> ToolId | Pattern | Switchable:
    match kind:
        case "mcp_tool":
            server, _, name = text.removeprefix("mcp:").partition(":")
            return ToolId(_server_key(server), _valid_name(name))
        case "toolset_tool":
            toolset, _, name = text.partition(":")
            return ToolId(ToolsetKey(valid_toolset(toolset)), _valid_name(name))
        case "builtin_tool":
            return ToolId(BuiltinKey(), _valid_name(text))
        case "pattern":
            scope, _, name = text.partition(":")
            return Pattern(_valid_name(scope), _valid_name(name))
        case "server":
            return _server_key(text)
        case "toolset":
            return valid_toolset(text)
        case _:
            raise ValueError(f"A row has the kind {kind!r}, which this Pegboard does not know.")


def _valid_name(text: str) -> str:
    if not text:
        raise ValueError("a row names a tool by an empty name")
    return text


def _server_key(text: str) -> ServerKey:
    toolset, _, server = text.partition("~")
    return valid_server(toolset, server)


def valid_toolset(text: object) -> ToolsetId:
    if not isinstance(text, str) or not is_id(text):
        raise ValueError("a row names a toolset by what is not a toolset id")
    return ToolsetId(text)


def valid_server(toolset: object, server: object) -> ServerKey:
    if not isinstance(server, str) or not is_id(server):
        raise ValueError("a row names a server by what is not a server id")
    return ServerKey(valid_toolset(toolset), ServerId(server))


def tool_of(kind: str, text: str) -> ToolId:
    found = target_of(kind, text)
    if not isinstance(found, ToolId):
        raise ValueError(f"a row is about a {kind} where only a tool can be meant")
    return found


def possible_targets(text: object) -> tuple[ToolId | ServerKey | ToolsetId, ...]:
    """All that a text can be about whose kind cannot be read."""
    if not isinstance(text, str):
        return ()
    found: list[ToolId | ServerKey | ToolsetId] = [each for each in (parse_tool_id(text),) if isinstance(each, ToolId)]
    found += [each for each in (parse_server_key(text),) if isinstance(each, ServerKey)]
    return (*found, *((ToolsetId(text),) if is_id(text) else ()))


# What an override says of single parameters, and whose word each of its fields is, to text and back.


def arguments_row(arguments: Mapping[str, ArgumentOverride] | None) -> str | None:
    return None if arguments is None else to_json_text({name: argument.members for name, argument in arguments.items()})


def arguments_of(text: str | None) -> Mapping[str, ArgumentOverride] | None:
    return (
        None
        if text is None
        else {name: _parse_argument(said) for name, said in check_type(read_json(text), dict).items()}
    )


def origins_row(origins: Mapping[str, Origin]) -> str | None:
    return to_json_text({name: _origin_members(origin) for name, origin in origins.items()}) if origins else None


def origins_of(text: str | None) -> Mapping[str, Origin]:
    return (
        {} if text is None else {name: _parse_origin(said) for name, said in check_type(read_json(text), dict).items()}
    )


def _parse_argument(said: Mapping[str, Json]) -> ArgumentOverride:
    if set(said) - {"pin", "default", "hide", "description"}:
        raise ValueError("an override says something of an argument that this Pegboard does not know")
    hide, description = check_type(said.get("hide"), bool, None), check_type(said.get("description"), str, None)
    return ArgumentOverride(
        pin=freeze_json(said["pin"]) if "pin" in said else None,
        hide=hide,
        default=freeze_json(said["default"]) if "default" in said else None,
        description=description,
    )


def _origin_members(origin: Origin) -> JsonObject:
    match origin:
        case DeclaredAt(file, line):
            return {"file": file, "line": line}
        case InstalledBy(by, at):
            return {"by": by, "at": at.isoformat()}
        case _:
            assert_never(origin)


def _parse_origin(said: Mapping[str, object]) -> Origin:
    match said:
        case {"file": str() as file, "line": int() as line}:
            return DeclaredAt(file, line)
        case {"by": str() as by, "at": str() as at}:
            return InstalledBy(PrincipalId(by), parse_instant(at))
        case _:
            raise ValueError("A row says of an override's origin what this Pegboard does not know.")


_BLOCK_PREFIX: Final = "blocked_"
"""Before the kind of a tool whose switch is a block. A Pegboard that knows no blocks does not read such a row for
another switch: it says that it must be upgraded."""

_MANIFEST_PREFIX: Final = "manifest_"
"""Before the kind of what a toolset's manifest says, beside which a person may say something of the same tool."""

OverrideKey: TypeAlias = tuple[ToolsetId, ToolId | Pattern, bool]
"""The last: whether it is the manifest's."""


def switch_row(what: Switchable, switch: Switch) -> Row:
    kind, text = kind_and_text(what)
    return {
        "target": index_key(text),
        "kind": f"{_BLOCK_PREFIX}{kind}" if switch.blocks else kind,
        "whole": overflow_text(text),
        "is_on": switch.is_on,
        "by": switch.by,
        "at": switch.at.isoformat(),
        "note": switch.note,
    }


def switch_of(row: Row) -> tuple[Switchable, Switch]:
    kind = str(row["kind"])
    what = target_of(kind.removeprefix(_BLOCK_PREFIX), key_text(row, "target"))
    if isinstance(what, Pattern):
        raise ValueError("a switch is about a pattern")
    on, is_block = row["is_on"], kind.startswith(_BLOCK_PREFIX)
    if is_block and on:
        raise ValueError("a tool is blocked and switched on at once")
    return what, Switch(on, PrincipalId(row["by"]), parse_instant(row["at"]), row["note"], is_block)


def approval_row(tool: ToolId, approval: Approval) -> Row:
    kind, text = kind_and_text(tool)
    return {
        "tool_id": index_key(text),
        "kind": kind,
        "whole": overflow_text(text),
        "spec": spec_row(approval.spec),
        "by": approval.by,
        "at": approval.at.isoformat(),
        "first_sight": approval.first_sight,
    }


def approval_of(row: Row, specs: "SpecCache | None" = None) -> tuple[ToolId, Approval]:
    tool = approval_tool(row)
    spec = spec_of(row["spec"]) if specs is None else specs.parse(row["spec"])
    return tool, Approval(spec, PrincipalId(row["by"]), parse_instant(row["at"]), row["first_sight"])


def approval_tool(row: Row) -> ToolId:
    return tool_of(row["kind"], key_text(row, "tool_id"))


class SpecCache:
    """The specs of one reading of the policy. The next reading takes those whose text is the same from here, with the
    fingerprints that were worked out meanwhile: of thousands, few change."""

    def __init__(self, before: "SpecCache | None" = None) -> None:
        self._previous = {} if before is None else before._current
        self._current: dict[bytes, ToolSpec] = {}

    def parse(self, text: str) -> ToolSpec:
        # By digest, because the texts are as large as the specs and nobody else needs them.
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        spec = self._current[digest] = self._previous.get(digest) or spec_of(text)
        return spec

    def drop_previous(self) -> "SpecCache":
        """Forget the reading before."""
        self._previous = {}
        return self


def spec_of(text: str) -> ToolSpec:
    said = check_members(
        read_json(text),
        name=(str,),
        title=(str, None),
        description=(str,),
        input_schema=(dict,),
        output_schema=(dict, None),
        annotations=(dict, None),
    )
    return ToolSpec(**said)


def spec_row(spec: ToolSpec) -> str:
    return to_json_text(spec.members)


def override_row(place: OverrideKey, placed: tuple[int, Override]) -> Row:
    (toolset, target, manifest), (order, override) = place, placed
    kind, text = kind_and_text(target)
    config = override.renderer_config
    return {
        "toolset_id": toolset,
        "tool_id": index_key(text),
        "kind": f"{_MANIFEST_PREFIX}{kind}" if manifest else kind,
        "whole": overflow_text(text),
        "place": order,
        "renderer": override.renderer,
        "renderer_config": None if config is None else to_json_text(dict(config)),
        "name_override": override.name_override,
        "description_override": override.description_override,
        "requires_confirmation": override.requires_confirmation,
        "enabled": override.enabled,
        "declared": override.is_declared,
        "arguments": arguments_row(override.arguments),
        "origins": origins_row(override.origins),
        "confirmation": None if override.confirmation is None else override.confirmation.value,
    }


def override_of(row: Row) -> tuple[OverrideKey, tuple[int, Override]]:
    toolset, target, manifest = override_place(row)
    config = row["renderer_config"]
    override = Override(
        toolset,
        target,
        row["renderer"],
        None if config is None else check_type(read_json(config), dict),
        row["name_override"],
        row["description_override"],
        row["requires_confirmation"],
        None if (mode := row["confirmation"]) is None else ConfirmationMode(mode),
        row["enabled"],
        arguments_of(row["arguments"]),
        row["declared"],
        origins_of(row["origins"]),
        manifest,
    )
    return (toolset, target, manifest), (row["place"], override)


def override_place(row: Row) -> OverrideKey:
    kind = str(row["kind"])
    target = target_of(kind.removeprefix(_MANIFEST_PREFIX), key_text(row, "tool_id"))
    if not isinstance(target, ToolId | Pattern):
        raise ValueError("an override is about neither a tool nor a pattern")
    return valid_toolset(row["toolset_id"]), target, kind.startswith(_MANIFEST_PREFIX)


def grant_row(principal: PrincipalId, toolsets: frozenset[ToolsetId]) -> Row:
    return {
        "principal": index_key(principal),
        "whole": overflow_text(principal),
        "toolsets": to_json_text(sorted(toolsets)),
    }


def grant_of(row: Row) -> tuple[PrincipalId, frozenset[ToolsetId]]:
    toolsets = check_texts(read_json(row["toolsets"]))
    return PrincipalId(key_text(row, "principal")), frozenset(map(valid_toolset, toolsets))


def confirmation_row(principal: PrincipalId, said: PrincipalConfirmation) -> Row:
    return {
        "principal": index_key(principal),
        "whole": overflow_text(principal),
        "interactive": said.interactive,
        "confirmation": None if said.mode is None else said.mode.value,
        "origins": origins_row(_confirmation_origins(said)),
    }


def _confirmation_origins(said: PrincipalConfirmation) -> dict[str, Origin]:
    both = {"interactive": said.interactive_at, "confirmation": said.mode_at}
    return {name: at for name, at in both.items() if at is not None}


def confirmation_of(row: Row) -> tuple[PrincipalId, PrincipalConfirmation]:
    mode, origins = row["confirmation"], origins_of(row["origins"])
    said = PrincipalConfirmation(
        row["interactive"],
        None if mode is None else ConfirmationMode(mode),
        origins.get("interactive"),
        origins.get("confirmation"),
    )
    return PrincipalId(key_text(row, "principal")), said


def key_text(row: Row, column: str) -> str:
    """The key, or beside it the whole text that was too long for one. The two must fit, or another thing is meant."""
    text = check_type(row[column] if row["whole"] is None else row["whole"], str)
    if index_key(text) != row[column]:
        raise ValueError(f"the columns {column!r} and 'whole' do not fit each other")
    return str(text)
