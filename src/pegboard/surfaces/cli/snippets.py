"""Configuration for popular clients, as `pegboard serve` prints it."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Final

LOGO: Final = r"""
   ┌─────────────────────────────┐
   │  o   o   o   o   o   o   o  │
   │    P E G B O A R D          │
   │  o   o   o   o   o   o   o  │
   └─────────────────────────────┘"""


OTHER_PATHS: Final = (
    "or /mcp/search, /mcp/meta, /mcp/deferred, /mcp/code, /mcp/direct, and /mcp/t/TOOLSET for one toolset"
)


def announcement(
    endpoint: str,
    pages: str,
    program: str,
    config: str | None,
    data_dir: str,
    *,
    chats: bool = False,
    docspace: bool = False,
) -> str:
    """`docspace`: whether one is on the board, which without a file the environment put there."""
    servers = "servers come from the store alone"
    nothing = f"none: DocSpace comes from the DOCSPACE_* variables, other {servers}" if docspace else f"none: {servers}"
    chat = (f"Chat          {endpoint.removesuffix('/mcp')}/v1, for clients of OpenAI's API; or: pegboard chat",)
    return "\n".join(
        (
            LOGO,
            "",
            f"Open          {pages}",
            f"MCP endpoint  {endpoint}",
            f"              {OTHER_PATHS}",
            *(chat if chats else ()),
            f"Configuration {config or nothing}",
            f"Data          {data_dir}",
            "",
            snippets(endpoint, program, config, data_dir),
            "",
            "Talk to this board from another terminal:",
            "",
            *_cli_lines(program, data_dir),
            "",
            "Ctrl-C ends it.",
            "",
        )
    )


def _cli_lines(program: str, data_dir: str) -> tuple[str, ...]:
    """What makes `pegboard …`, as answers to clients tell it, mean this gateway."""
    folder = str(Path(program).parent)
    path = () if shutil.which("pegboard") else (f"    export PATH={shlex.quote(folder)}:$PATH",)
    return (*path, f"    export PEGBOARD_DATA_DIR={shlex.quote(data_dir)}", "    pegboard doctor")


def snippets(endpoint: str, program: str, config: str | None, data_dir: str) -> str:
    start = ["stdio", *(["--config", config] if config else []), "--data-dir", data_dir]
    desktop = {"mcpServers": {"pegboard": {"command": program, "args": start}}}
    cursor = {"mcpServers": {"pegboard": {"url": endpoint}}}
    code = {"servers": {"pegboard": {"type": "http", "url": endpoint}}}
    return "\n".join(
        (
            "Connect a client:",
            "",
            "  Claude Code",
            f"    claude mcp add --transport http pegboard {endpoint}",
            "",
            "  Claude Desktop   (claude_desktop_config.json)",
            *_indent_json(desktop),
            "",
            "  Cursor           (.cursor/mcp.json)",
            *_indent_json(cursor),
            "",
            "  VS Code          (.vscode/mcp.json)",
            *_indent_json(code),
        )
    )


def _indent_json(body: object) -> list[str]:
    return [f"    {line}" for line in json.dumps(body, indent=2, ensure_ascii=False).splitlines()]
