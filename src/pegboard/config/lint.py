"""Warnings about settings that are valid but have no effect. They never stop anything."""

from collections.abc import Collection, Iterable, Iterator

from pegboard.config.declare import FileContext, server_key
from pegboard.config.keys import access, root
from pegboard.config.keys.access import ARGUMENTS, OPTIONAL, PIN
from pegboard.config.overrides import texts_in
from pegboard.config.schema.document import FileProblem, LocatedValue, UndeclaredCaller, UndeclaredToolset, join_key
from pegboard.config.schema.section import ConfigValues, OptionalName
from pegboard.core.commands.first_sight import servers_to_run
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerKey, ToolId
from pegboard.core.model.patterns import Pattern, is_pattern, parse_pattern
from pegboard.core.model.references import (
    ServerReference,
    ToolsetReference,
    closest_names,
    misspellings,
    parse_reference,
)
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.text import shell_word
from pegboard.core.policy.policy import TOOLSETS_SETTING, DeclaredSettings, Policy


def settings_warnings(values: ConfigValues, board: DeclaredSettings, place: FileContext) -> Iterator[FileProblem]:
    runs = servers_to_run(Policy(board))
    for id, said in values.value(root.SERVERS, {}).items():
        if server_key(id, said) in runs:
            for text in _texts(said.value):
                for missing in place.unresolved_references(text.value):
                    yield FileProblem(place.file, text.line, text.key, missing.why, depends_on_environment=True)
        names = said.value.get(root.ENABLED_TOOLS)
        if names is not None and [name.value for name in names.value] == ["all"]:
            yield FileProblem(
                place.file, names.line, names.key, "this allows one tool named 'all'. Remove it to allow all."
            )
    yield from _pin_warnings(values, place)
    yield from _misspelt_toolsets(values, board, place)


def find_undeclared_toolsets(
    values: ConfigValues, board: DeclaredSettings, place: FileContext
) -> Iterator[UndeclaredToolset]:
    """Toolsets and denied servers that the file names and does not have: in a selection, override or denial an error,
    elsewhere a warning.
    People may have installed them: the store knows."""
    known = {str(toolset) for toolset in board.toolsets} | {"builtin", "all"}
    near_to = known - {"builtin", "all"}
    for name in _needed_toolsets(values):
        if name.value not in known:
            near = closest_names(name.value, near_to)
            what = (
                f"unknown toolset {name.value!r}.{' ' + _did_you_mean(near) if near else ''} Correct it, install "
                "the toolset "
                f"first (pegboard servers add NAME --toolset {name.value}), or mark the entry as optional."
            )
            yield UndeclaredToolset(name.value, FileProblem(place.file, name.line, name.key, what), is_error=True)
    yield from _denied_scopes(values, board, place)
    yield from _override_scopes(board)
    yield from _toolsets_off(board)
    listed = [*values.value(root.GRANTS, {}).values()]
    listed += [
        toolsets
        for caller in values.value(root.PRINCIPALS, {}).values()
        if (toolsets := caller.value.get(access.PRINCIPAL_TOOLSETS)) is not None
    ]
    for name in (name for names in listed for name in names.value):
        if name.value not in known:
            near = closest_names(name.value, near_to)
            remedy = (
                _did_you_mean(near) or f"Correct it, or install it: pegboard servers add NAME --toolset {name.value}"
            )
            told = f"there is no toolset {name.value!r}. {remedy}"
            yield UndeclaredToolset(name.value, FileProblem(place.file, name.line, name.key, told))


def _needed_toolsets(values: ConfigValues) -> Iterator[LocatedValue[str]]:
    """Toolsets that the selection and the overrides name and that are not optional there."""
    selection = values.get(root.SELECTION)
    if selection is not None:
        yield from _required_names(selection.value.value(root.SELECTED_TOOLSETS, ()))
        for key in (root.SELECTED_TOOLS, root.UNSELECTED_TOOLS):
            for name in _required_names(selection.value.value(key, ())):
                match parse_reference(name.value):
                    case ToolsetReference(toolset):
                        yield LocatedValue(toolset, name.key, name.line)
                    case ServerReference(server) if key is root.SELECTED_TOOLS:
                        yield LocatedValue(server.toolset, name.key, name.line)
                    case _:
                        pass
    for id, rows in values.value(root.OVERRIDES, {}).items():
        if any(not row.value.value(OPTIONAL, False) for row in rows.value.values()):
            yield LocatedValue(id, rows.key, rows.line)


def _denied_scopes(values: ConfigValues, board: DeclaredSettings, place: FileContext) -> Iterator[UndeclaredToolset]:
    """Servers and toolsets before the names and patterns of denials: a misspelled one would leave its tools open."""
    scopes = {str(toolset) for toolset in board.toolsets} | {str(key) for key in board.servers}
    scopes |= {str(server.id) for server in board.servers.values()}
    for name, scope in _denial_scopes(values):
        if scope in scopes or scope == "builtin" or is_pattern(scope):
            continue
        hint = _did_you_mean(closest_names(scope, scopes))
        if scope == "toolset":
            hint = f"For all tools of a toolset write {name.value.strip().removeprefix('toolset:')}:* here."
        toolset, _, server = scope.rpartition("~")
        add = f"{server} --toolset {toolset}" if toolset else f"NAME --toolset {scope}"
        what = (
            f"unknown toolset or server {scope!r}.{' ' + hint if hint else ''} Correct it, install it first "
            f"(pegboard servers add {add}), or mark the entry as optional."
        )
        yield UndeclaredToolset(
            scope, FileProblem(place.file, name.line, name.key, what), is_error=True, may_be_server=True
        )


def _override_scopes(board: DeclaredSettings) -> Iterator[UndeclaredToolset]:
    """Servers and toolsets before the names and patterns of overrides that restrict. An override applies within its
    toolset alone, so with any other scope it restricts nothing."""
    for row in board.overrides:
        scope = str(row.target.source) if isinstance(row.target, ToolId) else row.target.scope
        fitting = Pattern(scope, "*").matches_source
        own = [key for key in board.servers if key.toolset == row.toolset]
        if row.is_optional or not row.restricts or row.toolset not in board.toolsets or is_pattern(scope):
            continue
        if scope == row.toolset or any(map(fitting, own)):
            continue
        others = sorted({str(key.toolset) for key in board.servers if fitting(key)})
        if others:
            hint = f"It is in toolset {' and '.join(map(repr, others))}: write the override under overrides.{others[0]}"
        else:
            hint = _did_you_mean(closest_names(scope, {str(key.server) for key in own if isinstance(key, ServerKey)}))
            hint = f"{hint} Correct it" if hint else "Correct it"
        at = next(iter(row.origins.values()), None)
        file, line = (at.file, at.line) if isinstance(at, DeclaredAt) else ("", 0)
        what = (
            f"toolset {row.toolset!r} has no server {scope!r}, so this restricts nothing. {hint}, install the server "
            "first, or mark the override as optional."
        )
        where = join_key(join_key("overrides", row.toolset), str(row.target))
        yield UndeclaredToolset(scope, FileProblem(file, line, where, what), is_error=True, within=row.toolset)


def _toolsets_off(board: DeclaredSettings) -> Iterator[UndeclaredToolset]:
    """Toolsets that are switched off and have no server: with nearly the id of another one, it is a misspelling that
    would leave the other one on."""
    used = {key.toolset for key in board.servers}
    for denial in Policy(board).exact_denials:
        id = denial.text
        if denial.setting == TOOLSETS_SETTING and (near := misspellings(id, used)):
            file, line = (denial.at.file, denial.at.line) if isinstance(denial.at, DeclaredAt) else ("", 0)
            what = (
                f"no server belongs to toolset {id!r}, so this switches nothing off. {_did_you_mean(near)} Correct "
                "it, remove "
                f"it, or install the toolset first (pegboard servers add NAME --toolset {id})."
            )
            yield UndeclaredToolset(id, FileProblem(file, line, f"toolsets.{id}", what), is_error=True, within=id)


def _denial_scopes(values: ConfigValues) -> Iterator[tuple[LocatedValue[str], str]]:
    """The entries of denials that are not optional and begin with a scope."""
    selection = values.get(root.SELECTION)
    disabled = () if selection is None else selection.value.value(root.UNSELECTED_TOOLS, ())
    for name in _required_names(disabled):
        text = name.value.strip()
        if ":" in text and not text.startswith("toolset:") and isinstance(scoped := parse_pattern(text), Pattern):
            yield name, scoped.scope
    for name in _required_names(values.value(root.DENY, ())):
        if ":" in name.value and isinstance(scoped := parse_pattern(name.value), Pattern):
            yield name, scoped.scope
    for said in values.value(root.SERVERS, {}).values():
        for name in _required_names(said.value.value(root.DISABLED_TOOLS, ())):
            # An exact one may be the tool's own name, which may have a colon in it. If no tool has it, that fails
            # closed when the server has listed its tools.
            if (
                ":" in name.value
                and isinstance(scoped := parse_pattern(name.value), Pattern)
                and is_pattern(scoped.name)
            ):
                yield name, scoped.scope


def _required_names(names: Iterable[LocatedValue[str]]) -> Iterator[LocatedValue[str]]:
    return (name for name in names if not isinstance(name.value, OptionalName))


def _pin_warnings(values: ConfigValues, place: FileContext) -> Iterator[FileProblem]:
    rows = (row for said in values.value(root.OVERRIDES, {}).values() for row in said.value.values())
    arguments = (one for row in rows for one in row.value.value(ARGUMENTS, {}).values())
    for argument in arguments:
        pin = argument.value.get(PIN)
        for text in () if pin is None else texts_in(pin.value):
            for missing in place.unresolved_references(text):
                assert pin is not None
                yield FileProblem(place.file, pin.line, pin.key, missing.why, depends_on_environment=True)


def find_undeclared_callers(values: ConfigValues, place: FileContext) -> Iterator[UndeclaredCaller]:
    """Grants to names that the file gives nobody. People may have made them tokens: the board knows. With principals, a
    name that nobody has is an error of its own."""
    if values.mentions(root.PRINCIPALS.name):
        return
    for who, toolsets in values.value(root.GRANTS, {}).items():
        if who != LOCAL_PRINCIPAL:
            told = (
                f"nobody is called {who!r}, neither under principals nor by a token, and so this limits nobody. Name "
                f"the caller under principals, make it a token (pegboard tokens make {shell_word(who) or 'NAME'} "
                "--scope call), or limit local."
            )
            yield UndeclaredCaller(who, FileProblem(place.file, toolsets.line, toolsets.key, told))


def _texts(values: ConfigValues) -> Iterator[LocatedValue[str]]:
    for key in (root.COMMAND, root.CWD, root.URL):
        if (text := values.get(key)) is not None:
            yield text
    yield from values.value(root.ARGS, ())
    yield from values.value(root.ENV, {}).values()
    yield from values.value(root.HEADERS, {}).values()
    oauth = values.get(root.OAUTH)
    if oauth is not None and oauth.value is not False:
        for key in (root.CLIENT_ID, root.CLIENT_SECRET, root.CLIENT_METADATA_URL):
            if (text := oauth.value.get(key)) is not None:
                yield text


def _misspelt_toolsets(values: ConfigValues, board: DeclaredSettings, place: FileContext) -> Iterator[FileProblem]:
    """Toolsets can come at run time, so an unknown one is told only when a declared one is nearly the same."""
    known = {str(server.toolset) for server in board.servers} | {"builtin"}
    refused = {doubt.toolset for doubt in _toolsets_off(board)}
    for id, said in values.value(root.TOOLSETS, {}).items():
        if id not in known | refused and (near := closest_names(id, known)):
            yield FileProblem(
                place.file, said.line, said.key, f"this file has no server of toolset {id!r}. {_did_you_mean(near)}"
            )


def _did_you_mean(near: Collection[str]) -> str:
    return f"Did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
