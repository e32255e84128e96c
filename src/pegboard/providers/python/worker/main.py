"""From the first frame to the last: the pipes are made private, limits are set, functions are loaded and served."""

import gc
import json
import os
import sysconfig
from pathlib import Path

from pegboard.core.json.values import materialize
from pegboard.processes.frames import limit_resources, take_pipes
from pegboard.providers.python.protocol import WorkerFrameKind
from pegboard.providers.python.worker import channel as surroundings
from pegboard.providers.python.worker.calls import ToolErrorFormatter, WorkerCallServer
from pegboard.providers.python.worker.channel import WorkerChannel, end_with_gateway
from pegboard.providers.python.worker.loader import WorkerEntry, function_description, load_functions
from pegboard.tools import Secrets


def main() -> None:
    channel = WorkerChannel(*take_pipes())
    try:
        setup = json.loads(channel.take()[2])
    except EOFError:
        return
    end_with_gateway(channel.input_fd)
    # Of what a process may write to: the code of libraries, which is only mapped, does not count.
    limit_resources((("RLIMIT_DATA", setup["memory"]),))
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


def _folder_names(folder: Path, workspace: Path | None) -> dict[str, str]:
    """The longest first, so that a folder within another is told by its own name."""
    named = {str(folder): "", os.path.expanduser("~"): "~"}
    named |= dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")), "python")
    if workspace is not None:
        named[str(workspace)] = "workspace"
    whole = {f"{place}{os.sep}": f"{name}/" if name else "" for place, name in named.items() if place != os.sep}
    bare = {place: name or "the toolset's folder" for place, name in named.items() if place != os.sep}
    return dict(sorted((whole | bare).items(), key=lambda pair: -len(pair[0])))
