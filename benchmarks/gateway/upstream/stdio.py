"""The server over stdio: `python -m benchmarks.gateway.upstream.stdio --tools N [--core N] [--pause S]`.

Plain blocking reads and writes: a gateway's child has one client, and answers all that has arrived at once.
"""

import argparse
import os
import time

import msgspec

from benchmarks.gateway.placement import pin_this_process
from benchmarks.gateway.upstream.echo import EchoServer, decode_message, unreadable

STDIN, STDOUT = 0, 1
READ_SIZE = 1 << 20


def answered(server: EchoServer, line: bytes) -> bytes:
    """The answer to one line, itself a line; nothing for a notification or a blank line."""
    if not line.strip():
        return b""
    try:
        message = decode_message(line)
    except msgspec.MsgspecError as problem:
        return unreadable(problem).body + b"\n"
    return b"" if message.is_notification else server.answer(message).body + b"\n"


def write_all(content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(STDOUT, remaining) :]


def serve(server: EchoServer) -> None:
    """Until the client closes its end."""
    rest = b""
    while received := os.read(STDIN, READ_SIZE):
        *lines, rest = (rest + received).split(b"\n")
        if answers := b"".join([answered(server, line) for line in lines]):
            write_all(answers)


def main() -> None:
    parser = argparse.ArgumentParser(description="A fast MCP server over stdio.")
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--core", type=int)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before the first word")
    chosen = parser.parse_args()
    pin_this_process(chosen.core)
    time.sleep(chosen.pause)
    serve(EchoServer(chosen.tools))


if __name__ == "__main__":
    main()
