"""What a manifest changes of its tools: what each tool says beside its entrypoint, and `tool_overrides` on top."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pegboard.config import override_keys
from pegboard.config.overriding import read_override
from pegboard.config.section import ConfigValues
from pegboard.config.telling import LocatedValue, ProblemCollector
from pegboard.config.tree import join_key
from pegboard.core.ids import BadId, ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey, parse_server_key
from pegboard.core.override import OVERRIDE_FIELDS, Override, parse_target
from pegboard.core.pattern import Pattern, is_pattern
from pegboard.core.reference import closest_names
from pegboard.core.renderers import config_problems
from pegboard.core.server import DeclaredAt

from . import keys
from .model import Manifest, ToolsFromLabel
from .shapes import RendererChoice

_MAX_NAMED: Final = 8


def apply_overrides(manifest: Manifest, values: ConfigValues, tell: ProblemCollector) -> Manifest:
    """The manifest with its overrides: those of single tools by id, then those by pattern in the order of the file."""
    found: dict[ToolId | Pattern, Override] = {}
    for entry in _entry_overrides(manifest, values):
        found[entry.target] = _merge_override(found.get(entry.target), entry)
    written: dict[ToolId | Pattern, int] = {}
    naming = _TargetResolver(
        manifest.id, frozenset(manifest.own_tools), manifest.server_keys, _knows_all_tools(manifest), tell
    )
    for said in values.value(keys.TOOL_OVERRIDES, ()):
        about = naming.resolve_target(said)
        if isinstance(about, BadId):
            continue
        if about in written:
            where = f"{str(about)!r} stands on line {written[about]} too."
            tell.add_warning(said.line, said.key, f"{where} What is said here lies on top. Keep one of them.")
        written[about] = said.line
        # The default renderer is what there is when nothing is said.
        told = {name: placed for name, placed in said.value.located_values.items() if placed.value is not None}
        own = {name: placed for name, placed in told.items() if name != keys.OVERRIDE_TARGET.name}
        if not own and len(told) < len(said.value.located_values):
            continue
        row = LocatedValue(ConfigValues(own, said.value.invalid_keys, said.value.line), said.key, said.line)
        found[about] = _merge_override(found.get(about), read_override(manifest.id, about, row, manifest.file, tell))
        _check_config(found[about], row, tell)
    exact = sorted((row for row in found.values() if isinstance(row.target, ToolId)), key=lambda row: str(row.target))
    patterned = (row for row in found.values() if isinstance(row.target, Pattern))
    return replace(manifest, overrides=(*exact, *patterned))


def _entry_overrides(manifest: Manifest, values: ConfigValues) -> Iterator[Override]:
    for said in values.value(keys.MCP_SERVERS, ()):
        confirm = said.value.get(keys.SERVER_CONFIRMATION)
        if confirm is not None:
            server = ServerKey(manifest.id, ServerId(said.value.value(keys.SERVER_ID, "")))
            yield _confirmation_override(manifest, Pattern(str(server), "*"), "requires_confirmation", confirm)
    containers = values.value(keys.CONTAINERS, ())
    commands = (entry for said in containers for entry in said.value.value(keys.CONTAINER_TOOLS, ()))
    for said in (*values.value(keys.TOOLS, ()), *commands):
        tool = ToolId(ToolsetKey(manifest.id), said.value.value(keys.TOOL_ID, ""))
        confirm, renderer = said.value.get(keys.REQUIRES_CONFIRMATION), said.value.get(keys.RENDERER)
        if confirm is not None:
            yield _confirmation_override(manifest, tool, "requires_confirmation", confirm)
        if renderer is not None and renderer.value.renderer is not None:
            yield _renderer_override(manifest, tool, renderer)


def _confirmation_override(
    manifest: Manifest, about: ToolId | Pattern, field: str, said: LocatedValue[bool]
) -> Override:
    origins = {field: DeclaredAt(manifest.file, said.line)}
    return Override(manifest.id, about, requires_confirmation=said.value, origins=origins)


def _renderer_override(manifest: Manifest, tool: ToolId, said: LocatedValue[RendererChoice]) -> Override:
    at = DeclaredAt(manifest.file, said.line)
    origins = {"renderer": at} if said.value.config is None else {"renderer": at, "renderer_config": at}
    renderer, config = said.value.renderer, said.value.config
    return Override(manifest.id, tool, renderer=renderer, renderer_config=config, origins=origins)


def _merge_override(below: Override | None, row: Override) -> Override:
    if below is None:
        return row
    # A configuration is one renderer's own: another renderer begins with none.
    if row.renderer is not None and row.renderer != below.renderer:
        below = replace(below, renderer_config=None)
    arguments = {**(below.arguments or {}), **(row.arguments or {})}
    chosen = {name: getattr(row if getattr(row, name) is not None else below, name) for name in OVERRIDE_FIELDS}
    merged = replace(row, **{**chosen, "arguments": arguments or None})
    origins = {**below.origins, **row.origins}
    kept = {*merged.fields_set, *(f"arguments.{name}" for name in arguments)}
    return replace(merged, origins={name: at for name, at in origins.items() if name in kept})


def _check_config(row: Override, said: LocatedValue[ConfigValues], tell: ProblemCollector) -> None:
    """Where the tool itself names the renderer; where the row does, it has been told."""
    config = said.value.get(override_keys.RENDERER_CONFIG)
    if config is None or said.value.get(override_keys.RENDERER) is not None or row.renderer is None:
        return
    for key, what in config_problems(row.renderer, config.value):
        tell.add_problem(config.line, join_key(config.key, key), what)


def _knows_all_tools(manifest: Manifest) -> bool:
    """Whether every tool that the toolset brings itself is known: an image's label is read only later."""
    return not any(isinstance(container.offers, ToolsFromLabel) for container in manifest.containers)


@dataclass(frozen=True)
class _TargetResolver:
    """What a `tool_id` means within one manifest, in which the ids of servers and most tools are known."""

    toolset: ToolsetId
    own_tools: frozenset[ToolId]
    servers: tuple[ServerKey, ...]
    knows_all: bool
    collector: ProblemCollector

    def resolve_target(self, row: LocatedValue[ConfigValues]) -> ToolId | Pattern | BadId:
        said = row.value.get(keys.OVERRIDE_TARGET)
        assert said is not None
        about = parse_target(said.value, self.toolset)
        match about:
            case BadId(_, why):
                self.collector.add_problem(said.line, said.key, f"{why}.")
            case Pattern():
                about = self._resolve_pattern(about, said)
            case ToolId(ServerKey() as key) if key not in self.servers:
                self._warn_of_server(key.server, said)
            case ToolId():
                pass
        return about

    def _resolve_pattern(self, pattern: Pattern, said: LocatedValue[str]) -> ToolId | Pattern:
        toolset, own = self.toolset, ToolsetKey(self.toolset)
        named = ":" in said.value.removeprefix("mcp:") or said.value.startswith("mcp:")
        scope = pattern.scope if named else toolset
        if is_pattern(scope):
            return pattern
        exact = not is_pattern(pattern.name)
        if scope == toolset and exact and ToolId(own, pattern.name) in self.own_tools:
            return ToolId(own, pattern.name)
        server = next((key for key in self.servers if scope in (key.server, str(key))), None)
        if server is not None and named:
            return ToolId(server, pattern.name) if exact else Pattern(str(server), pattern.name)
        if scope != toolset:
            self._warn_of_server(scope, said)
            return pattern
        if not exact or self.servers:
            return pattern
        self._warn_of_tool(pattern.name, said)
        return ToolId(own, pattern.name)

    def _warn_of_server(self, scope: str, said: LocatedValue[str]) -> None:
        known = [self.toolset, *(key.server for key in self.servers)]
        meant = parse_server_key(scope)
        near = closest_names(meant.server if isinstance(meant, ServerKey) else scope, known)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {_shorten_list(known)}."
        self.collector.add_warning(
            said.line, said.key, f"the toolset has no server {scope!r}, so that this fits nothing. {hint}"
        )

    def _warn_of_tool(self, name: str, said: LocatedValue[str]) -> None:
        if not self.knows_all:
            return
        known = sorted(tool.name for tool in self.own_tools)
        near = closest_names(name, known)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {_shorten_list(known)}."
        self.collector.add_warning(
            said.line, said.key, f"the toolset has no tool {name!r}, so that this fits nothing. {hint}"
        )


def _shorten_list(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}" or "none"
