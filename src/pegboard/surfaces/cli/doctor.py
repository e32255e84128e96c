"""`pegboard doctor`."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import click

from pegboard.config import paths
from pegboard.config.paths import untrusted_directory_reason
from pegboard.config.schema.document import ConfigWarnings, FileProblem
from pegboard.config.settings import InvalidFile, load_settings_file
from pegboard.core.model.characters import escape_strictly
from pegboard.surfaces.cli.api import DocSpaceCheck, DoctorReportEntry, Options
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import call_api, config_option, data_dir_option, every_server, json_option, launcher
from pegboard.surfaces.cli.output import (
    CommandError,
    Exit,
    indent_continuation,
    one_line,
    print_json,
    print_text,
    unwrap_group,
)

# What lies on this machine, looked at without starting anything: the configuration file and the data directory.


@dataclass(frozen=True)
class FileReport:
    """What is wrong with a configuration file, and what will not work though nothing is wrong with it."""

    problems: tuple[FileProblem, ...] = ()
    warnings: tuple[FileProblem, ...] = ()


def file_report(file: Path | None) -> FileReport:
    if file is None:
        return FileReport()
    loaded = load_settings_file(file)
    return FileReport(loaded.problems) if isinstance(loaded, InvalidFile) else FileReport(warnings=loaded.warnings)


def file_finding(problem: FileProblem, *, severity: Literal["error", "warning"]) -> DoctorReportEntry:
    told = ConfigWarnings(read_by_command=True).format_problem(problem)
    return DoctorReportEntry(problem.file, told, f"Edit {problem.location}", severity)


def directory_findings(directory: Path, *, gateway_answers: bool) -> Iterator[DoctorReportEntry]:
    if not directory.exists():
        return
    where, subject = shlex.quote(str(directory)), "data directory"
    if not os.access(directory, os.W_OK | os.X_OK):
        told = f"This user may not write to the data directory {directory}, so nothing can be kept there."
        yield DoctorReportEntry(subject, told, f"chmod u+rwx {where}   or choose another: --data-dir")
    if (why := untrusted_directory_reason(directory)) is not None:
        what, _, fix = why.partition(". ")
        yield DoctorReportEntry(subject, f"The data directory {directory} is not used: {what}.", fix)
    database = directory / paths.DATABASE_FILE_NAME
    if database.exists() and paths.others_have_access(database, 0o077):
        told = f"Others may use {database}, in which servers' secrets may be kept."
        yield DoctorReportEntry(subject, told, f"chmod 600 {shlex.quote(str(database))}")
    if not gateway_answers:
        yield from _address_findings(directory)


def _address_findings(directory: Path) -> Iterator[DoctorReportEntry]:
    """The gateway that wrote it does not answer. While one holds the lock, whoever asked was told so already."""
    path = directory / paths.ADDRESS_FILE_NAME
    if paths.is_locked(directory) or not path.exists():
        return
    left = paths.read_address(directory)
    writer = f"process {left.pid}, which is no more" if isinstance(left, paths.GatewayAddress) else "nobody knows which"
    told = f"{path} was left behind by a gateway that did not end in good order ({writer}). It does no harm."
    yield DoctorReportEntry(
        "gateway", told, f"rm {shlex.quote(str(path))}   or start a gateway, which replaces it", severity="warning"
    )


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
    """What is wrong, and the command that fixes it. Ends with 1 when something is.

    Without a running gateway the servers are started to see whether they answer, and stopped again.
    """
    options = Options(config, data_dir)
    directory = paths.data_directory(data_dir, os.environ)
    board = _GatewayReport(paths.config_file(config, os.environ))
    run_to_end(lambda: _diagnose(options, board))
    report = file_report(board.config)
    # A running gateway tells of a broken edit itself: it knows that the last good board is still up.
    problems = () if board.is_running else report.problems
    # Whoever answered has told of the file as it is there. What a gateway that does not answer sees, nobody knows.
    warnings = () if board.has_answered or paths.is_locked(directory) else report.warnings
    findings = [
        *(file_finding(problem, severity="error") for problem in problems),
        *(file_finding(warning, severity="warning") for warning in warnings),
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
    return Exit.FAILED if any(finding.severity == "error" for finding in findings) else Exit.OK


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
        message, fix = escape_strictly(finding.message), escape_strictly(finding.fix)
        print_text(f"{'✗' if finding.severity == 'error' else '!'} {indent_continuation(message)}\n    → {fix}")
    if not findings:
        print_text("✓ Nothing is wrong.")


# `pegboard docspace …`: whether a DocSpace is there, as whom it is asked, and what may be seen of it.


@click.group()
def docspace() -> None:
    """ONLYOFFICE DocSpace: its four toolsets on the board."""


@docspace.command()
@config_option
@data_dir_option
@json_option
def check(config: Path | None, data_dir: Path | None, as_json: bool) -> int:
    """Try the DocSpace of pegboard.yaml or of the DOCSPACE_* variables: who you are there, and what you may see.

    Nothing is changed there. Ends with 3 for settings that cannot be used, 4 where no DocSpace is, 5 for credentials
    that it refuses and 6 when it cannot be reached.
    """

    async def run_check() -> int:
        found = await launcher().check_docspace(Options(config, data_dir))
        if as_json:
            print_json(
                {
                    "baseUrl": found.base_url,
                    "name": found.name,
                    "email": found.email,
                    "role": found.role,
                    "accessible": {what: why is None for what, why in found.part_errors.items()},
                    "errors": {what: why for what, why in found.part_errors.items() if why is not None},
                }
            )
        else:
            print_text("\n".join(report_lines(found)))
        return Exit.OK

    return run_to_end(run_check)


def report_lines(found: DocSpaceCheck) -> list[str]:
    if found.base_url is None:
        return [
            "Each caller brings a DocSpace and credentials of its own, so there is nothing to try here.",
            "Who comes by pegboard stdio cannot, and is told: No authentication method.",
        ]
    # What DocSpace says of itself stands on lines of ours, and makes none.
    name, email = one_line(found.name), one_line(found.email)
    who = f"{name} <{email}>" if email else name or "somebody without a name"
    lines = [f"{found.base_url} is a DocSpace, and you are {who} there, {found.role}."]
    for what, why in found.part_errors.items():
        lines.append(f"  {what:<10} {'you may see them' if why is None else f'refused: {one_line(why)}'}")
    return lines
