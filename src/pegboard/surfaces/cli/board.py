"""`pegboard doctor`, `pegboard diff` and `pegboard version`: the board as a whole."""

import sys
from pathlib import Path

import click

from pegboard import __version__

from .link import Api, Options
from .options import asked, asks, config_option, data_dir_option, json_option, launcher, run_async
from .output import Exit, document, fail, say, tell


@click.command()
@config_option
@data_dir_option
@json_option
def doctor(config: Path | None, data_dir: Path | None, as_json: bool) -> None:
    """What is wrong, and the command that mends it. Ends with 1 when something is."""
    options = Options(config, data_dir)
    report = launcher().settings(options)
    findings = [
        {"subject": report.file or "configuration", "what": problem, "mend": f"Edit {report.file}", "grave": True}
        for problem in report.problems
    ] + [
        {"subject": report.file or "configuration", "what": warning, "mend": f"Edit {report.file}", "grave": False}
        for warning in report.warnings
    ]
    running, file = False, report.file

    async def look() -> None:
        nonlocal running, file
        async with launcher().api(options, live=True, told=tell) as api:
            running = api.running
            file = (await asked(api, "GET", "/status"))["config"]
            body = await asked(api, "GET", "/doctor")
            findings.extend(body["findings"])

    if not report.problems:
        run_async(look)
    if as_json:
        document({"config": file, "dataDir": report.data_dir, "gatewayRunning": running, "findings": findings})
    else:
        say(f"configuration  {file or 'none: servers come from the store alone'}")
        say(f"data           {report.data_dir}")
        say(f"gateway        {'running' if running else 'not running; start it: pegboard serve'}")
        say()
        for finding in findings:
            say(f"{'✗' if finding['grave'] else '!'} {finding['what']}\n    {finding['mend']}")
        if not findings:
            say("✓ Nothing is wrong.")
    sys.exit(Exit.FAILED if any(finding["grave"] for finding in findings) else Exit.OK)


@click.command()
@click.argument("other", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--as", "principal", default="local", show_default=True, help="Whose view.")
@asks(live=True)
async def diff(api: Api, other: Path, principal: str, *, as_json: bool) -> None:
    """Which tools would open or lock if the configuration OTHER were loaded, and why."""
    file, text = _read(other)
    body = await asked(api, "POST", "/diff", body={"file": file, "text": text, "as": principal})
    if as_json:
        document(body)
        return
    for shift in body["shifts"]:
        before, after = shift["before"], shift["after"]
        mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
        reason = after.get("sentence") or before.get("sentence", "")
        told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
        say(f"{mark} {shift['id']}  {told}  {reason}")
    for key in body["goneServers"]:
        say(f"- {key}: the server and its tools would leave the board")
    for key in body["newServers"]:
        say(f"+ {key}: a new server; its tools are known once it runs")
    for clash in body["clashes"]:
        tell(f"! {clash}")
    if not any(body.values()):
        say("No tool would open or lock.")


def _read(other: Path) -> tuple[str, str]:
    try:
        return str(other.absolute()), other.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(Exit.CONFIG, f"{other}: cannot be read: {error}. Name a pegboard.yaml that can.")


@click.command()
@json_option
def version(as_json: bool) -> None:
    """The version of Pegboard."""
    document({"version": __version__}) if as_json else say(f"pegboard {__version__}")
