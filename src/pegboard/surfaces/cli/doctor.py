"""`pegboard doctor`: everything that is wrong, each with what mends it."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from pegboard.config import places
from pegboard.core.characters import escape_strictly

from .link import DoctorReportEntry, Options
from .options import call_api, config_option, data_dir_option, every_server, json_option, launcher
from .output import CommandError, Exit, print_json, print_text, unwrap_group
from .running import run_to_end
from .survey import directory_findings, file_finding, file_report
from .text import indent_continuation


@dataclass
class _GatewayReport:
    """What the gateway itself says, if one could be asked."""

    config: Path | None
    has_answered: bool = False
    is_running: bool = False
    store: str | None = None
    findings: list[DoctorReportEntry] = field(default_factory=list[DoctorReportEntry])


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
    board = _GatewayReport(places.config_file(config, os.environ))
    run_to_end(lambda: _diagnose(options, board))
    report = file_report(board.config)
    # A running gateway tells of a broken edit itself: it knows that the last good board is still up.
    problems = () if board.is_running else report.problems
    # Whoever answered has told of the file as it is there. What a gateway that does not answer sees, nobody knows.
    warnings = () if board.has_answered or places.is_locked(directory) else report.warnings
    findings = [
        *(file_finding(problem, grave=True) for problem in problems),
        *(file_finding(warning, grave=False) for warning in warnings),
        *directory_findings(directory, gateway_answers=board.is_running),
        *board.findings,
    ]
    if as_json:
        print_json(
            {
                "config": None if board.config is None else str(board.config),
                "dataDir": str(directory),
                "store": board.store,
                "gatewayRunning": board.is_running,
                "findings": [asdict(finding) for finding in findings],
            }
        )
    else:
        _print_findings(board, directory, findings)
    return Exit.FAILED if any(finding.grave for finding in findings) else Exit.OK


async def _diagnose(options: Options, board: _GatewayReport) -> int:
    try:
        async with launcher().api(options, every_server({})) as api:
            status = await call_api(api, "GET", "/status")
            board.is_running, board.store = api.is_running, status["store"]
            board.config = None if status["config"] is None else Path(status["config"])
            body = await call_api(api, "GET", "/doctor")
            board.has_answered = True
            board.findings += [DoctorReportEntry(**finding) for finding in body["findings"]]
    except* CommandError as endings:
        ending = unwrap_group(endings)
        # What is wrong with the file is told by the file's own report, problem by problem.
        # What is wrong with the directory, by the look at the directory.
        if isinstance(ending, CommandError) and ending.code not in (Exit.CONFIG, Exit.REFUSED):
            board.findings.append(
                DoctorReportEntry("gateway", ending.message, "Mend this, then look again: pegboard doctor")
            )
    return Exit.OK


def _print_findings(board: _GatewayReport, directory: Path, findings: list[DoctorReportEntry]) -> None:
    print_text(f"configuration  {board.config or 'none: servers come from the store alone'}")
    print_text(f"data           {directory}")
    if board.store is not None:
        print_text(f"store          {board.store}")
    print_text(f"gateway        {'running' if board.is_running else 'not running; start it: pegboard serve'}")
    print_text()
    for finding in findings:
        what, mend = escape_strictly(finding.what), escape_strictly(finding.mend)
        print_text(f"{'✗' if finding.grave else '!'} {indent_continuation(what)}\n    → {mend}")
    if not findings:
        print_text("✓ Nothing is wrong.")
