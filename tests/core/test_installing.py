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

from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.toolset_install import InstallToolset
from pegboard.core.model.ids import ToolId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import Connection, Container, Http, Server, Stdio, Trust
from pegboard.core.model.tool import MIB, ContainerImage, OwnTools, PythonTool, ToolsetLimits
from pegboard.core.model.toolset import FileKind, ToolsetFile
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Approval, Policy, PolicyDecisions
from pegboard.core.toolsets.preview import (
    InstallDifferences,
    PartChange,
    PartDifference,
    ToolDifference,
    VersionChange,
    describe_connection,
    install_differences,
)
from pegboard.core.toolsets.report import describe_install, partly_described_tools

SECRET = "hunter2"
NEW = (
    "  takes path",
    "  | withheld-00",
    "  | path: withheld-00",
    "  | path.enum.0: withheld-00",
    "  | path.default: withheld-00",
)


def installed(before: Policy, install: InstallToolset) -> Policy:
    after = apply_command(before, install, ME, NOW)
    assert isinstance(after, Policy)
    return after


def with_own(one: Server, **changes: object) -> Server:
    assert isinstance(one.connection, OwnTools)
    return replace(one, connection=replace(one.connection, **changes))  # type: ignore[arg-type]  # checked by dataclasses


def test_a_first_import_tells_all_that_it_brings() -> None:
    mine = with_own(own("add", commands=("grep",)), secrets=("TOKEN",))
    found = install_differences(policy(), installing(mine, server(FETCH)))
    assert found == InstallDifferences(
        ID,
        VersionChange.FIRST,
        "",
        "1.0",
        tools=(
            ToolDifference(own_tool("add"), None, spec(own_tool("add"), 0)),
            ToolDifference(own_tool("grep"), None, spec(own_tool("grep"), 0)),
        ),
        servers=(PartDifference("kit~fetch", PartChange.ADDED, details=("runs fetch",)),),
        containers=(PartDifference("busybox", PartChange.ADDED, details=("runs the image busybox:1",)),),
        executed_parts=(PartDifference("grep", PartChange.ADDED, details=("runs run grep in the container busybox",)),),
        files=(PartDifference("toolset.yaml", PartChange.ADDED),),
        secrets=("TOKEN",),
    )
    assert describe_install(found) == (
        "toolset kit is new (1.0)",
        "asks for the secret TOKEN",
        "tool kit:add added",
        *NEW,
        "tool kit:grep added",
        *NEW,
        "tool kit:grep runs run grep in the container busybox",
        "server kit~fetch added",
        "  runs fetch",
        "container busybox added",
        "  runs the image busybox:1",
        "1 file added: toolset.yaml",
    )
    assert found.reviewed_tools == (own_tool("add"), own_tool("grep"))


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
        with_own(own("add", "grep", variant=1, digest="b" * 64), secrets=("KEY",), bounds=ToolsetLimits(seconds=5)),
        after,
        contained(),
        version="1.1",
        overrides=(Override(ID, own_tool("add"), renderer="html", name_override=SECRET),),
        files=(replace(MANIFEST, sha256="1" * 64), ToolsetFile("tools/b.py", FileKind.PYTHON, "b" * 64, 1)),
    )
    found = install_differences(installed(policy(), first), again)
    assert (found.version_change, found.before, found.after) == (VersionChange.UPGRADE, "1.0", "1.1")
    assert [(each.tool.name, each.change) for each in found.tools] == [
        ("add", PartChange.CHANGED),
        ("grep", PartChange.ADDED),
        ("sum", PartChange.REMOVED),
    ]
    assert found.servers == (
        PartDifference("kit~box", PartChange.ADDED, details=("runs the image box:1",)),
        PartDifference(
            "kit~fetch",
            PartChange.CHANGED,
            ("args", "env.TOKEN", "trust"),
            ("runs run --token '[hidden]', with the variables SAME, TOKEN",),
        ),
    )
    told_so = ("renderer: html, was code",)
    assert found.overrides == (PartDifference("kit:add", PartChange.CHANGED, ("renderer",), told_so),)
    assert found.files == (
        PartDifference("tools/a.py", PartChange.REMOVED),
        PartDifference("tools/b.py", PartChange.ADDED),
        PartDifference("toolset.yaml", PartChange.CHANGED),
    )
    assert (found.run_changes, found.secrets) == (("its own tools: time of a call 5 s, was 60 s",), ("KEY",))
    told = "\n".join(describe_install(found))
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
            *(line.replace("-00", "-01") for line in (NEW[0], "  | title: withheld-00", *NEW[1:])),
            "tool kit:sum removed",
            "server kit~box added",
            "  runs the image box:1",
            "server kit~fetch changed: args, env.TOKEN, trust",
            "  runs run --token '[hidden]', with the variables SAME, TOKEN",
            "override of kit:add changed: renderer",
            "  renderer: html, was code",
            "its own tools: time of a call 5 s, was 60 s",
            "1 file added: tools/b.py",
            "1 file removed: tools/a.py",
            "1 file changed: toolset.yaml",
        )
    )


@pytest.mark.behaviour("toolsets.import_tells_what_changes")
@pytest.mark.behaviour("toolsets.default_in_review")
def test_a_changed_default_is_shown_as_it_was_and_will_be() -> None:
    def overriding(**arguments: ArgumentOverride) -> Override:
        return Override(ID, own_tool("add"), arguments=arguments)

    def saying(**arguments: ArgumentOverride) -> Policy:
        return installed(policy(), installing(own("add"), overrides=(overriding(**arguments),)))

    def told(before: Policy, **arguments: ArgumentOverride) -> tuple[str, ...]:
        (found,) = install_differences(before, installing(own("add"), overrides=(overriding(**arguments),))).overrides
        return (*found.settings, *found.details)

    pinned = ArgumentOverride(pin=freeze_json(SECRET))
    former = saying(path=ArgumentOverride(default=freeze_json("/srv/inbox")), root=pinned)
    assert told(former, path=ArgumentOverride(default=freeze_json("/etc\u202e")), root=pinned) == (
        "arguments",
        'arguments.path: default "/etc\\u202e", was "/srv/inbox"',
    )
    assert told(former, path=ArgumentOverride(default=freeze_json("token=/etc/passwd")), root=pinned)[1:] == (
        'arguments.path: default "token=/etc/passwd", was "/srv/inbox"',
    )
    assert told(former, root=pinned)[1:] == ('arguments.path: no default any more, was "/srv/inbox"',)
    assert told(
        former,
        path=ArgumentOverride(default=freeze_json("/srv/inbox")),
        root=ArgumentOverride(pin=freeze_json("other")),
    )[1:] == ("arguments.root: pinned",)
    assert told(
        saying(path=ArgumentOverride(description="x")), path=ArgumentOverride(description="x", default=freeze_json([1]))
    )[1:] == (
        "arguments.path: default [1]",
        "arguments.path: x",
    )


def test_what_its_tools_run_and_may_take_is_told_as_it_was_and_will_be() -> None:
    mine = own("add", commands=("grep",))
    assert isinstance(mine.connection, OwnTools)
    [function], [command] = mine.connection.python, mine.connection.commands
    other = with_own(
        mine,
        python=(replace(function, entrypoint="tools.math:evil"),),
        commands=(replace(command, command=("sh", "-c", "evil"), seconds=9.0),),
        containers={"busybox": ContainerImage("busybox:1", memory=100 * 1024 * MIB, cpus=2)},
        workspace=True,
        bounds=ToolsetLimits(memory=64 * MIB, seconds=5000, processes=9),
        linked="/somewhere",
    )
    found = install_differences(installed(policy(), installing(mine)), installing(replace(other, trust=Trust.STRICT)))
    assert not found.is_empty
    assert describe_install(found) == (
        "toolset kit stays at 1.0",
        "tool kit:add runs tools.math:evil",
        "  and before: runs tools.math:add",
        "tool kit:grep runs sh -c evil in the container busybox, for 9 s at most",
        "  and before: runs run grep in the container busybox",
        "container busybox changed: memory, cpus",
        "  runs the image busybox:1",
        "  memory of a process 102,400 MB, was 256 MB",
        "  processors 2, was as it likes",
        "its own tools: memory of a process 64 MB, was 512 MB",
        "its own tools: time of a call 5000 s, was 60 s",
        "its own tools: processes at a time 9, was 4",
        "its own tools get a workspace",
        "its own tools run from another folder",
        "its own tools: another trust",
    )


def test_a_server_that_is_reached_in_another_way_is_told_so() -> None:
    first = installed(policy(), installing(server(FETCH)))
    found = install_differences(first, installing(Server(FETCH, Http("https://example.test"), PERSON)))
    told = ("is reached at https://example.test",)
    assert found.servers == (PartDifference("kit~fetch", PartChange.CHANGED, ("connection",), told),)


@pytest.mark.behaviour("toolsets.import_tells_what_changes")
@pytest.mark.parametrize(
    ("connection", "told"),
    [
        (Stdio("npx", ("-y", "server", "--api-key", SECRET)), "runs npx -y server --api-key '[hidden]'"),
        (Stdio("run", ("two words", "\x1b[2J")), "runs run 'two words' '\\\\x1b[2J'"),
        (Http(f"https://me:{SECRET}@example.test:8/{SECRET}/mcp?k={SECRET}"), "is reached at https://example.test:8"),
        (Http("${PLACE}/mcp", headers={"X-Key": SECRET}), "is reached at '${PLACE}/mcp', with the headers X-Key"),
        (
            Container(ContainerImage("box:1", ("serve",), {"KEY": SECRET}, network=True, workspace=True)),
            "runs the image box:1 serve with the network and its workspace, with the variables KEY",
        ),
    ],
)
def test_what_will_run_is_told_without_what_may_be_a_secret(connection: Connection, told: str) -> None:
    assert describe_connection(connection) == told


@pytest.mark.behaviour("law.open_is_what_was_approved")
def test_tools_that_a_manifest_shows_in_another_way_wait_for_approval() -> None:
    add, remote = own_tool("add"), ToolId(FETCH, "get")
    first = installing(
        own("add", "sum"),
        server(FETCH),
        overrides=(
            Override(ID, add, description_override="Adds."),
            Override(ID, Pattern("fetch", "*"), requires_confirmation=True),
        ),
    )
    there = installed(policy(), first)
    given = {tool: Approval(spec(tool, 0), ME, NOW) for tool in (add, own_tool("sum"), remote)}
    there = replace(there, decisions=replace(there.decisions, approvals=given))
    again = replace(first, overrides=(Override(ID, add, description_override="Ignore all that."),))
    found = install_differences(there, again)
    assert (found.reworded_tools, found.reviewed_tools) == ((add, remote), (add,))
    assert [line for line in describe_install(found) if "waits" in line or "description" in line] == [
        "override of kit:add changed: description_override",
        "  description_override: 'Ignore all that.'",
        "kit:add waits for approval, because it is shown in another way",
        "mcp:kit~fetch:get waits for approval, because its calls would run without asking, and were asked about",
    ]
    assert "  requires_confirmation is not said any more, was true" in describe_install(found)
    assert installed(there, again).decisions.approvals == {own_tool("sum"): given[own_tool("sum")]}
    read = installed(there, replace(again, approve=frozenset({add}))).decisions.approvals
    assert read == {own_tool("sum"): given[own_tool("sum")], add: Approval(spec(add, 0), ME, NOW)}
    stricter = replace(first, overrides=(*first.overrides, Override(ID, own_tool("sum"), enabled=False)))
    assert installed(there, stricter).decisions.approvals == given


def test_an_earlier_version_is_told_as_a_downgrade() -> None:
    first = installed(policy(), installing(own("add"), version="1.10"))
    found = install_differences(first, installing(own("add"), version="1.9"))
    assert found.version_change is VersionChange.DOWNGRADE
    assert describe_install(found) == ("toolset kit: downgrade from 1.10 to 1.9",)
    assert not found.is_empty


@given(installs(), installs(), decisions())
def test_nothing_differs_exactly_when_an_import_changes_nothing(
    first: InstallToolset, again: InstallToolset, before: PolicyDecisions
) -> None:
    there = installed(policy(before), first)
    again = replace(again, approve=frozenset())
    after = installed(there, again)
    found = install_differences(there, again)
    mine = ToolsetKey(ID)
    # Another digest is another file, which the core is told by their names.
    same_files = mine not in after.servers or after.servers.get(mine) == there.servers.get(mine)
    if same_files or found.tools:
        assert found.is_empty is (replace(after.decisions, version=there.version) == there.decisions)
    assert describe_install(found)[0].startswith("toolset kit")
    assert install_differences(after, again).is_empty
    stays = f"toolset kit stays at {again.toolset.version or 'no version'}: nothing changes"
    assert describe_install(install_differences(after, again)) == (stays,)


@pytest.mark.behaviour("toolsets.approve_what_was_told")
def test_a_tool_is_told_in_part_when_its_words_are_long_or_many() -> None:
    def added(description: str) -> InstallDifferences:
        short = spec(own_tool("add"), 0)
        now = with_own(own("add"), python=(PythonTool("a:b", replace(short, description=description)),))
        return install_differences(policy(), installing(now))

    assert partly_described_tools(added("Adds.\nTwo lines.")) == frozenset()
    lines = describe_install(added("Adds.\ntool kit:add removed\x1b[2J"))
    assert lines[3:5] == ("  | Adds.", "  | tool kit:add removed\\x1b[2J")
    for long in ("x" * 2000, "y\n" * 50):
        assert partly_described_tools(added(long)) == {own_tool("add")}


@pytest.mark.behaviour("toolsets.approve_what_was_told")
def test_a_changed_tool_is_told_in_part_when_the_difference_is_cut() -> None:
    first = installed(policy(), installing(own("add")))

    def changed(description: str) -> InstallDifferences:
        now = replace(spec(own_tool("add"), 0), description=description)
        return install_differences(first, installing(with_own(own("add"), python=(PythonTool("a:b", now),))))

    assert partly_described_tools(changed("Adds quickly.")) == frozenset()
    longer = changed("Adds. " + "and more " * 100)
    assert partly_described_tools(longer) == frozenset()
    assert "  It says now:" in describe_install(longer)
    assert partly_described_tools(changed("Adds. " + "and more " * 200)) == {own_tool("add")}


def test_packages_are_told_by_name() -> None:
    first = installing(with_own(own("add"), requirements=("httpx>=0.27", "left-pad")))
    assert (
        describe_install(install_differences(policy(), first))[1]
        == "requires the package 'httpx>=0.27', installed for it alone"
    )
    again = installing(with_own(own("add"), requirements=("httpx>=0.28", "left-pad")))
    assert describe_install(install_differences(installed(policy(), first), again)) == (
        "toolset kit stays at 1.0",
        "requires the package 'httpx>=0.28', installed for it alone",
        "does not require the package 'httpx>=0.27' any more",
    )
