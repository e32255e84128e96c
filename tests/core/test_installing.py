"""What an import would change, told before it does."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.core.boards import ME, NOW, PERSON, spec
from tests.core.imports import (
    FETCH,
    ID,
    MANIFEST,
    contained,
    decisions,
    installing,
    installs,
    own,
    own_tool,
    policy,
    server,
)

from pegboard.core.commands import apply
from pegboard.core.ids import ToolsetKey
from pegboard.core.imported import InstallToolset
from pegboard.core.installing import Course, Differences, How, PartDifference, ToolDifference, differences, words
from pegboard.core.override import Override
from pegboard.core.own import Bounds, Own
from pegboard.core.policy import Decided, Policy
from pegboard.core.server import Http, Server, Stdio, Trust
from pegboard.core.toolset import FileKind, ToolsetFile

SECRET = "hunter2"


def installed(before: Policy, install: InstallToolset) -> Policy:
    after = apply(before, install, ME, NOW)
    assert isinstance(after, Policy)
    return after


def with_own(one: Server, **changes: object) -> Server:
    assert isinstance(one.connection, Own)
    return replace(one, connection=replace(one.connection, **changes))  # type: ignore[arg-type]  # checked by dataclasses


def test_a_first_import_tells_all_that_it_brings() -> None:
    mine = with_own(own("add", commands=("grep",)), secrets=("TOKEN",))
    found = differences(policy(), installing(mine, server(FETCH)))
    assert found == Differences(
        ID,
        Course.FIRST,
        "",
        "1.0",
        tools=(
            ToolDifference(own_tool("add"), None, spec(own_tool("add"), 0)),
            ToolDifference(own_tool("grep"), None, spec(own_tool("grep"), 0)),
        ),
        servers=(PartDifference("kit~fetch", How.ADDED),),
        files=(PartDifference("toolset.yaml", How.ADDED),),
        secrets=("TOKEN",),
    )
    assert words(found) == (
        "toolset kit is new (1.0)",
        "asks for the secret TOKEN",
        "tool kit:add added",
        "tool kit:grep added",
        "server kit~fetch added",
        "1 file added: toolset.yaml",
    )
    assert found.unread == (own_tool("add"), own_tool("grep"))


@pytest.mark.behaviour("toolsets.import_tells_what_changes")
def test_another_import_tells_what_differs_and_no_value_of_a_setting() -> None:
    before = Server(FETCH, Stdio("run", ("--token", SECRET), {"TOKEN": SECRET, "SAME": "1"}), PERSON)
    after = Server(FETCH, Stdio("run", ("--token", "new"), {"TOKEN": "new", "SAME": "1"}), PERSON, trust=Trust.STRICT)
    first = installing(
        own("add", "sum"),
        before,
        overrides=(Override(ID, own_tool("add"), renderer="code", name_override=SECRET),),
        files=(MANIFEST, ToolsetFile("tools/a.py", FileKind.PYTHON, "a" * 64, 1)),
    )
    again = installing(
        with_own(own("add", "grep", variant=1, digest="b" * 64), secrets=("KEY",), bounds=Bounds(seconds=5)),
        after,
        contained(),
        version="1.1",
        overrides=(Override(ID, own_tool("add"), renderer="html", name_override=SECRET),),
        files=(replace(MANIFEST, sha256="1" * 64), ToolsetFile("tools/b.py", FileKind.PYTHON, "b" * 64, 1)),
    )
    found = differences(installed(policy(), first), again)
    assert (found.course, found.before, found.after) == (Course.UPGRADE, "1.0", "1.1")
    assert [(each.tool.name, each.how) for each in found.tools] == [
        ("add", How.CHANGED),
        ("grep", How.ADDED),
        ("sum", How.REMOVED),
    ]
    assert found.servers == (
        PartDifference("kit~box", How.ADDED),
        PartDifference("kit~fetch", How.CHANGED, ("args", "env.TOKEN", "trust")),
    )
    assert found.overrides == (PartDifference("kit:add", How.CHANGED, ("renderer",)),)
    assert found.files == (
        PartDifference("tools/a.py", How.REMOVED),
        PartDifference("tools/b.py", How.ADDED),
        PartDifference("toolset.yaml", How.CHANGED),
    )
    assert (found.running, found.secrets) == (("seconds",), ("KEY",))
    told = "\n".join(words(found))
    assert SECRET not in told
    assert SECRET not in repr(found.servers)
    assert told == "\n".join(
        (
            "toolset kit: upgrade from 1.0 to 1.1",
            "asks for the secret KEY",
            "tool kit:add changed",
            "  The title was added: 'withheld-01'.",
            "  The description changed from 'withheld-00' to 'withheld-01'.",
            "  Parameter 'path': default changed from 'withheld-00' to 'withheld-01'.",
            "  Parameter 'path': description changed from 'withheld-00' to 'withheld-01'.",
            '  Parameter \'path\': enum changed from ["withheld-00"] to ["withheld-01"].',
            "tool kit:grep added",
            "tool kit:sum removed",
            "server kit~box added",
            "server kit~fetch changed: args, env.TOKEN, trust",
            "override of kit:add changed: renderer",
            "its own tools run with other seconds",
            "1 file added: tools/b.py",
            "1 file removed: tools/a.py",
            "1 file changed: toolset.yaml",
        )
    )


def test_a_server_that_is_reached_in_another_way_is_told_so() -> None:
    first = installed(policy(), installing(server(FETCH)))
    found = differences(first, installing(Server(FETCH, Http("https://example.test"), PERSON)))
    assert found.servers == (PartDifference("kit~fetch", How.CHANGED, ("connection",)),)


def test_an_earlier_version_is_told_as_a_downgrade() -> None:
    first = installed(policy(), installing(own("add"), version="1.10"))
    found = differences(first, installing(own("add"), version="1.9"))
    assert found.course is Course.DOWNGRADE
    assert words(found) == ("toolset kit: downgrade from 1.10 to 1.9",)
    assert not found.is_nothing


@given(installs(), installs(), decisions())
def test_nothing_differs_exactly_when_an_import_changes_nothing(
    first: InstallToolset, again: InstallToolset, before: Decided
) -> None:
    there = installed(policy(before), first)
    again = replace(again, approve=frozenset())
    after = installed(there, again)
    found = differences(there, again)
    mine = ToolsetKey(ID)
    # Another digest is another file, which the core is told by their names.
    same_files = mine not in after.servers or after.servers.get(mine) == there.servers.get(mine)
    if same_files or found.tools:
        assert found.is_nothing is (replace(after.decided, version=there.version) == there.decided)
    assert words(found)[0].startswith("toolset kit")
    assert differences(after, again).is_nothing
    stays = f"toolset kit stays at {again.toolset.version or 'no version'}: nothing changes"
    assert words(differences(after, again)) == (stays,)
