"""What lies on this machine, looked at without starting anything: the configuration file and the data directory."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pegboard.config import places
from pegboard.config.ours import untrusted_directory_reason
from pegboard.config.problem import ConfigWarnings, FileProblem
from pegboard.config.settings import InvalidFile, load_settings_file

from .link import DoctorReportEntry


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


def file_finding(problem: FileProblem, *, grave: bool) -> DoctorReportEntry:
    told = ConfigWarnings(read_by_command=True).format_problem(problem)
    return DoctorReportEntry(problem.file, told, f"Edit {problem.location}", grave)


def directory_findings(directory: Path, *, gateway_answers: bool) -> Iterator[DoctorReportEntry]:
    if not directory.exists():
        return
    where, subject = shlex.quote(str(directory)), "data directory"
    if not os.access(directory, os.W_OK | os.X_OK):
        told = f"This user may not write to the data directory {directory}, so nothing can be kept there."
        yield DoctorReportEntry(subject, told, f"chmod u+rwx {where}   or choose another: --data-dir")
    if (why := untrusted_directory_reason(directory)) is not None:
        what, _, mend = why.partition(". ")
        yield DoctorReportEntry(subject, f"The data directory {directory} is not used: {what}.", mend)
    database = directory / places.DATABASE_FILE_NAME
    if database.exists() and places.others_have_access(database, 0o077):
        told = f"Others may use {database}, in which servers' secrets may be kept."
        yield DoctorReportEntry(subject, told, f"chmod 600 {shlex.quote(str(database))}")
    if not gateway_answers:
        yield from _address_findings(directory)


def _address_findings(directory: Path) -> Iterator[DoctorReportEntry]:
    """The gateway that wrote it does not answer. While one holds the lock, whoever asked was told so already."""
    path = directory / places.ADDRESS_FILE_NAME
    if places.is_locked(directory) or not path.exists():
        return
    left = places.read_address(directory)
    whose = f"process {left.pid}, which is no more" if isinstance(left, places.GatewayAddress) else "nobody knows which"
    told = f"{path} was left behind by a gateway that did not end in good order ({whose}). It does no harm."
    yield DoctorReportEntry(
        "gateway", told, f"rm {shlex.quote(str(path))}   or start a gateway, which replaces it", grave=False
    )
