"""Finds and reads the server list of each client. Paths and environment are passed in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pegboard.config.clients.entry import ClientListReader
from pegboard.config.clients.placeholders import ClientApp, ClientServerList, PlaceholderTranslator, PromptedInput
from pegboard.config.paths import decode_text, read_bytes
from pegboard.config.schema.document import (
    FileProblem,
    ListNode,
    MapNode,
    Node,
    ParsedFile,
    ScalarKind,
    ScalarNode,
    join_key,
)
from pegboard.config.schema.parse import parse_json, parse_yaml
from pegboard.core.model.server import Server

MAX_LIST_BYTES: Final = 50_000_000
"""A client may keep its whole history beside its list."""


@dataclass(frozen=True)
class _ClientListFile:
    client: ClientApp
    path: Path
    folder: Path | None = None
    """The project it belongs to; `None` for a list of the user."""


def find_client_lists(home: Path, cwd: Path, platform: str, environ: Mapping[str, str]) -> tuple[ClientServerList, ...]:
    """Every list that is there. `platform` is as `sys.platform` says it."""
    there = {one.path: one for one in reversed([*_candidate_files(home, cwd, platform, environ)]) if one.path.is_file()}
    return tuple(_load_list(one, home, platform, cwd) for one in reversed(there.values()))


def read_list(path: Path, home: Path, platform: str, client: ClientApp | None = None) -> ClientServerList:
    """The list in a file that a person named, with every project in it. Its name can tell whose it is."""
    found = _load_list(_ClientListFile(client or _client_by_name(path), path, _project_of(path, home)), home, platform)
    if found.servers or found.problems:
        return found
    what = "no servers are listed in it, neither under mcpServers nor under servers. Is it the right file?"
    return replace(found, problems=(FileProblem(str(path), 0, "", what),))


def _candidate_files(home: Path, cwd: Path, platform: str, environ: Mapping[str, str]) -> Iterator[_ClientListFile]:
    roaming = _application_folder(home, platform, environ)
    yield _ClientListFile(ClientApp.CLAUDE_DESKTOP, roaming / "Claude" / "claude_desktop_config.json")
    claude = Path(environ["CLAUDE_CONFIG_DIR"]) if environ.get("CLAUDE_CONFIG_DIR") else home
    yield _ClientListFile(ClientApp.CLAUDE_CODE, claude / ".claude.json")
    yield _ClientListFile(ClientApp.CLAUDE_CODE, cwd / ".mcp.json", cwd)
    yield _ClientListFile(ClientApp.CURSOR, home / ".cursor" / "mcp.json")
    yield _ClientListFile(ClientApp.CURSOR, cwd / ".cursor" / "mcp.json", cwd)
    for edition in ("Code", "Code - Insiders"):
        yield _ClientListFile(ClientApp.VS_CODE, roaming / edition / "User" / "mcp.json")
        yield _ClientListFile(ClientApp.VS_CODE, roaming / edition / "User" / "settings.json")
    yield _ClientListFile(ClientApp.VS_CODE, cwd / ".vscode" / "mcp.json", cwd)
    yield _ClientListFile(ClientApp.WINDSURF, home / ".codeium" / "windsurf" / "mcp_config.json")


def _application_folder(home: Path, platform: str, environ: Mapping[str, str]) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environ["APPDATA"]) if environ.get("APPDATA") else home / "AppData" / "Roaming"
    return Path(environ["XDG_CONFIG_HOME"]) if environ.get("XDG_CONFIG_HOME") else home / ".config"


def _client_by_name(path: Path) -> ClientApp:
    match path.parent.name, path.name:
        case _, "claude_desktop_config.json":
            return ClientApp.CLAUDE_DESKTOP
        case _, ".claude.json" | ".mcp.json":
            return ClientApp.CLAUDE_CODE
        case ".cursor", "mcp.json":
            return ClientApp.CURSOR
        case ((".vscode" | "User"), ("mcp.json" | "settings.json")):
            return ClientApp.VS_CODE
        case _, "mcp_config.json":
            return ClientApp.WINDSURF
        case _:
            return ClientApp.UNKNOWN


def _project_of(path: Path, home: Path) -> Path | None:
    place = path.absolute()
    if place.name == ".mcp.json":
        return place.parent
    if place.parent.name in (".cursor", ".vscode") and place.parent.parent != home:
        return place.parent.parent
    return None


def _load_list(one: _ClientListFile, home: Path, platform: str, cwd: Path | None = None) -> ClientServerList:
    """Of the projects in it only the one `cwd` is in, or all when there is none."""
    file = str(one.path)
    content = read_bytes(one.path, MAX_LIST_BYTES)
    text = content if isinstance(content, FileProblem) else decode_text(content, file)
    if isinstance(text, FileProblem):
        return ClientServerList(one.client, one.path, (), (text,))
    return _collect_servers(one, _parse_text(text, one.path), home, platform, cwd)


def read_tree(parsed: ParsedFile, name: str, home: Path, platform: str) -> ClientServerList:
    """The same of a list that stands in no file of a client. `name` stands for the file in what is told of it."""
    return _collect_servers(_ClientListFile(ClientApp.UNKNOWN, Path(name)), parsed, home, platform)


def _collect_servers(
    one: _ClientListFile, parsed: ParsedFile, home: Path, platform: str, cwd: Path | None = None
) -> ClientServerList:
    file = str(one.path)
    problems = [*parsed.problems]
    servers: list[Server] = []
    keys: list[str] = []
    if isinstance(parsed.root, MapNode):
        for reading, node, at in _sections(parsed.root, one, home, platform, cwd):
            servers += reading.servers(node, at)
            problems += reading.problems
            keys += reading.keys
    elif parsed.root is not None:
        problems.append(FileProblem(file, parsed.root.line, "", "this is not a list of servers. Nothing was taken."))
    return ClientServerList(one.client, one.path, tuple(servers), tuple(problems), tuple(keys))


def _parse_text(text: str, path: Path) -> ParsedFile:
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    return parse_yaml(text, str(path)) if is_yaml else parse_json(text, str(path))


def _sections(
    root: MapNode, one: _ClientListFile, home: Path, platform: str, cwd: Path | None
) -> Iterator[tuple[ClientListReader, Node | None, str]]:
    """Each map of servers in the file, and how its words are meant."""
    windows = platform == "win32"

    def reader_for(
        folder: Path | None, inputs: Node | None = None, off: frozenset[str] = frozenset()
    ) -> ClientListReader:
        return ClientListReader(
            str(one.path), PlaceholderTranslator(one.client, home, folder, _inputs(inputs), windows), off
        )

    is_settings = one.client is ClientApp.VS_CODE and one.path.name == "settings.json"
    if not is_settings:
        yield reader_for(one.folder), root.get("mcpServers"), "mcpServers"
        yield reader_for(one.folder, root.get("inputs")), root.get("servers"), "servers"
    nested = root.get("mcp")
    if isinstance(nested, MapNode):
        yield reader_for(one.folder, nested.get("inputs")), nested.get("servers"), "mcp.servers"
    yield reader_for(one.folder, root.get("mcp.inputs")), root.get("mcp.servers"), "mcp.servers"
    projects = root.get("projects")
    if one.client is ClientApp.CLAUDE_CODE and isinstance(projects, MapNode):
        here = _project_around(cwd, projects)
        others: dict[str, int] = {}
        for project in projects.entries:
            if not isinstance(project.value, MapNode):
                continue
            if cwd is None or project.key == here:
                off = _names(project.value.get("disabledMcpServers"))
                at = join_key(join_key("projects", project.key), "mcpServers")
                yield reader_for(Path(project.key), None, off), project.value.get("mcpServers"), at
            elif count := _server_count(project.value):
                others[project.key] = count
        if others:
            left = reader_for(None)
            left.add_problem(projects.line, "projects", _left_out_message(others))
            yield left, None, "projects"


def _project_around(cwd: Path | None, projects: MapNode) -> str | None:
    """The nearest one with servers: a client notes every folder it was ever started in."""
    around = () if cwd is None else (cwd, *cwd.parents)
    keys = {
        Path(one.key): one.key
        for one in projects.entries
        if isinstance(one.value, MapNode) and _server_count(one.value)
    }
    return next((keys[folder] for folder in around if folder in keys), None)


def _server_count(project: MapNode) -> int:
    servers = project.get("mcpServers")
    return len(servers.entries) if isinstance(servers, MapNode) else 0


def _left_out_message(others: Mapping[str, int]) -> str:
    total = sum(others.values())
    were = "1 server of another project was" if total == 1 else f"{total} servers of other projects were"
    where = ", ".join(f"{count} in {folder!r}" for folder, count in others.items())
    return f"{were} left out: {where}. Run pegboard import in that folder to bring them over."


def _inputs(node: Node | None) -> Mapping[str, PromptedInput]:
    inputs: dict[str, PromptedInput] = {}
    for item in node.items if isinstance(node, ListNode) else ():
        if isinstance(item, MapNode) and (id := _text(item.get("id"))) is not None:
            inputs[id] = PromptedInput(_text(item.get("description")) or "", _text(item.get("default")))
    return inputs


def _names(node: Node | None) -> frozenset[str]:
    nodes = node.items if isinstance(node, ListNode) else ()
    return frozenset(text for item in nodes if (text := _text(item)) is not None)


def _text(node: Node | None) -> str | None:
    return node.text if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT else None
