"""Installs, updates and removes a toolset in the policy."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from pegboard.core.commands.base import Command, DecisionSummary, count_text, forget_providers, reject_if_missing
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import (
    BadId,
    PrincipalId,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    is_id,
    parse_toolset_id,
    provider_title,
)
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import InstalledBy, Server, Trust, quarantine_server
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import OwnTools, ToolSpec
from pegboard.core.model.toolset import Toolset, ToolsetFile
from pegboard.core.overrides.model import EffectiveOverride, Override, OverrideIndex
from pegboard.core.policy.policy import Approval, Policy, PolicyDecisions

_LIST_COMMAND: Final = "See: pegboard toolset list"


@dataclass(frozen=True)
class InstallToolset(Command):
    """All of a toolset as its manifest has it, for the first time or again. What a caller installs, and not the
    operator, is put into quarantine."""

    toolset: Toolset
    servers: tuple[Server, ...] = ()
    """Its MCP servers, and as one more with the key of the toolset the tools that it brings itself."""
    overrides: tuple[Override, ...] = ()
    files: tuple[ToolsetFile, ...] = ()
    approve: frozenset[ToolId] = frozenset()
    """Tools of its own that whoever installs it has read as they are now."""
    clean_tools: frozenset[ToolId] | None = None
    """Tools of its own that do not look poisoned: where first sight is trusted, they are approved by it. `None` while
    nobody has looked."""

    @property
    def own(self) -> OwnTools | None:
        return next((server.connection for server in self.servers if isinstance(server.connection, OwnTools)), None)

    @property
    def specs(self) -> dict[ToolId, ToolSpec]:
        """What is known of its own tools before any of them runs."""
        return _own_specs(self.toolset.id, self.own)

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        """People's switches, approvals, trust and overrides stay for all that stays. What has left the manifest is gone
        with whatever was decided about it, but for people's overrides, which are told as misfits."""
        foreign = policy.is_agent(by)
        why = next(_explain_id_taken(policy, self), None) or next(_contradictions(self), None)
        if why is None and foreign:
            why = next(_forbidden_to_callers(policy, self), None)
        if why is not None:
            return CommandRejection(why)
        id, decided = self.toolset.id, policy.decisions
        again = id in decided.files
        former, origin = decided.toolsets.get(id), InstalledBy(by, at)
        servers = {
            server.key: _merge_server(
                quarantine_server(server) if foreign else server, decided.servers.get(server.key), origin
            )
            for server in self.servers
        }
        specs, mine = self.specs, ToolsetKey(id)
        kept = forget_providers(
            decided,
            lambda key: key.toolset == id and key not in servers,
            tools=lambda tool: tool.source == mine and tool not in specs,
        )
        unread = reworded_tools(decided, self)
        kept = replace(kept, approvals={tool: given for tool, given in kept.approvals.items() if tool not in unread})
        toolset = replace(self.toolset, user_mcp=False, origin=origin)
        if former is not None and replace(toolset, origin=former.origin, imported_from=former.imported_from) == former:
            toolset = replace(toolset, origin=former.origin)
        # Who imports a toolset for the first time looks at all of it. What it brings later, under whatever name, waits.
        later = [key for key in servers if again and key not in decided.servers]
        is_first = not again and mine in servers and _is_first_sight(servers[mine], kept)
        sound = self.clean_tools if is_first else None
        seen = {tool: Approval(specs[tool], by, at, first_sight=True) for tool in sorted(sound or ())}
        rows = tuple(replace(row, from_manifest=True, is_declared=False) for row in self.overrides if row.fields_set)
        return replace(
            kept,
            servers={**kept.servers, **servers},
            toolsets={**kept.toolsets, id: toolset},
            approvals={**seen, **kept.approvals, **_approve_as_read(kept, specs, self.approve, by, at)},
            first_seen={**kept.first_seen, **dict.fromkeys(later if sound is None else (mine,), at)},
            files={**kept.files, id: tuple(sorted(self.files, key=lambda file: file.path))},
            manifest_overrides=(*(row for row in kept.manifest_overrides if row.toolset != id), *rows),
        )

    def describe(self) -> DecisionSummary:
        servers = [server for server in self.servers if isinstance(server.key, ServerKey)]
        version = f" {quote_name(self.toolset.version)}" if self.toolset.version else ""
        parts = [count_text(len(self.specs), "tool") + " of its own"] if self.specs else []
        parts += [count_text(len(servers), "server")] if servers else []
        read = f"; {count_text(len(self.approve), 'tool')} approved as read" if self.approve else ""
        text = f"imported{version} with {' and '.join(parts) or 'no tools'}{read}"
        return DecisionSummary("toolset", self.toolset.id, text)


@dataclass(frozen=True, slots=True)
class RemoveToolset(Command):
    """With everything of it and everything that was decided about it."""

    id: ToolsetId

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        id, decided = self.id, policy.decisions
        if id not in decided.toolsets:
            if (declared := policy.declared.toolsets.get(id)) is not None:
                return CommandRejection(f"Toolset {id!r} is declared at {declared.origin}. Remove it there.")
            return CommandRejection(f"There is no toolset {id!r}. {_LIST_COMMAND}")
        kept = forget_providers(decided, lambda key: key.toolset == id, toolset=id)
        return replace(
            kept,
            toolsets={other: toolset for other, toolset in kept.toolsets.items() if other != id},
            overrides=tuple(row for row in kept.overrides if row.toolset != id),
            manifest_overrides=tuple(row for row in kept.manifest_overrides if row.toolset != id),
            # Whoever was granted it was granted this one, and not what somebody calls so later.
            grants={who: toolsets - {id} for who, toolsets in kept.grants.items()},
            files={other: files for other, files in kept.files.items() if other != id},
        )

    def describe(self) -> DecisionSummary:
        return DecisionSummary("toolset", self.id, "removed with its tools, servers, switches and approvals")


@dataclass(frozen=True, slots=True)
class RecordSecretChange(Command):
    """A secret of a toolset was set, or forgotten. What it is lies elsewhere: that the policy has another version is
    how whoever else runs the toolset hears of it."""

    toolset: ToolsetId
    name: str
    is_set: bool

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        return reject_if_missing(policy, self.toolset) or policy.decisions

    def describe(self) -> DecisionSummary:
        return DecisionSummary("secret", self.toolset, f"{'set' if self.is_set else 'forgot'} the secret {self.name}")


def reworded_tools(decided: PolicyDecisions, command: InstallToolset) -> frozenset[ToolId]:
    """Tools of a toolset that is imported again of which its manifest now says something else that a model reads or
    that opens them: whoever approved them approved them as they were shown."""
    id = command.toolset.id
    if id not in decided.files:
        return frozenset()
    before, after = OverrideIndex(decided.manifest_overrides), OverrideIndex(command.overrides)
    known = {tool for tool in (*decided.approvals, *command.specs) if tool.toolset == id}
    return frozenset(tool for tool in known if _changes_text(before.for_tool(tool), after.for_tool(tool)))


def tools_losing_confirmation(decided: PolicyDecisions, command: InstallToolset) -> frozenset[ToolId]:
    """Those of them whose calls a person was asked about before each, and would not be asked about any more."""
    before, after = OverrideIndex(decided.manifest_overrides), OverrideIndex(command.overrides)
    return frozenset(
        tool
        for tool in reworded_tools(decided, command)
        if before.for_tool(tool).requires_confirmation is True
        and after.for_tool(tool).requires_confirmation is not True
    )


def _changes_text(before: EffectiveOverride, after: EffectiveOverride) -> bool:
    return (
        any(
            getattr(before, name) != getattr(after, name)
            for name in ("name_override", "description_override", "arguments")
        )
        or (before.requires_confirmation is True and after.requires_confirmation is not True)
        or (before.confirmation is ConfirmationMode.TICKET and after.confirmation is not ConfirmationMode.TICKET)
        or (before.enabled is False and after.enabled is not False)
    )


def _merge_server(server: Server, former: Server | None, origin: InstalledBy) -> Server:
    """What is the same as before keeps the word of who brought it; a review that is due is still due."""
    if former is None:
        return replace(server, origin=origin)
    server = replace(server, quarantined=former.quarantined)
    same = replace(server, origin=former.origin)
    return former if same == former else replace(server, origin=origin)


def _is_first_sight(server: Server, decided: PolicyDecisions) -> bool:
    """Whether it was not seen before, and what is seen first is trusted."""
    if server.quarantined or decided.was_seen(server.key):
        return False
    return decided.trust.get(server.key, server.trust) is Trust.BASELINE


def _approve_as_read(
    decided: PolicyDecisions, specs: dict[ToolId, ToolSpec], approve: Iterable[ToolId], by: PrincipalId, at: datetime
) -> dict[ToolId, Approval]:
    """An approval that holds already is left as it is, with the name of who gave it."""
    known = decided.approvals
    fresh = [tool for tool in approve if tool not in known or known[tool].fingerprint != specs[tool].fingerprint]
    return {tool: Approval(specs[tool], by, at) for tool in sorted(fresh)}


def _explain_id_taken(policy: Policy, command: InstallToolset) -> Iterator[str]:
    """Why this id is another's."""
    id, decided = command.toolset.id, policy.decisions
    if isinstance(bad := parse_toolset_id(id), BadId):
        yield f"{bad.why}."
    if (declared := policy.declared.toolsets.get(id)) is not None:
        yield (
            f"Toolset {id!r} is declared at {declared.origin}, and a declared toolset is the operator's. "
            f"Give the one that you import another id, or take it out of the file."
        )
    there = decided.toolsets.get(id)
    if there is not None and id not in decided.files and not decided.unreadable_index.hides_files(id):
        keys = ", ".join(sorted(str(key) for key in decided.servers if key.toolset == id))
        yield (
            f"There is a toolset {id!r} already, {there.origin}, which was not imported: it holds {keys or 'nothing'}. "
            f"Give the one that you import another id, or remove that one: pegboard toolset remove {id}"
        )


def _contradictions(command: InstallToolset) -> Iterator[str]:
    """Why it contradicts itself."""
    id, specs = command.toolset.id, command.specs
    if not command.files:
        yield f"Toolset {id!r} has no files, not even a toolset.yaml. Import the folder, ZIP or file that has it."
    for server in command.servers:
        if server.key.toolset != id:
            yield f"{provider_title(server.key)} does not belong to toolset {id!r}. Name one and the same toolset."
        if isinstance(server.key, ToolsetKey) is not isinstance(server.connection, OwnTools):
            yield (
                f"{provider_title(server.key)} is reached in a way that is not its own: "
                f"{type(server.connection).__name__}."
            )
        if isinstance(server.key, ServerKey) and not is_id(server.key.server):
            yield f"{server.key.server!r} is not a server id. Choose another in toolset.yaml."
    yield from (
        f"Toolset {id!r} names {key} twice." for key in _duplicates(str(server.key) for server in command.servers)
    )
    if command.own is not None:
        yield from _own_contradictions(id, command.own)
    for row in command.overrides:
        if row.toolset != id or (isinstance(row.target, ToolId) and row.target.toolset != id):
            yield f"The override of {row.target} is not of toolset {id!r}: a manifest speaks of its own tools alone."
    yield from (
        f"Toolset {id!r} has two overrides of {target}. Make them one." for target in _duplicates(_targets(command))
    )
    yield from (f"Toolset {id!r} has two files {path!r}." for path in _duplicates(file.path for file in command.files))
    for tool_id in sorted((command.approve | (command.clean_tools or frozenset())) - specs.keys()):
        yield f"{tool_id} is not a tool that toolset {id!r} brings itself, so it cannot be approved with it."


def _own_contradictions(id: ToolsetId, own: OwnTools) -> Iterator[str]:
    names = [spec.name for spec in own.specs]
    yield from (f"Toolset {id!r} has two tools of its own called {name!r}. Rename one." for name in _duplicates(names))
    for tool in own.commands:
        if tool.container not in own.containers:
            yield f"Tool {tool.spec.name!r} of toolset {id!r} names container {tool.container!r}, which is not there."
    for name in (*(name for name in names if not name), *(name for name in own.containers if not is_id(name))):
        yield f"{name!r} cannot be the id of a tool or container of toolset {id!r}. Choose another in toolset.yaml."


def _targets(command: InstallToolset) -> Iterator[str]:
    return (f"{type(row.target).__name__} {row.target}" for row in command.overrides)


def _forbidden_to_callers(policy: Policy, command: InstallToolset) -> Iterator[str]:
    """A caller is an agent, or lends it a name: it replaces nothing, and nothing that it says is taken as read."""
    id = command.toolset.id
    if (there := policy.decisions.toolsets.get(id)) is not None:
        yield f"Toolset {id!r} is there already, {there.origin}, and only the operator imports it again."
    if command.approve:
        yield f"Only the operator approves tools of {id!r}."
    if command.overrides:
        yield f"Only the operator imports a toolset with overrides, as {id!r} has: they change what tools say."


def _duplicates(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _own_specs(id: ToolsetId, own: OwnTools | None) -> dict[ToolId, ToolSpec]:
    return {} if own is None else {ToolId(ToolsetKey(id), spec.name): spec for spec in own.specs}
