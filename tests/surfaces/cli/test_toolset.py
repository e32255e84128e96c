"""`pegboard toolset …` as a person types it: without a gateway, beside one, and at a terminal that asks."""

import zipfile
from pathlib import Path

import httpx2
import pytest
from tests.support.toolsets import WORDS, laid_out, manifest, tool, zipped
from tests.surfaces.cli.terminal import Gateway, Pegboard, board, peer

from pegboard.core.decision.visibility import HiddenBySelection, explain_hidden, hidden_remedy
from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.selection import Selection, TheseToolsets
from pegboard.core.model.server import DeclaredAt

BOARD = {"servers": {"notes": peer("everyday"), "taken": peer("everyday")}}


@pytest.mark.behaviour("cli.toolset_new", "cli.toolset_import")
def test_a_new_toolset_is_checked_imported_and_called(pegboard: Pegboard, home: Path) -> None:
    assert pegboard("toolset", "new", "mine").code == 0
    assert pegboard("toolset", "check", "mine").out == "mine 0.1.0 is sound: 2 Python tools.\n"
    assert pegboard("toolset", "import", "mine", "--yes").out.endswith("Imported mine 0.1.0.\n")
    done = pegboard("tools", "call", "count_words", '{"text": "a peg for every tool"}', "--json")
    assert (done.code, done.json["result"]["structuredContent"]["words"]) == (0, 5)
    (listed,) = pegboard("toolset", "list", "--json").json["toolsets"]
    assert (listed["id"], listed["version"], listed["enabled"], listed["userMcp"]) == ("mine", "0.1.0", True, False)
    assert [each["id"] for each in listed["tools"]] == ["mine:count_words", "mine:days_until"]


@pytest.mark.behaviour("cli.toolset_new")
def test_a_folder_that_is_there_is_not_touched(pegboard: Pegboard, home: Path) -> None:
    (home / "mine").mkdir()
    assert pegboard("toolset", "new", "mine").err == (
        "pegboard: mine is there already. Choose another place: --folder FOLDER\n"
    )
    done = pegboard("toolset", "new", "mine", "--folder", "deep/er", "--json")
    assert (done.code, done.json["path"]) == (0, "deep/er")
    assert pegboard("toolset", "new", "../x").code == 2
    assert [*(home / "mine").iterdir()] == []


@pytest.mark.behaviour("cli.toolset_import", "toolsets.import_tells_first")
def test_nothing_is_imported_where_nobody_can_be_asked(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest())
    done = pegboard("toolset", "import", "mine")
    assert done.code == 5
    assert done.out == (
        "toolset mine is new (1.0.0)\ntool mine:shout added\n  takes text\n  | Say it loudly.\n"
        "2 files added: tools/words.py, toolset.yaml\n"
    )
    assert done.err.endswith("pegboard: Nothing was changed, and nothing of it was run. To import it, say so: --yes\n")
    dry = pegboard("toolset", "import", "mine", "--dry-run", "--json")
    assert (dry.code, dry.json["imported"], dry.json["changes"]["versionChange"]) == (0, False, "first")
    assert pegboard("toolset", "list", "--json").json["toolsets"] == []
    assert pegboard("toolset", "import", "mine", "--dry-run", "--yes").code == 2
    assert pegboard("toolset", "import", "mine", "--describe").code == 2
    told = pegboard("toolset", "import", "mine", "--dry-run")
    assert told.err == (
        "  … tools/words.py was not run, so its tools are told as its text has them. To run it: --describe\n"
    )
    assert "Say it loudly." in pegboard("toolset", "import", "mine", "--dry-run", "--describe").out


@pytest.mark.behaviour("cli.toolset_import", "toolsets.no_silent_downgrade")
def test_a_downgrade_is_refused_and_nothing_to_change_is_told(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest(version="2.0"))
    assert pegboard("toolset", "import", "mine", "--yes").code == 0
    again = pegboard("toolset", "import", "mine")
    assert (again.code, again.out) == (0, "toolset mine stays at 2.0: nothing changes\nNothing would change.\n")
    laid_out(home / "mine", manifest(version="1.9"))
    done = pegboard("toolset", "import", "mine", "--yes")
    assert (done.code, done.err.splitlines()[-1]) == (
        5,
        "pegboard: mine 2.0 is installed, and this is 1.9, which is older. To go back to it, say so: --allow-downgrade",
    )
    assert pegboard("toolset", "import", "mine", "--yes", "--allow-downgrade").code == 0


def test_what_is_wrong_is_told_with_its_place(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest(tool("shoot")))
    done = pegboard("toolset", "import", "mine", "--yes", "--json")
    (told,) = done.json["errors"]
    assert (done.code, told) == (
        3,
        "mine/toolset.yaml:4: tools[0].entrypoint: there is no function 'shoot' in tools/words.py. "
        "Did you mean 'shout'?",
    )
    assert pegboard("toolset", "import", "gone").code == 4
    for command in ("import", "check"):
        empty = pegboard("toolset", command, "")
        assert (empty.code, "this is empty. Name a folder, a ZIP or a toolset.yaml." in empty.err) == (2, True)


@pytest.mark.behaviour("toolsets.changed_tools_wait", "cli.toolset_import", "overrides.whose_word")
def test_what_waits_and_what_was_approved_is_told(pegboard: Pegboard, home: Path) -> None:
    tools = (tool("shout"), tool("count"))
    laid_out(home / "mine", manifest(*tools, tool_overrides=[{"tool_id": "shout", "renderer": "json"}]))
    pegboard("toolset", "import", "mine", "--yes")
    assert "toolset.yaml of mine" in pegboard("overrides", "list").out
    assert "toolset.yaml of mine" in pegboard("overrides", "show", "mine:shout").out
    words = WORDS.replace("loudly", "very loudly").replace("letters", "letters there are")
    laid_out(home / "mine", manifest(*tools), {"tools/words.py": words})
    changed = pegboard("toolset", "import", "mine", "--yes")
    assert "! mine:count, mine:shout wait for approval: pegboard approvals list\n" in changed.err
    again = pegboard("toolset", "import", "mine", "--yes", "--approve")
    assert "! mine:count, mine:shout wait for approval, as before: pegboard approvals list\n" in again.err
    assert "Approved" not in again.out
    laid_out(home / "mine", manifest(*tools), {"tools/words.py": words.replace("very", "ever")})
    last = pegboard("toolset", "import", "mine", "--yes", "--approve")
    assert last.out.splitlines()[-1] == "Approved mine:shout."
    assert "! mine:count waits for approval, as before: pegboard approvals list\n" in last.err


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_what_the_boards_selection_leaves_out_is_told_by_the_import(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest(tool("shout"), tool("count")))
    config = board(home / "pegboard.yaml", servers={"notes": peer("everyday")}, selection={"toolsets": ["notes"]})
    away = HiddenBySelection(Selection(TheseToolsets(("notes",))), DeclaredAt(str(config), 10))
    shout = ToolId(ToolsetKey(ToolsetId("mine")), "shout")
    told = f"(hidden). {explain_hidden(away)} {hidden_remedy(away, shout)}\n"
    dry = pegboard("toolset", "import", "mine", "--dry-run", "--config", config)
    assert f"! mine:shout, mine:count are not open then {told}" in dry.err
    done = pegboard("toolset", "import", "mine", "--yes", "--config", config)
    assert f"! mine:shout, mine:count are not open {told}" in done.err
    assert "not open then" not in done.err
    again = pegboard("toolset", "import", "mine", "--yes", "--config", config, "--json")
    assert {each["id"]: each["verdict"] for each in again.json["closedTools"]} == {
        "mine:shout": "hidden",
        "mine:count": "hidden",
    }
    config.unlink()
    pegboard("toolset", "disable", "mine")
    off = pegboard("toolset", "import", "mine", "--yes")
    assert "! mine:shout, mine:count are not open (server_disabled). Toolset mine is off: switched off by " in off.err
    assert "Enable the toolset first: pegboard toolset enable mine\n" in off.err


@pytest.mark.behaviour("confirmation.manifest_servers")
def test_an_import_names_the_servers_that_nobody_is_asked_about(pegboard: Pegboard, home: Path) -> None:
    servers = [
        {"id": "far", "url": "http://127.0.0.1:9/mcp"},
        {"id": "said", "url": "http://127.0.0.1:9/mcp", "requires_confirmation": False},
    ]
    laid_out(home / "mine", manifest(mcp_servers=servers))
    told = (
        "  … requires_confirmation is not said of mine~far: nobody is asked before most calls. To be asked: "
        "confirmation.manifest_servers in pegboard.yaml\n"
    )
    assert told in pegboard("toolset", "import", "mine", "--dry-run").err
    config = board(home / "pegboard.yaml", servers={}, confirmation={"manifest_servers": True})
    done = pegboard("toolset", "import", "mine", "--yes", "--config", config, "--json")
    assert done.json["unconfirmedServers"] == []
    rows = pegboard("overrides", "list", "--config", config, "--json").json["overrides"]
    asked = {row["target"]: (row["declared"], [each["value"] for each in row["fields"]]) for row in rows}
    assert asked["mine~far:*"] == (True, [True])
    config.unlink()
    plain = pegboard("overrides", "set", "mine~far:*", "--toolset", "mine", "--requires-confirmation")
    assert (plain.code, plain.out) == (0, "mine~far:* in mine: sets requires_confirmation.\n")


@pytest.mark.behaviour("toolsets.secrets")
def test_secrets_are_piped_and_never_shown(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest(secrets=["API_KEY"]))
    told = pegboard("toolset", "import", "mine", "--yes").err
    assert "! It asks for the secret API_KEY: pegboard toolset secrets set mine API_KEY\n" in told
    assert pegboard("toolset", "secrets", "list", "mine").out == "SECRET\nAPI_KEY  not set\n"
    assert pegboard("toolset", "secrets", "set", "mine", "API_KEY", stdin="hunter2\n").code == 0
    shown = pegboard("toolset", "secrets", "list", "mine", "--json")
    assert shown.json == {"toolset": "mine", "secrets": [{"name": "API_KEY", "set": True}]}
    assert "hunter2" not in shown.out + shown.err
    missing = pegboard("toolset", "secrets", "set", "mine", "API_KEI", stdin="x")
    assert (missing.code, missing.err.splitlines()[-1]) == (
        4,
        "pegboard: Toolset 'mine' asks for no secret 'API_KEI'. Did you mean 'API_KEY'?",
    )
    assert pegboard("toolset", "secrets", "set", "mine", "API_KEY").code == 2
    assert pegboard("toolset", "secrets", "forget", "mine", "API_KEY").code == 0
    assert pegboard("toolset", "secrets", "list", "mine").out == "SECRET\nAPI_KEY  not set\n"


@pytest.mark.behaviour("toolsets.lack_is_told_without_gateway")
def test_what_a_toolset_lacks_is_told_without_a_gateway(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest(secrets=["API_KEY"]))
    assert pegboard("toolset", "import", "mine", "--yes").code == 0
    (listed,) = pegboard("toolset", "list", "--json").json["toolsets"]
    assert listed["health"]["state"] == "down"
    assert {tool.get("status") for tool in listed["tools"]} == {"server_unavailable"}
    told = pegboard("toolset", "show", "mine").out
    assert "down" in told
    assert "pegboard toolset secrets set mine API_KEY" in told
    assert pegboard("toolset", "secrets", "set", "mine", "API_KEY", stdin="hunter2\n").code == 0
    (listed,) = pegboard("toolset", "list", "--json").json["toolsets"]
    assert (listed["health"]["state"], {tool["verdict"] for tool in listed["tools"]}) == ("asleep", {"open"})


@pytest.mark.behaviour("toolsets.source_is_kept")
def test_where_a_toolset_came_from_is_listed_and_shown(pegboard: Pegboard, home: Path) -> None:
    bundle = zipped(laid_out(home / "mine", manifest()), home / "from here.zip")
    assert pegboard("toolset", "import", "from here.zip", "--yes").code == 0
    assert "the ZIP from here.zip" in pegboard("toolset", "list").out
    shown = pegboard("toolset", "show", "mine")
    assert f"  on, imported from the ZIP {bundle}, 20" in shown.out
    source = pegboard("toolset", "show", "mine", "--json").json["source"]
    assert (source["kind"], source["path"], [*source]) == ("zip", str(bundle), ["kind", "path", "at"])
    pegboard("toolset", "import", "mine", "--yes", "--link")
    assert f"  on, linked to the folder {home / 'mine'}, 20" in pegboard("toolset", "show", "mine").out
    pegboard("servers", "add", "other", "--", "true")
    (other,) = [each for each in pegboard("toolset", "list", "--json").json["toolsets"] if each["id"] == "other"]
    assert (other["source"], other["origin"]["kind"]) == (None, "installed")


@pytest.mark.behaviour("toolsets.removal_leaves_nothing")
def test_a_removal_must_be_meant(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest())
    pegboard("toolset", "import", "mine", "--yes")
    assert pegboard("toolset", "remove", "mine").code == 5
    assert pegboard("toolset", "remove", "mine", "--yes").out == "Removed mine.\n"
    assert pegboard("toolset", "remove", "mine", "--yes").code == 4
    assert pegboard("toolset", "show", "mine").code == 4


def test_an_export_overwrites_nothing(pegboard: Pegboard, home: Path) -> None:
    laid_out(home / "mine", manifest())
    pegboard("toolset", "import", "mine", "--yes")
    assert pegboard("toolset", "export", "mine").out == "mine is in mine-1.0.0.zip.\n"
    assert pegboard("toolset", "export", "mine").code == 5
    assert pegboard("toolset", "export", "mine", "--folder", "copy").code == 0
    assert pegboard("toolset", "export", "mine", "--folder", "copy").code == 5
    assert pegboard("toolset", "export", "mine", "--to", "a.zip", "--folder", "b").code == 2
    with zipfile.ZipFile(home / "mine-1.0.0.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    copied = {path.relative_to(home / "copy").as_posix(): path for path in (home / "copy").rglob("*") if path.is_file()}
    assert packed == {name: path.read_bytes() for name, path in copied.items()}
    assert pegboard("toolset", "check", "copy").code == 0


@pytest.mark.behaviour("toolsets.export_tells")
def test_an_export_tells_by_names_what_it_does_not_give_away(pegboard: Pegboard, home: Path) -> None:
    server = {"id": "far", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Mode": "hunter2"}}
    laid_out(home / "mine", manifest(mcp_servers=[server]), {"tools/words.py": WORDS, ".env": "A=hunter2"})
    assert "! .env is left out: files of this name usually hold secrets" in pegboard("toolset", "check", "mine").err
    pegboard("toolset", "import", "mine", "--yes")
    dry = pegboard("toolset", "export", "mine", "--dry-run", "--json")
    assert {key: value for key, value in dry.json.items() if key != "bytes"} == {
        "toolset": "mine",
        "name": "mine-1.0.0.zip",
        "secrets": [{"name": "X_MODE", "locations": ["far: headers.X-Mode"]}],
        "droppedParts": [],
        "omitted": [],
        "possibleSecrets": [],
    }
    assert not (home / "mine-1.0.0.zip").exists()
    done = pegboard("toolset", "export", "mine")
    assert "! ${X_MODE} stands for what may be a secret at far: headers.X-Mode\n" in done.err
    assert "hunter2" not in done.out + done.err + dry.out
    assert b"hunter2" not in b"".join(zipfile.ZipFile(home / "mine-1.0.0.zip").read(name) for name in ("toolset.yaml",))


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
def test_an_id_that_the_file_has_is_refused_with_both_places(
    at_gateway: Pegboard, home: Path, gateway: Gateway
) -> None:
    laid_out(home / "taken", manifest(id="taken"))
    done = at_gateway("toolset", "import", "taken", "--yes")
    assert done.code == 5
    assert "Toolset 'taken' of taken/toolset.yaml is declared at " in done.err
    assert f"{gateway.config}:" in done.err


@pytest.mark.behaviour("toolsets.zip_upload")
def test_a_zip_is_uploaded_to_a_running_gateway(at_gateway: Pegboard, home: Path, gateway: Gateway) -> None:
    bundle = zipped(laid_out(home / "mine", manifest()))
    api = f"{gateway.url}/api/v1/toolsets"
    with httpx2.Client(headers={"authorization": f"Bearer {gateway.token}"}, timeout=60, trust_env=False) as client:
        zip_of = {"content-type": "application/zip"}
        looked = client.post(f"{api}/import?dryRun=true", content=bundle.read_bytes(), headers=zip_of)
        assert (looked.status_code, looked.json()["imported"]) == (200, False)
        done = client.post(
            f"{api}/import?digest={looked.json()['digest']}", content=bundle.read_bytes(), headers=zip_of
        )
        assert (done.status_code, done.json()["imported"]) == (200, True)
        got = client.get(f"{api}/mine/export")
        assert got.headers["content-type"] == "application/zip"
        refusals = {
            415: client.post(f"{api}/import", content=b"x", headers={"content-type": "text/plain"}),
            422: client.post(f"{api}/import", content=b"PK\x03\x04", headers=zip_of),
            409: client.post(f"{api}/import?digest=0", content=bundle.read_bytes(), headers=zip_of),
            404: client.get(f"{api}/imports/nothing"),
        }
        assert {code: answer.status_code for code, answer in refusals.items()} == {code: code for code in refusals}
        relative = client.post(f"{api}/import", json={"path": "mine"})
        assert (relative.status_code, relative.json()["detail"]) == (422, "path: this must be an absolute path.")
        assert client.post(f"{api}/import", json={"pth": "mine"}).json()["errors"] != []
        misspelt = client.post(f"{api}/import?dryrun=true", content=bundle.read_bytes(), headers=zip_of)
        assert (misspelt.status_code, misspelt.json()["detail"]) == (
            422,
            "dryrun: this is unknown here. Leave it out, or did you mean 'dryRun'?",
        )
        unsure = client.post(f"{api}/import", json={"path": "/nowhere", "link": "yes"})
        assert (unsure.status_code, unsure.json()["errors"][0].partition(":")[0]) == (422, "link")
    assert httpx2.get(api, trust_env=False).status_code == 401
    assert at_gateway("tools", "call", "mine:shout", '{"text": "tide"}').out == "TIDE\n"
    assert at_gateway("toolset", "show", "mine").out.startswith("mine 1.0.0 (Mine)\n")
    assert at_gateway("toolset", "remove", "mine", "--yes").code == 0
    assert [each["id"] for each in at_gateway("toolset", "list", "--json").json["toolsets"]] == ["notes", "taken"]
