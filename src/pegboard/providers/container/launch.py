"""Becomes the engine, with the variables of a container in a file that has no name and is gone with the engine.

Run as a program of its own, by `-I -S`, so it uses the standard library alone. Values stand neither in the list of
processes nor in the engine's own environment, where a toolset could turn the engine itself by a name such as
LD_PRELOAD.
"""

import os
import sys
import tempfile

DESCRIPTOR = 9
VARIABLES_FILE = f"/dev/fd/{DESCRIPTOR}"
VARIABLE_PREFIX = "PEGBOARD_ENV_"


def main() -> None:
    given = {name: value for name, value in os.environb.items() if name.startswith(VARIABLE_PREFIX.encode())}
    with tempfile.TemporaryFile() as file:
        for name, value in given.items():
            file.write(b"%b=%b\n" % (name[len(VARIABLE_PREFIX) :], value))
        file.flush()
        file.seek(0)
        os.dup2(file.fileno(), DESCRIPTOR, inheritable=True)
    rest = {name: value for name, value in os.environb.items() if name not in given}
    os.execve(sys.argv[1], sys.argv[1:], rest)  # noqa: S606 - to become the engine, without a shell, is the point


if __name__ == "__main__":
    main()
