"""`pegboard toolset`."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.surfaces.cli.api import ApiClient, ApiResponse
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import (
    call_api,
    every_server,
    fail_with_response,
    gateway_command,
    json_option,
    toolset_path,
)
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_progress, print_text, table
from pegboard.surfaces.cli.servers import origin_text
from pegboard.surfaces.cli.tools import MARKS
from pegboard.surfaces.cli.toolset_import import ToolsetSourceParam, import_toolset

if TYPE_CHECKING:
    from pegboard.config.manifest.model import Manifest


# `pegboard toolset check`: all that is wrong with a toolset, told without a gateway and without running any of it.


def _reject_board_option(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Other commands take these, so that people try them here."""
    if value is not None:
        raise click.UsageError(
            "check looks at the files alone and at no board, so it takes neither --data-dir nor --config. To see what "
            "importing it would change on a board: pegboard toolset import SOURCE --dry-run"
        )


@click.command("check")
@click.argument("source", type=ToolsetSourceParam())
@click.option(
    "--data-dir", hidden=True, callback=_reject_board_option, expose_value=False, help="Not here: see the error."
)
@click.option(
    "--config", hidden=True, callback=_reject_board_option, expose_value=False, help="Not here: see the error."
)
@json_option
def check(source: Path, as_json: bool) -> int:
    """Check a toolset: a folder, a ZIP or a toolset.yaml. Nothing of it is run, and no gateway is needed.

    Every problem is told with its file, line and key. Ends with 3 when there is one.
    """
    from pegboard.gateway.toolsets.files import FilesUnavailable
    from pegboard.gateway.toolsets.reader import InvalidToolsetError, stage_toolset

    if not source.exists():
        fail(Exit.NOT_FOUND, f"there is no {source}. Name a folder, a ZIP or a toolset.yaml.")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="pegboard-", ignore_cleanup_errors=True) as beside,
            stage_toolset(source.resolve(), Path(beside), shown=str(source)) as found,
        ):
            manifest, warnings = found.manifest, list(found.warnings)
    except InvalidToolsetError as error:
        told = [str(problem) for problem in error.problems]
        fail(Exit.CONFIG, "\n".join(told), {"errors": told})
    except FilesUnavailable as error:
        fail(Exit.FAILED, str(error))
    if as_json:
        print_json({"id": manifest.id, "version": manifest.version, "warnings": warnings, "errors": []})
        return Exit.OK
    for warning in warnings:
        print_progress(f"! {warning}")
    print_text(
        f"{manifest.id} {manifest.version} is sound: {_toolset_check_contents_text(manifest)}.".replace("  ", " ")
    )
    return Exit.OK


def _toolset_check_contents_text(manifest: "Manifest") -> str:
    counted = (
        (len(manifest.tools), "Python tool"),
        (len(manifest.servers), "server"),
        (len(manifest.containers), "container"),
        (len(manifest.overrides), "override"),
    )
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count) or "it is empty"


# `pegboard toolset choice`: what people include and exclude of a toolset's tools, and the set that comes of it.

_MARKS: Final = {"added": "+", "removed": "-", "in": "", "out": ""}


@click.command("choice")
@click.argument("toolset")
@click.option("--include", multiple=True, help="A tool or a pattern such as read_*: in, whatever else takes it out.")
@click.option("--exclude", multiple=True, help="A tool or a pattern such as delete_*: out.")
@click.option("--clear", is_flag=True, help="Include and exclude nothing any more.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be added and removed.")
@gateway_command(every_server)
async def choice(
    api: ApiClient,
    toolset: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    *,
    clear: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """What is in TOOLSET: without options as it is; with them, exactly these are included and excluded from now on."""
    if clear and (include or exclude):
        fail(Exit.USAGE, "--clear goes with neither --include nor --exclude.")
    path, lists = f"/toolsets/{toolset_path(toolset)}/choice", {"includes": [*include], "excludes": [*exclude]}
    if not (include or exclude or clear):
        body = await call_api(api, "GET", path)
    elif dry_run:
        body = await call_api(api, "POST", f"{path}/preview", body=lists)
    else:
        body = await call_api(api, "PUT", path, body=lists)
    if as_json:
        print_json(body)
    else:
        print_text("\n".join(_choice_lines(body)))
    if body["problems"]:
        fail(Exit.USAGE, "It would be refused: " + "; ".join(body["problems"]))


def _choice_lines(body: dict[str, Any]) -> list[str]:
    lists = [*body["includes"], *body["excludes"], *body["declared"]]
    rows = [("include" if e["includes"] else "exclude", e["target"], str(e["matchCount"]), e["author"]) for e in lists]
    lines = [table(("", "TARGET", "FITS", "WHOSE"), rows), ""] if rows else []
    lines.append(
        table(
            ("", "TOOL", "STATE", "WHY"),
            [
                (
                    _MARKS[each["change"]],
                    each["id"],
                    "in" if each["change"] in ("in", "added") else "out",
                    each["verdict"].get("message", ""),
                )
                for each in body["tools"]
            ],
        )
    )
    counts = body["counts"]
    changed = f", {counts['added']} added, {counts['removed']} removed" if counts["added"] or counts["removed"] else ""
    return [*lines, f"{counts['included']} of {counts['all']} tools are in{changed}."]


# `pegboard toolset export`: a toolset as a file or folder for others, without secrets.


@click.command("export")
@click.argument("toolset")
@click.option("--to", "target", type=click.Path(path_type=Path), help="The file.  [default: ID-VERSION.zip, here]")
@click.option("--folder", type=click.Path(path_type=Path), help="Write a folder of this name, and no ZIP.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be replaced and left out.")
@gateway_command()
async def export(
    api: ApiClient, toolset: str, target: Path | None, folder: Path | None, dry_run: bool, *, as_json: bool
) -> None:
    """Write a toolset as a ZIP that others can import: its manifest and files, and a ${NAME} for each secret.

    Values of env and headers are replaced unless they are plainly harmless; arguments and addresses where they look
    like secrets. Tells what was replaced, by name. Never overwrites. The same toolset gives the same bytes.
    """
    if target is not None and folder is not None:
        raise click.UsageError("--to names a ZIP and --folder a folder. Choose one.")
    path = f"/toolsets/{toolset_path(toolset)}/export"
    found = await call_api(api, "GET", path, params=[("dryRun", "true")])
    if dry_run:
        print_json(found) if as_json else _print_left_out(found)
        return
    got = await api.download(path)
    if isinstance(got, ApiResponse):
        fail_with_response(got)
    file = target or Path(found["name"])
    if folder is not None:
        _unpack_zip(got.content, folder)
    else:
        _write_new_file(got.content, file)
    where = str(folder or file)
    if as_json:
        names = [secret["name"] for secret in found["secrets"]]
        replaced = {key: found[key] for key in ("droppedParts", "omitted", "possibleSecrets")}
        print_json({"toolset": toolset, "path": where, "secrets": names, **replaced})
        return
    _print_left_out(found)
    print_text(f"{toolset} is in {where}.")


def _print_left_out(found: dict[str, Any]) -> None:
    """By names and places: what stood there is not shown."""
    for secret in found["secrets"]:
        print_progress(
            f"! ${{{secret['name']}}} stands for what may be a secret at {one_line(', '.join(secret['locations']))}"
        )
    for place in found["droppedParts"]:
        print_progress(f"! What looks like a secret and cannot be asked for is left out at {one_line(place)}")
    for name in found["omitted"]:
        print_progress(f"! {one_line(name)} is left out: files of this name usually hold secrets")
    doubts = found["possibleSecrets"]
    if doubts:
        more = f" and {len(doubts) - 10:,} more" if len(doubts) > 10 else ""
        print_progress(
            f"! Read these before you give it away; they look like secrets: {one_line(', '.join(doubts[:10]))}{more}"
        )
    if found["secrets"]:
        print_progress("  Whoever imports it sets these secrets. For what everybody may know, write ${NAME:-value}.")


def _write_new_file(content: bytes, file: Path) -> None:
    """A new file, whole or not at all."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        fail(Exit.REFUSED, f"{file} is there already. Name another: --to FILE")
    except OSError as error:
        fail(Exit.FAILED, f"{file} cannot be written: {error.strerror or error}. Choose another place: --to FILE")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
    except OSError as error:
        file.unlink(missing_ok=True)
        fail(Exit.FAILED, f"{file} could not be written: {error.strerror or error}. Nothing of it was kept.")


def _unpack_zip(content: bytes, folder: Path) -> None:
    import tempfile

    from pegboard.config.bundle.staging_folder import BadBundleError, is_executable, stage_archive

    if folder.exists():
        fail(Exit.REFUSED, f"{folder} is there already. Name another: --folder FOLDER")
    beside = folder.absolute().parent
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pegboard-", dir=beside) as held:
            archive = Path(held) / "bundle.zip"
            archive.write_bytes(content)
            with stage_archive(archive, Path(held)) as staged:
                for name in staged.files:
                    (staged.folder / name).chmod(0o755 if is_executable(staged.folder / name) else 0o644)
                staged.folder.chmod(0o755)
                staged.folder.rename(folder)
    except (OSError, BadBundleError) as error:
        fail(Exit.FAILED, f"{folder} could not be written: {error}. Nothing of it was kept.")


# `pegboard toolset new`: a folder with a toolset that works as it is, to begin from.

_NEXT_STEPS: Final = """\
{folder} is a toolset that works as it is. Next:

  pegboard toolset check {folder}
  pegboard toolset import {folder} --link"""


@click.command("new")
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write it.  [default: a folder NAME, here]")
@json_option
def new(name: str, folder: Path | None, as_json: bool) -> int:
    """Write a new toolset: a folder with a toolset.yaml, a Python module with typed tools, and their tests.

    A folder that is there already is not touched.
    """
    from pegboard.config.manifest.template import new_toolset
    from pegboard.core.model.ids import BadId

    files = new_toolset(name)
    if isinstance(files, BadId):
        fail(Exit.USAGE, f"{files.why}.")
    place = folder or Path(name)
    if place.exists() or place.is_symlink():
        fail(Exit.REFUSED, f"{place} is there already. Choose another place: --folder FOLDER")
    try:
        above = place.absolute().parent
        above.mkdir(parents=True, exist_ok=True)
        # Written aside and put in its place by one rename, so that it is never there by half.
        aside = Path(tempfile.mkdtemp(prefix=".pegboard-", dir=above))
        try:
            for path, text in files.items():
                (aside / path).parent.mkdir(parents=True, exist_ok=True)
                (aside / path).write_text(text, "utf-8")
            aside.chmod(0o755)
            aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        fail(
            Exit.FAILED, f"{place} cannot be written: {error.strerror or error}. Choose another place: --folder FOLDER"
        )
    print_json({"toolset": name, "path": str(place), "files": sorted(files)}) if as_json else print_text(
        _NEXT_STEPS.format(folder=place)
    )
    return Exit.OK


# `pegboard toolset secrets …`: the values of secrets that toolsets ask for. They are typed or piped, never argued.


@click.group("secrets")
def secrets() -> None:
    """The secrets that toolsets ask for: kept encrypted, and never shown."""


@secrets.command("list")
@click.argument("toolset")
@gateway_command()
async def list_secrets(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """The secrets that a toolset asks for, and whether each is set."""
    body = await call_api(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        print_json({"toolset": body["id"], "secrets": body["secrets"]})
        return
    if not body["secrets"]:
        print_text(f"{body['id']} asks for no secrets.")
        return
    print_text(table(("SECRET", ""), [(one["name"], "set" if one["set"] else "not set") for one in body["secrets"]]))


@secrets.command("set")
@click.argument("toolset")
@click.argument("name")
@gateway_command()
async def set_secret(api: ApiClient, toolset: str, name: str, *, as_json: bool) -> None:
    """Set one: asked for at a terminal, else read from standard input.

    The value may be a reference, ${VARIABLE} or ${file:PATH}: then it is read when it is used.
    """
    path = _secret_path(toolset, name)
    value = _read_value(name)
    body = await call_api(api, "PUT", path, body={"value": value})
    print_json(body) if as_json else print_text(f"{name} of {toolset} is set.")


@secrets.command("forget")
@click.argument("toolset")
@click.argument("name")
@gateway_command()
async def forget(api: ApiClient, toolset: str, name: str, *, as_json: bool) -> None:
    """Forget one. What needs it does not start any more."""
    body = await call_api(api, "DELETE", _secret_path(toolset, name))
    print_json(body) if as_json else print_text(f"{name} of {toolset} is forgotten.")


def _secret_path(toolset: str, name: str) -> str:
    if not name.replace("_", "").isalnum() or not name.isascii():
        fail(Exit.NOT_FOUND, f"{name!r} is no name of a secret. See: pegboard toolset secrets list {toolset}")
    return f"/toolsets/{toolset_path(toolset)}/secrets/{name}"


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(name, hide_input=True, err=True)
        return value
    try:
        value = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        fail(Exit.USAGE, f"standard input is not UTF-8 text, from byte {error.start} on")
    # `echo` and editors end a line that is no part of the value.
    value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        fail(Exit.USAGE, "standard input is empty. Pipe the value in, or run this at a terminal.")
    return value


_KIND_TEXTS: Final = {
    "folder": "the folder",
    "git": "the Git checkout",
    "zip": "the ZIP",
    "manifest": "the file",
    "upload": "an upload",
}


@click.group()
def toolset() -> None:
    """Toolsets: tools, servers and containers that come, are switched and go together."""


toolset.add_command(new)
toolset.add_command(check)
toolset.add_command(choice)
toolset.add_command(import_toolset)
toolset.add_command(export)
toolset.add_command(secrets)


@toolset.command("list")
@gateway_command()
async def list_toolsets(api: ApiClient, *, as_json: bool) -> None:
    """Every toolset with its version, what it brings and how it is."""
    body = await call_api(api, "GET", "/toolsets")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    if not body["toolsets"]:
        print_text(
            "No toolsets yet. Make one:  pegboard toolset new NAME   or bring one:  pegboard toolset import FILE"
        )
        return
    rows = [
        (
            each["id"],
            each["version"] or "",
            _state_text(each, api),
            _contents_text(each),
            _origin_text(each),
            _problem_text(each),
        )
        for each in body["toolsets"]
    ]
    print_text(table(("TOOLSET", "VERSION", "STATE", "BRINGS", "FROM", ""), rows))


@toolset.command("show")
@click.argument("toolset")
@gateway_command()
async def show(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """One toolset: its tools with their statuses, its servers, the secrets it asks for and its files."""
    body = await call_api(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    print_text("\n".join(_toolset_lines(body, api)))


@toolset.command("enable")
@click.argument("toolset")
@gateway_command()
async def enable(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """Switch a toolset on. Each of its servers and tools keeps its own switch."""
    body = await _switch_toolset(api, toolset, True, "")
    print_json(body) if as_json else print_text(f"Toolset {body['toolsetId']} is switched on.")


@toolset.command("disable")
@click.argument("toolset")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command()
async def disable(api: ApiClient, toolset: str, note: str, *, as_json: bool) -> None:
    """Switch a toolset off, with all its servers. Their tools stay on the board, locked."""
    body = await _switch_toolset(api, toolset, False, note)
    print_json(body) if as_json else print_text(f"Toolset {body['toolsetId']} is switched off.")


@toolset.command("remove")
@click.argument("toolset")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--keep-workspace", is_flag=True, help="Keep the files that its tools have written.")
@gateway_command()
async def remove(api: ApiClient, toolset: str, yes: bool, keep_workspace: bool, *, as_json: bool) -> None:
    """Take a toolset away, with its tools, servers, files, secrets, switches and approvals.

    Asks first at a terminal; elsewhere it must be told --yes.
    """
    path = toolset_path(toolset)
    if not yes:
        body = await call_api(api, "GET", f"/toolsets/{path}")
        if as_json or not sys.stdin.isatty():
            fail(Exit.REFUSED, f"Nothing was removed. To remove {body['id']} with all it has, say so: --yes")
        if not await ask_yes_no(
            f"Remove {body['id']} ({_contents_text(body)}), with its files, secrets and approvals?"
        ):
            fail(Exit.REFUSED, "Nothing was removed.")
    params = [("keepWorkspace", "true")] if keep_workspace else []
    body = await call_api(api, "DELETE", f"/toolsets/{path}", params=params)
    for warning in body["warnings"]:
        print_progress(f"! {warning}")
    print_json(body) if as_json else print_text(f"Removed {body['removed']}.")


async def _switch_toolset(api: ApiClient, toolset: str, on: bool, note: str) -> dict[str, Any]:
    return await call_api(api, "POST", f"/toolsets/{toolset_path(toolset)}/switch", body={"enabled": on, "note": note})


def _origin_text(body: Mapping[str, Any]) -> str:
    if body["linkedFolder"]:
        return f"linked to {body['linkedFolder']}"
    source = body["source"]
    return (
        origin_text(body["origin"])
        if source is None
        else _source_text(source, (source["path"] or "").rpartition("/")[2])
    )


def _source_text(source: Mapping[str, Any], place: str) -> str:
    kind = _KIND_TEXTS[source["kind"]]
    commit = f" at {source['commit'][:12]}{', changed' if source['dirty'] else ''}" if "commit" in source else ""
    return f"{kind} {place}{commit}".rstrip()


def _import_text(body: Mapping[str, Any]) -> str:
    """Where it came from and when, whole: what `list` has no room for."""
    source, origin = body["source"], body["origin"]
    if source is None:
        return origin_text(origin)
    linked = "linked to" if body["linkedFolder"] else "imported from"
    return (
        f"{linked} {_source_text(source, source['path'] or '')}, {source['at'][:16].replace('T', ' ')} by "
        f"{origin['by']}"
    )


def _contents_text(body: Mapping[str, Any]) -> str:
    counted = ((len(body["tools"]), "tool"), (len(body["servers"]), "server"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count) or "nothing yet"


def _state_text(body: Mapping[str, Any], api: ApiClient) -> str:
    state: str = body["health"]["state"]
    # What it lacks is known without a gateway; whether it would come up is not.
    return state if api.is_running or state == "down" else {True: "on", False: "off"}[body["enabled"]]


def _problem_text(body: Mapping[str, Any]) -> str:
    """What a person must look at: why it is not up, or why what it shows is not what its files say."""
    if body["health"]["state"] in ("down", "needs_sign_in"):
        return one_line(body["health"]["message"])
    return one_line("; ".join(flaw["message"] for flaw in body["problems"]))


def _toolset_lines(body: Mapping[str, Any], api: ApiClient) -> list[str]:
    title = body["name"] if body["name"] not in ("", body["id"]) else ""
    lines = [" ".join(part for part in (body["id"], body["version"], title and f"({title})") if part)]
    if body["description"]:
        lines.append(f"  {one_line(body['description'])}")
    lines.append(f"  {_state_text(body, api)}, {_import_text(body)}")
    if trouble := _problem_text(body):
        lines.append(f"  {trouble}")
    if body["tools"]:
        rows = [
            (f"  {MARKS[tool['verdict']]} {tool['id']}", tool.get("status") or tool["verdict"])
            for tool in body["tools"]
        ]
        lines += ["", table(("TOOL", "STATUS"), rows)]
    if body["servers"]:
        rows = [
            (f"  {server['id']}", server["health"]["state"] if api.is_running else "on" if server["active"] else "off")
            for server in body["servers"]
        ]
        lines += ["", table(("SERVER", "STATE"), rows)]
    if body["secrets"]:
        rows = [(f"  {secret['name']}", "set" if secret["set"] else "not set") for secret in body["secrets"]]
        lines += ["", table(("SECRET", ""), rows)]
    if body["requirements"]:
        lines += ["", f"Requires: {', '.join(body['requirements'])}"]
    if body["files"]:
        lines += ["", f"{body['files']} file{'' if body['files'] == 1 else 's'}, {body['bytes']:,} bytes"]
    return lines
