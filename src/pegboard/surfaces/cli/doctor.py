"""`pegboard doctor`: everything that is wrong, each with what mends it."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from pegboard.config import places
from pegboard.core.characters import escape_strictly

from .link import Finding, Options
from .options import asked, config_option, data_dir_option, every_server, json_option, launcher
from .output import Ended, Exit, document, say, unwrapped
from .running import run_to_end
from .survey import directory_findings, file_finding, file_report
from .text import hanging


@dataclass
class _Board:
    """What the gateway itself says, if one could be asked."""

    config: Path | None
    answered: bool = False
    running: bool = False
    store: str | None = None
    findings: list[Finding] = field(default_factory=list[Finding])


@click.command()
@config_option
@data_dir_option
@json_option
def doctor(config: Path | None, data_dir: Path | None, as_json: bool) -> int:
    """What is wrong, and the command that mends it. Ends with 1 when something is.

    Without a running gateway the servers are started to see whether they answer, and stopped again.
    """
    options = Options(config, data_dir)
    directory = places.data_directory(data_dir, os.environ)
    board = _Board(places.config_file(config, os.environ))
    run_to_end(lambda: _look(options, board))
    report = file_report(board.config)
    # A running gateway tells of a broken edit itself: it knows that the last good board is still up.
    problems = () if board.running else report.problems
    # Whoever answered has told of the file as it is there. What a gateway that does not answer sees, nobody knows.
    warnings = () if board.answered or places.is_held(directory) else report.warnings
    findings = [
        *(file_finding(problem, grave=True) for problem in problems),
        *(file_finding(warning, grave=False) for warning in warnings),
        *directory_findings(directory, gateway_answers=board.running),
        *board.findings,
    ]
    if as_json:
        document(
            {
                "config": None if board.config is None else str(board.config),
                "dataDir": str(directory),
                "store": board.store,
                "gatewayRunning": board.running,
                "findings": [asdict(finding) for finding in findings],
            }
        )
    else:
        _show(board, directory, findings)
    return Exit.FAILED if any(finding.grave for finding in findings) else Exit.OK


async def _look(options: Options, board: _Board) -> int:
    try:
        async with launcher().api(options, every_server({})) as api:
            status = await asked(api, "GET", "/status")
            board.running, board.store = api.running, status["store"]
            board.config = None if status["config"] is None else Path(status["config"])
            body = await asked(api, "GET", "/doctor")
            board.answered = True
            board.findings += [Finding(**finding) for finding in body["findings"]]
    except* Ended as endings:
        ending = unwrapped(endings)
        # What is wrong with the file is told by the file's own report, problem by problem.
        # What is wrong with the directory, by the look at the directory.
        if isinstance(ending, Ended) and ending.code not in (Exit.CONFIG, Exit.REFUSED):
            board.findings.append(Finding("gateway", ending.message, "Mend this, then look again: pegboard doctor"))
    return Exit.OK


def _show(board: _Board, directory: Path, findings: list[Finding]) -> None:
    say(f"configuration  {board.config or 'none: servers come from the store alone'}")
    say(f"data           {directory}")
    if board.store is not None:
        say(f"store          {board.store}")
    say(f"gateway        {'running' if board.running else 'not running; start it: pegboard serve'}")
    say()
    for finding in findings:
        what, mend = escape_strictly(finding.what), escape_strictly(finding.mend)
        say(f"{'✗' if finding.grave else '!'} {hanging(what)}\n    → {mend}")
    if not findings:
        say("✓ Nothing is wrong.")
