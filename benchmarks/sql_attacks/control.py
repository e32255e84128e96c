"""One statement without any guard, in a process and a folder of its own: does it work at all?

`python -m benchmarks.sql_attacks.control`; one JSON object in (dialect, path, sql, seconds), the error out, or nothing.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

_REPOSITORIES = ("custom_extension_repository", "autoinstall_extension_repository")
GRACE = 20.0
"""Seconds beyond a statement's own, for the process to start and to end."""


def control(dialect: str, path: Path, sql: str, seconds: float, folder: Path) -> str | None:
    """What the engine itself says against it; `None` where it works, or runs until it is ended."""
    asked = json.dumps({"dialect": dialect, "path": str(path), "sql": sql, "seconds": seconds})
    words = [sys.executable, "-m", "benchmarks.sql_attacks.control"]
    here = {"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(folder)}
    longest = seconds + GRACE
    try:
        done = subprocess.run(words, input=asked.encode(), capture_output=True, timeout=longest, cwd=folder, env=here)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode > 0:
        raise RuntimeError(f"The control of {sql[:60]!r} broke: {done.stderr.decode('utf-8', 'replace')[-500:]}")
    # What ended the process by a signal has worked.
    return done.stdout.decode("utf-8", "replace").strip() or None


def _sqlite(path: str, sql: str, until: float) -> str:
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    if hasattr(connection, "enable_load_extension"):  # not every build of Python has it
        connection.enable_load_extension(True)
    connection.set_progress_handler(lambda: int(time.monotonic() > until), 1_000)
    try:
        connection.executescript(sql)
    except sqlite3.OperationalError as error:
        return "" if str(error) == "interrupted" else str(error)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return str(error)
    return ""


def _duckdb(path: str, sql: str, until: float) -> str:
    from threading import Timer

    import duckdb

    from pegboard.providers.database.duckdb.statement import provide_time_zones

    provide_time_zones()
    # Nothing is fetched from outside for a control.
    config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "512MB"}
    config |= dict.fromkeys(_REPOSITORIES, "http://127.0.0.1:9")
    with duckdb.connect(path, config=config) as connection:
        ending = Timer(max(0.0, until - time.monotonic()), connection.interrupt)
        ending.start()
        try:
            connection.execute(sql).fetchall()
        except duckdb.InterruptException:
            return ""
        except (duckdb.Error, RuntimeError, ValueError) as error:
            return str(error)
        finally:
            ending.cancel()
    return ""


def main() -> int:
    asked = json.loads(sys.stdin.read())
    run = {"sqlite": _sqlite, "duckdb": _duckdb}[asked["dialect"]]
    print(run(asked["path"], asked["sql"], time.monotonic() + asked["seconds"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
