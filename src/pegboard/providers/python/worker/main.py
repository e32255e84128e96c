"""From the first frame to the last: the pipes are made private, limits are set, functions are loaded and served."""

import gc
import json
import os
import sys
import sysconfig
from pathlib import Path

from pegboard.core.json.values import materialize
from pegboard.providers.python.protocol import WorkerFrameKind
from pegboard.providers.python.worker import channel as surroundings
from pegboard.providers.python.worker.calls import ToolErrorFormatter, WorkerCallServer
from pegboard.providers.python.worker.channel import WorkerChannel, end_with_gateway
from pegboard.providers.python.worker.loader import WorkerEntry, function_description, load_functions
from pegboard.tools import Secrets


def main() -> None:
    channel = WorkerChannel(*_private_pipes())
    try:
        setup = json.loads(channel.take()[2])
    except EOFError:
        return
    end_with_gateway(channel.input_fd)
    _limit_memory(setup["memory"])
    folder = Path(setup["folder"])
    surroundings.add_stand_in_path()
    functions, problems = load_functions(folder, [WorkerEntry(*entry) for entry in setup["entries"]])
    if problems:
        channel.send(WorkerFrameKind.LOAD_FAILED, 0, json.dumps(problems).encode())
        return
    channel.send(
        WorkerFrameKind.READY,
        0,
        json.dumps([function_description(function) for function in functions], default=materialize).encode(),
    )
    # What is there now stays: no look for garbage need pass over it again.
    gc.collect()
    gc.freeze()
    workspace, room = (None if setup[key] is None else Path(setup[key]) for key in ("workspace", "room"))
    if room is not None:
        surroundings.set_surroundings(surroundings.WorkerSurroundings(setup["toolset"], room))
    secrets = setup["secrets"]
    words = ToolErrorFormatter(setup["memory"], _folder_names(folder, room), [*secrets.values()])
    WorkerCallServer(channel, functions, words, setup["toolset"], workspace, Secrets(secrets)).serve()


def _private_pipes() -> tuple[int, int]:
    """What a tool reads from its input is nothing, and what it prints goes to the log: neither meets our frames."""
    incoming, outgoing = os.dup(0), os.dup(1)
    for pipe in (incoming, outgoing):
        os.set_blocking(pipe, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]  # they are files
    return incoming, outgoing


def _limit_memory(memory: int) -> None:
    """Of what a process may write to: the code of libraries, which is only mapped, does not count."""
    try:
        import resource
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def _folder_names(folder: Path, workspace: Path | None) -> dict[str, str]:
    """The longest first, so that a folder within another is told by its own name."""
    named = {str(folder): "", os.path.expanduser("~"): "~"}
    named |= dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")), "python")
    if workspace is not None:
        named[str(workspace)] = "workspace"
    whole = {f"{place}{os.sep}": f"{name}/" if name else "" for place, name in named.items() if place != os.sep}
    bare = {place: name or "the toolset's folder" for place, name in named.items() if place != os.sep}
    return dict(sorted((whole | bare).items(), key=lambda pair: -len(pair[0])))
