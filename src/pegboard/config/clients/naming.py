"""A name for a server that has none: what is left of its package, program, image or host without the words that every
server has."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

_RUNNERS: Final = frozenset(
    {"npx", "bunx", "pnpx", "uvx", "uv", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "node", "python", "py", "ruby"}
    | {"docker", "podman", "sh", "bash", "cmd", "env", "exec", "run", "dlx", "tool", "x", "go", "java", "sudo", "start"}
)
_VALUE_OPTIONS: Final = frozenset(
    {"-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--from", "--with", "-w"}
    | {"--directory", "--project", "--python", "-u", "--user", "--env-file", "--add-host", "--entrypoint"}
)
"""Options of runners whose next word is theirs and no name."""
_COMMON_WORDS: Final = frozenset(
    {"mcp", "server", "servers", "modelcontextprotocol", "api", "www", "app", "the", "io", "main"}
)
_FILE: Final = re.compile(r"\.(?:py|js|mjs|cjs|ts|sh|rb|jar|exe|cmd|bat)$", re.IGNORECASE)
_VERSION: Final = re.compile(r"(?<=.)(?:@[^/@]*|:[\w.-]+|[=<>~!]=.*|\[.*\])$")


def suggest_name(words: Sequence[str]) -> str:
    """Of an address alone, or of a command with its arguments. Never empty."""
    if len(words) == 1 and re.match(r"https?://", words[0], re.IGNORECASE):
        return _name_from_host(words[0]) or "server"
    own = iter(words)
    for word in own:
        if word in _VALUE_OPTIONS:
            next(own, None)
            continue
        if word.startswith("-") or "=" in word.partition("/")[0].partition("@")[0].replace("==", ""):
            continue
        last = _VERSION.sub("", word.replace("\\", "/").rstrip("/")).rsplit("/", 1)[-1]
        bare = _FILE.sub("", last)
        if re.sub(r"[0-9.]+$", "", bare.lower()) in _RUNNERS:
            continue
        if (name := _distinctive_part(bare)) is not None:
            return name
        scope = word.partition("/")[0].removeprefix("@")
        return _distinctive_part(scope) or bare or "server"
    return _distinctive_part(words[0].replace("\\", "/").rsplit("/", 1)[-1]) or words[0] if words else "server"


def _name_from_host(url: str) -> str | None:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    if re.fullmatch(r"[0-9.]+|.*:.*", host) or host == "localhost":
        return "local"
    labels = host.split(".")
    kept = [label for label in (labels[:-1] or labels) if label not in _COMMON_WORDS]
    return _distinctive_part(kept[-1]) if kept else labels[-2 if len(labels) > 1 else 0] or None


def _distinctive_part(word: str) -> str | None:
    parts = [part for part in re.split(r"[-_.]+", word) if part and part.lower() not in _COMMON_WORDS]
    return "-".join(parts) or None
