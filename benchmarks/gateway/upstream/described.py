"""A server of tools that are described as real ones are: `python -m benchmarks.gateway.upstream.described --tools N`.

Over stdio. Two servers of different `--seed` have no tool in common; a call gives back the text it was handed.
"""

import argparse

import msgspec

from benchmarks.described import tools_of
from benchmarks.gateway.upstream.echo import FRESH, EchoServer
from benchmarks.gateway.upstream.stdio import serve
from pegboard.core.model.tool import Tool


def wire_form(tool: Tool) -> dict[str, object]:
    spec = tool.spec
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": dict(spec.input_schema),
    }


class Described(EchoServer):
    def __init__(self, tools: int, seed: int) -> None:
        listed = [wire_form(tool) for tool in tools_of(tools, seed, first=seed * tools)]
        self._names = frozenset(str(tool["name"]) for tool in listed)
        self._list = msgspec.json.encode({"tools": listed})
        self._fresh_list = msgspec.json.encode({"tools": listed, **FRESH})


def main() -> None:
    parser = argparse.ArgumentParser(description="A server with many tools over stdio.")
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    serve(Described(chosen.tools, chosen.seed))


if __name__ == "__main__":
    main()
