"""What is wrong with a pegboard.yaml: all of it at once, each with its place and what to do."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.config.loading import FOLDER, problems, settings
from tests.core.boards import key

from pegboard.config.schema.document import FileProblem, ScalarKind, scalar_kind
from pegboard.config.settings import MAX_SETTINGS_BYTES, InvalidFile, Settings, load_settings_file, load_settings_text


@pytest.mark.behaviour(
    "config.errors_name_the_place", "config.errors_name_near_matches", "config.tool_lists_are_exclusive"
)
def test_all_problems_are_told_at_once_each_at_its_line() -> None:
    text = """\
        servers:
          github:
            comand: npx
          Jira:
            command: x
          both:
            command: x
            url: http://h
            args: y
          lists:
            url: ftp://h
            enabled_tools: [a]
            disabled_tools: [b]
            cwd: /tmp
            timeouts: {call: 0, start: soon, wait: 1}
            trust: full
            enabled: yes
        selection: {toolsets: [Files], enabled_tools: "mcp:x"}
        mcpServers: {}
        deny: ["github:", 5]
        grants: {a: {}}
        store: ./pegboard.db
        audit: {keep_days: 0.5}
        gateway: {allowed_hosts: ["http://h"], allowed_origins: [h]}
        """
    id_rule = "1 to 64 characters of a-z, 0-9, '_' and '-', the first a letter or digit"
    assert problems(text) == [
        "pegboard.yaml:3: servers.github.comand: unknown key. Did you mean 'command'?",
        f"pegboard.yaml:4: servers.Jira: 'Jira' cannot be a name here: use {id_rule}.",
        "pegboard.yaml:8: servers.both: command and url exclude each other. Keep one of them.",
        "pegboard.yaml:9: servers.both.args: this must be a list, and it is text. Write [one, two].",
        "pegboard.yaml:11: servers.lists.url: write a URL that begins with http:// or https://, or with a reference.",
        "pegboard.yaml:13: servers.lists: enabled_tools and disabled_tools exclude each other. Keep one of them.",
        "pegboard.yaml:14: servers.lists.cwd: this goes only with command. Remove it, or write command.",
        "pegboard.yaml:15: servers.lists.timeouts.call: this must be more than 0 seconds and at most a year: every wait"
        " has an end.",
        "pegboard.yaml:15: servers.lists.timeouts.start: this must be seconds: a number, or a text such as 500ms, 30s"
        " or 2m.",
        "pegboard.yaml:15: servers.lists.timeouts.wait: unknown key. Known here: start, call, stop.",
        "pegboard.yaml:16: servers.lists.trust: this must be one of open, baseline, strict; it is 'full'.",
        "pegboard.yaml:17: servers.lists.enabled: this must be true or false, without quotes, and it is text.",
        f"pegboard.yaml:18: selection.toolsets[0]: 'Files' does not fit: name a toolset by its id, {id_rule};"
        " or write all.",
        "pegboard.yaml:18: selection.enabled_tools: 'mcp:x' does not fit: write a tool's name, an id such as"
        " mcp:dev~github:create_issue, a pattern such as github:*, toolset:dev, or mcp:dev~github for all of a server.",
        "pegboard.yaml:19: mcpServers: unknown key. This is another client's list. Convert it with: pegboard import"
        " --from FILE, or rename the key to servers.",
        "pegboard.yaml:20: deny[0]: 'github:' does not fit: write scope:name, for example github:* or *:read_*.",
        "pegboard.yaml:20: deny[1]: this must be a text, and it is 5. Put it in quotes.",
        "pegboard.yaml:21: grants.a: this must be a list or one text with commas, and it is a map. Write [one, two].",
        "pegboard.yaml:22: store: write a URL: sqlite:///pegboard.db for a file, or postgresql://user@host/database.",
        "pegboard.yaml:23: audit.keep_days: this must be a whole number from 1 to 36500; it is 0.5.",
        "pegboard.yaml:24: gateway.allowed_hosts[0]: 'http://h' does not fit: write a host, with a port or without, as"
        " a client's Host header has it: example.org:8460, or example.org:*.",
        "pegboard.yaml:24: gateway.allowed_origins[0]: 'h' does not fit: write an origin without a path, as a browser"
        " sends it: https://example.org, or http://localhost:*.",
    ]


@pytest.mark.behaviour("ids.charset")
@pytest.mark.parametrize("id", ["", "Upper", "a b", "dev~github", "a:b", "../x", "-a", "ä", "a" * 65])
def test_an_id_that_breaks_the_rule_is_refused(id: str) -> None:
    (told,) = problems(f"servers: {{'{id}': {{command: x}}}}")
    assert "cannot be a name here: use 1 to 64 characters" in told


@pytest.mark.parametrize("id", ["all", "builtin", "mcp", "toolset"])
def test_a_word_with_a_meaning_of_its_own_is_no_id(id: str) -> None:
    assert problems(f"servers: {{{id}: {{command: x}}}}") == [
        f"pegboard.yaml:1: servers.{id}: {id!r} cannot be a name here: it has a meaning of its own; choose another."
    ]


def test_a_selection_without_a_value_is_not_guessed() -> None:
    assert problems("selection:\n  toolsets:\n") == [
        "pegboard.yaml:2: selection.toolsets: this has no value. Write [] for none of them, or remove the key."
    ]


def test_values_that_may_be_secrets_are_not_repeated_in_errors() -> None:
    text = """\
        servers:
          a: {command: x, args: ["hunter2${"], env: {A: "hunter2${oops-}"}}
          b: {url: "hunter2://x", headers: {X: "hunter2\\n"}}
        store: hunter2
        """
    told = "\n".join(problems(text))
    assert len(told.splitlines()) == 5
    assert "hunter2" not in told


@pytest.mark.behaviour("config.missing_reference_is_error")
def test_a_missing_variable_is_told_at_its_line_and_the_other_servers_stand() -> None:
    text = """\
        servers:
          a:
            command: ${BIN}
            args: ["${HERE}", "${ONE} and ${TWO}"]
          b: {command: x, enabled: false, args: ["${OFF}"]}
          c: {url: "http://${HOST}/", headers: {A: "${file:no/such}"}}
        """
    loaded = settings(text, {"HERE": "x"})
    assert [str(key) for key in loaded.declared.servers] == ["a~a", "b~b", "c~c"]
    assert [(warning.line, warning.key, warning.message.split(":")[0]) for warning in loaded.warnings] == [
        (3, "servers.a.command", "${BIN} stands for nothing"),
        (4, "servers.a.args[1]", "${ONE} stands for nothing"),
        (4, "servers.a.args[1]", "${TWO} stands for nothing"),
        (6, "servers.c.url", "${HOST} stands for nothing"),
        (6, "servers.c.headers.A", "${file"),
    ]
    assert str(loaded.warnings[0]) == (
        "pegboard.yaml:3: servers.a.command: ${BIN} stands for nothing: the environment variable BIN is not set. "
        "Set it before the gateway starts, or write ${BIN:-a default}."
    )


def test_servers_of_a_toolset_that_is_off_are_not_warned_of() -> None:
    text = "servers: {a: {command: '${BIN}', toolset: dev}}\ntoolsets: {dev: {enabled: false}}"
    assert settings(text).warnings == ()


@pytest.mark.behaviour("config.missing_reference_is_error")
def test_a_store_that_cannot_be_opened_is_an_error() -> None:
    assert problems("store: ${STORE}") == [
        "pegboard.yaml:1: store: ${STORE} stands for nothing: the environment variable STORE is not set. "
        "Set it before the gateway starts, or write ${STORE:-a default}."
    ]


@pytest.mark.behaviour("config.errors_name_near_matches")
def test_a_name_that_is_nearly_a_declared_one_is_warned_of() -> None:
    text = """\
        servers:
          github: {command: x, toolset: develop, enabled_tools: all}
        selection: {toolsets: [develop]}
        grants: {local: [develop]}
        toolsets: {develp: {}}
        deny: ["gihub:x", "g*:x", "unlike:x", "develop~github:x"]
        """
    assert [str(warning) for warning in settings(text).warnings] == [
        "pegboard.yaml:2: servers.github.enabled_tools: this allows one tool named 'all'. Remove it to allow all.",
        "pegboard.yaml:5: toolsets.develp: this file has no server of toolset 'develp'. Did you mean 'develop'?",
    ]


SHOP = "servers: {shop: {command: x, toolset: store}}\n"
MISSPELLED_SCOPES = {
    "deny: ['shpo:*']": "shpo",
    "deny: ['shpo:delete_*']": "shpo",
    "deny: ['shpo:delete_file']": "shpo",
    "deny: ['mcp:shpo']": "shpo",
    "deny: ['mcp:store~shpo:*']": "store~shpo",
    "selection: {disabled_tools: ['shpo:*']}": "shpo",
    "selection: {disabled_tools: ['shpo:delete_file']}": "shpo",
    "selection: {disabled_tools: ['mcp:shpo:delete_file']}": "shpo",
    "selection: {disabled_tools: ['mcp:store~shpo']}": "store~shpo",
    "servers: {shop: {command: x, toolset: store, disabled_tools: ['shpo:*']}}": "shpo",
}


@pytest.mark.behaviour("config.denied_scopes_exist", "config.errors_name_near_matches")
@pytest.mark.parametrize("text", MISSPELLED_SCOPES)
def test_an_unknown_server_or_toolset_in_a_denial_is_an_error(text: str) -> None:
    scope = MISSPELLED_SCOPES[text]
    loaded = settings(text if "servers" in text else SHOP + text)
    (problem,) = loaded.unknown_toolsets(())
    near = "store~shop" if "~" in scope else "shop"
    assert problem.message.startswith(f"unknown toolset or server {scope!r}. Did you mean {near!r}")
    assert problem.message.endswith(", or mark the entry as optional.")
    toolset, _, server = scope.rpartition("~")
    installed = key(f"{toolset or 'other'}~{server}")
    assert loaded.unknown_toolsets((), [installed]) == ()
    assert [*loaded.all_warnings.applicable((), (), [installed])] == []
    if not toolset:
        assert loaded.unknown_toolsets({scope}) == ()


@pytest.mark.behaviour("config.denied_scopes_exist")
def test_the_id_of_a_server_is_no_toolset_in_a_denial_of_a_toolset() -> None:
    loaded = settings(SHOP + "selection: {disabled_tools: ['toolset:shop', 'toolset:stroe']}")
    assert [problem.message[:27] for problem in loaded.unknown_toolsets(())] == [
        "unknown toolset 'shop'. Cor",
        "unknown toolset 'stroe'. Di",
    ]
    assert len(loaded.unknown_toolsets((), [key("other~stroe")])) == 2


@pytest.mark.behaviour("config.denied_scopes_exist")
@pytest.mark.parametrize("written", ["deny: ['toolset:shop']", "deny: ['toolset:shpo']"])
def test_a_toolset_in_the_form_of_a_selection_is_an_error_under_deny(written: str) -> None:
    (problem,) = settings(SHOP + written).unknown_toolsets(())
    meant = written[16:20]
    assert problem.message == (
        f"unknown toolset or server 'toolset'. For all tools of a toolset write {meant}:* here. Correct it, install it "
        "first (pegboard servers add NAME --toolset toolset), or mark the entry as optional."
    )


@pytest.mark.behaviour("config.denied_scopes_exist", "names.optional")
@pytest.mark.parametrize(
    "text",
    [
        "deny: ['shop:*', 'store:*', 'store~shop:*', 'mcp:shop', 'mcp:store~shop:x', 'builtin:*', '*:x', x, 'sh*:y']",
        "deny: [{name: 'shpo:*', optional: true}, 'builtin:x', '*~shop:*', '[st]hop:*']",
        "selection: {disabled_tools: ['shop:*', 'toolset:store', 'mcp:store~shop', 'mcp:shop:x', 'toolset:builtin']}",
        "selection: {disabled_tools: [{name: 'shpo:*', optional: true}, 'store:x', '*:y']}",
        "selection: {enabled_tools: ['shpo:*']}",
        "servers: {shop: {command: x, toolset: store, disabled_tools: ['shop:*', 'ns:tool', 'x*', 'store~shop:y*']}}",
        "servers: {shop: {command: x, toolset: store, disabled_tools: [{name: 'shpo:*', optional: true}]}}",
    ],
)
def test_known_and_optional_scopes_and_those_with_wildcards_are_no_errors(text: str) -> None:
    assert settings(text if "servers" in text else SHOP + text).unknown_toolsets(()) == ()


DESK = "servers: {shop: {command: x}, desk: {command: y}}\n"


@pytest.mark.behaviour("config.denied_scopes_exist")
@pytest.mark.parametrize("said", ["enabled: false", "requires_confirmation: true", "confirmation: ticket"])
@pytest.mark.parametrize("written", ["shop:pay", "shop:*", "shop~shop:pay", "mcp:shop:pay"])
def test_a_restricting_override_under_the_wrong_toolset_is_an_error(written: str, said: str) -> None:
    loaded = settings(DESK + f"overrides: {{desk: {{'{written}': {{{said}}}}}}}")
    (problem,) = loaded.unknown_toolsets(())
    scope = {"shop~shop:pay": "shop~shop", "mcp:shop:pay": "desk~shop"}.get(written, "shop")
    assert problem.message.startswith(f"toolset 'desk' has no server {scope!r}, so this restricts nothing. ")
    assert ("It is in toolset 'shop': write the override under overrides.shop" in problem.message) == (
        written != "mcp:shop:pay"
    )
    assert problem.line == 2
    assert len(loaded.unknown_toolsets({"shop"}, [key("other~shop")])) == 1
    if scope != "shop~shop":
        assert loaded.unknown_toolsets((), [key("desk~shop")]) == ()


@pytest.mark.behaviour("config.denied_scopes_exist", "names.optional")
@pytest.mark.parametrize(
    "row",
    [
        "'shop:pay': {enabled: false, optional: true}",
        "'shop:pay': {description_override: Pays}",
        "'desk:pay': {enabled: false}",
        "'desk~desk:pay': {enabled: false}",
        "'mcp:desk:pay': {enabled: false}",
        "'*:pay': {enabled: false}",
        "pay: {enabled: false}",
    ],
)
def test_overrides_that_may_fit_or_restrict_nothing_are_no_errors(row: str) -> None:
    assert settings(DESK + f"overrides: {{desk: {{{row}}}}}").unknown_toolsets(()) == ()


@pytest.mark.behaviour("config.denied_scopes_exist", "config.errors_name_near_matches")
def test_switching_off_a_misspelled_toolset_is_an_error() -> None:
    loaded = settings(DESK + "toolsets: {shp: {enabled: false}}")
    assert [str(problem) for problem in loaded.unknown_toolsets(())] == [
        "pegboard.yaml:2: toolsets.shp: no server belongs to toolset 'shp', so this switches nothing off. Did you mean "
        "'shop'? Correct it, remove it, or install the toolset first (pegboard servers add NAME --toolset shp)."
    ]
    assert loaded.warnings == ()
    assert loaded.unknown_toolsets((), [key("shp~any")]) == ()
    for right in ("{shop: {enabled: false}}", "{wiki: {enabled: false}}", "{shp: {enabled: true}}"):
        assert settings(DESK + f"toolsets: {right}").unknown_toolsets(()) == ()


@pytest.mark.parametrize("days", ["1e99", "36501", "9" * 40, ".inf", ".nan", "-1"])
def test_an_absurd_number_is_told_with_what_it_may_be(days: str) -> None:
    assert problems(f"audit: {{keep_days: {days}, keep_rows: {days}}}") == [
        f"pegboard.yaml:1: audit.keep_days: this must be a whole number from 1 to 36500; it is {days}.",
        *(
            ()
            if days == "36501"
            else (f"pegboard.yaml:1: audit.keep_rows: this must be a whole number from 1 to 1000000000; it is {days}.",)
        ),
    ]


def test_a_file_of_nothing_but_mistakes_is_told_in_two_hundred_lines() -> None:
    told = problems("\n".join(f"wrong{number}: 1" for number in range(1000)))
    assert len(told) == 201
    assert told[-1] == "pegboard.yaml: and 800 more problems. Mend these first."


def test_a_long_list_of_mistakes_is_told_in_two_hundred_lines() -> None:
    told = problems("deny: [" + ", ".join(["5"] * 300) + "]")
    assert len(told) == 201
    assert told[-1] == "pegboard.yaml: and 100 more problems. Mend these first."


def test_the_root_must_be_a_map() -> None:
    assert problems("- a\n- b\n") == [
        "pegboard.yaml:1: this must be a map with keys such as servers, toolsets, selection; it is a list."
    ]


def test_a_file_that_is_not_there_or_no_file_is_told(tmp_path: Path) -> None:
    missing, folder = tmp_path / "no.yaml", tmp_path / "folder"
    folder.mkdir()
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    for path, what in (
        (missing, "there is no such file. Check the path, or create it."),
        (folder / "x" / "y.yaml", "there is no such file. Check the path, or create it."),
        (folder, "this is a folder. Name a file in it."),
        (loop, "this is a link that leads back to itself. Point it at a file."),
    ):
        assert load_settings_file(path, {}) == InvalidFile(str(path), (FileProblem(str(path), 0, "", what),))
    assert load_settings_file("a\0b", {}) == InvalidFile(
        "a\0b", (FileProblem("a\0b", 0, "", "no file can have this name: it holds a NUL character."),)
    )


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the super-user reads everything, so the refusal is made by hand

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
    what = "you may not read this file. Change its permissions, or run as a user who may."
    assert load_settings_file(path, {}) == InvalidFile(str(path), (FileProblem(str(path), 0, "", what),))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"servers:\n  a: {command: \xff}\n", "pegboard.yaml:2: the byte 0xFF is not UTF-8. Save the file as UTF-8."),
        ("servers: {}".encode("utf-16"), "pegboard.yaml:1: this file is saved as UTF-16. Save it as UTF-8."),
        (
            b"servers: {}\n# \x07\n",
            "pegboard.yaml:2: the character U+0007 cannot stand in YAML. Remove it, or write it as an escape.",
        ),
        (b"a" * (MAX_SETTINGS_BYTES + 1), "pegboard.yaml: larger than 5 MB, which is the limit. Is it the right file?"),
    ],
)
def test_content_that_is_no_text_is_told(content: bytes, told: str, tmp_path: Path) -> None:
    loaded = load_settings_text(content, "pegboard.yaml", FOLDER, {})
    assert isinstance(loaded, InvalidFile)
    assert str(loaded) == told
    (tmp_path / "pegboard.yaml").write_bytes(content)
    from_disk = load_settings_file(tmp_path / "pegboard.yaml", {})
    assert isinstance(from_disk, InvalidFile)
    assert str(from_disk) == f"{tmp_path}/{told}"


written = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["${A}", "${", "$${", "all", "mcp:a~b:c", "http://h", "*", "30s", "x"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.text(max_size=4),
                st.sampled_from(["servers", "command", "url", "env", "a", "toolsets", "selection", "timeouts", "call"]),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(written)
def test_whatever_is_written_loading_answers_with_a_value(value: object) -> None:
    text = as_flow(value)
    assert isinstance(load_settings_text(text, "pegboard.yaml", FOLDER, {}), Settings | InvalidFile)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_whatever_the_bytes_are_loading_answers_with_a_value(content: bytes | str) -> None:
    for file in ("pegboard.yaml", "pegboard.json"):
        assert isinstance(load_settings_text(content, file, FOLDER, {}), Settings | InvalidFile)


def as_flow(value: object) -> str:
    """YAML in which every text is quoted as YAML quotes."""
    match value:
        case dict():
            return "{" + ", ".join(f"{as_flow(key)}: {as_flow(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(as_flow(inner) for inner in value) + "]"
        case str():
            return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
        case None:
            return "null"
        case _:
            return str(value).lower()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((word, ScalarKind.NULL) for word in ("", "~", "null", "NULL")),
        *((word, ScalarKind.BOOLEAN) for word in ("true", "False")),
        *((word, ScalarKind.INTEGER) for word in ("0", "-12", "0x1F", "0o17", "007")),
        *((word, ScalarKind.NUMBER) for word in ("1.5", ".5", "-1e9", ".inf", "-.INF", ".nan", "1.")),
        *(
            (word, ScalarKind.TEXT)
            for word in ("yes", "no", "on", "y", "12:30", "2026-11-15", "1_000", "0b1", "1.2.3", "9" * 80)
        ),
    ],
)
def test_plain_words_mean_what_an_editor_says_they_mean(text: str, kind: ScalarKind) -> None:
    assert scalar_kind(text) is kind
