"""Callers in pegboard.yaml: recognised by a token that the file itself does not hold."""

import hashlib
from pathlib import Path
from textwrap import dedent

import pytest
from tests.config.loading import problems, settings

from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.model.confirmation import ConfirmationLevel, ConfirmationMode, ConfirmationSetting
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import PrincipalId, ToolsetId
from pegboard.core.model.principals import Principal, TokenScope
from pegboard.core.model.server import DeclaredAt

ALICE = "alice-0123456789abcdef"
BOB = "bob-0123456789ABCDEF/+=="
ENVIRON = {"ALICE_TOKEN": ALICE, "BOB_TOKEN": BOB}


def sha(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


@pytest.mark.behaviour("config.principals")
def test_a_caller_is_known_by_the_hash_of_a_token_that_is_referred_to_or_by_the_hash_itself() -> None:
    text = f"""\
        principals:
          alice: {{token: "${{ALICE_TOKEN}}", toolsets: [files, dev]}}
          bob:
            token_sha256: {sha(BOB).hex().upper()}
            toolsets: all
          Carol C.: {{token: "${{ALICE_TOKEN_2}}"}}
        """
    loaded = settings(text, {**ENVIRON, "ALICE_TOKEN_2": ALICE + "2"})
    assert loaded.declared.principals == {
        PrincipalId("alice"): Principal(PrincipalId("alice"), DeclaredAt("pegboard.yaml", 2), (sha(ALICE),)),
        PrincipalId("bob"): Principal(PrincipalId("bob"), DeclaredAt("pegboard.yaml", 3), (sha(BOB),)),
        PrincipalId("Carol C."): Principal(
            PrincipalId("Carol C."), DeclaredAt("pegboard.yaml", 6), (sha(ALICE + "2"),)
        ),
    }
    assert loaded.declared.grants == {PrincipalId("alice"): frozenset({ToolsetId("files"), ToolsetId("dev")})}
    assert loaded.warnings == ()
    assert ALICE not in repr(loaded)


@pytest.mark.behaviour("tokens.names_read_as_they_are")
@pytest.mark.parametrize("hidden", ["3164", "2800", "FE0F", "034F", "202E", "00A0"])
def test_a_caller_whose_name_does_not_show_as_it_is_is_an_error(hidden: str) -> None:
    digest = sha(ALICE).hex()
    for text in (
        f'principals: {{"al\\u{hidden}ice": {{token_sha256: {digest}}}}}',
        f'grants: {{"al\\u{hidden}ice": all}}',
    ):
        assert "use characters that show as they are" in "".join(problems(text))


@pytest.mark.behaviour("databases.limited_by_caller")
def test_a_caller_may_ask_the_databases_that_are_named_all_without_a_name_and_none_by_an_empty_list() -> None:
    text = f"""\
        databases: {{shop: {{url: "sqlite:///shop.db"}}, hr: {{url: "sqlite:///hr.db"}}}}
        principals:
          alice: {{token: "${{ALICE_TOKEN}}", databases: "shop, hr"}}
          bob: {{token: "${{BOB_TOKEN}}"}}
          carol: {{token_sha256: {sha("carol").hex()}, databases: []}}
        """
    callers = settings(text, ENVIRON).declared.principals
    found = {str(id): caller.databases for id, caller in callers.items()}
    assert found == {"alice": frozenset({DatabaseId("shop"), DatabaseId("hr")}), "bob": None, "carol": frozenset()}


@pytest.mark.behaviour("databases.limited_by_caller")
def test_a_database_that_is_not_declared_is_told_at_its_place() -> None:
    text = """\
        databases: {shop: {url: "sqlite:///shop.db"}}
        principals:
          alice: {token: "${ALICE_TOKEN}", databases: [shpo]}
        """
    assert problems(text, ENVIRON) == [
        "pegboard.yaml:3: principals.alice.databases[0]: there is no database 'shpo'. Did you mean 'shop'?"
    ]


def test_a_token_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "alice.token").write_text(ALICE + "\n")
    (tmp_path / "pegboard.yaml").write_text("principals: {alice: {token: '${file:alice.token}'}}")
    loaded = load_settings_file(tmp_path / "pegboard.yaml", {})
    assert isinstance(loaded, Settings)
    assert loaded.declared.principals[PrincipalId("alice")].hashes == (sha(ALICE),)


@pytest.mark.behaviour("config.principals", "config.errors_name_the_place")
def test_what_is_wrong_with_a_caller_is_told_without_its_token() -> None:
    text = f"""\

        principals:
          alice: {{token: {ALICE}, toolsets: [files]}}
          bob: {{token: "${{X:-{BOB}}}"}}
          carol: {{token: "${{ALICE_TOKEN}}", token_sha256: "{"a" * 64}"}}
          dave: {{toolsets: [dev]}}
          local: {{token: "${{ALICE_TOKEN}}"}}
          erin: {{token_sha256: abc, password: x}}
          frank: {{token: "Bearer ${{ALICE_TOKEN}}"}}
        """
    reference = (
        "write a reference without a default, ${NAME} or ${file:path}, so that the token is not in this file; or write "
        "its token_sha256."
    )
    told = problems(text, ENVIRON)
    assert told == [
        f"pegboard.yaml:3: principals.alice.token: {reference}",
        f"pegboard.yaml:4: principals.bob.token: {reference}",
        "pegboard.yaml:5: principals.carol: token and token_sha256 exclude each other. Keep one of them.",
        "pegboard.yaml:6: principals.dave: this needs token or token_sha256. Write one of them.",
        "pegboard.yaml:7: principals.local: 'local' cannot be a name here: it has a meaning of its own; choose"
        " another.",
        "pegboard.yaml:8: principals.erin.token_sha256: write the SHA-256 of the token as 64 hexadecimal digits.",
        "pegboard.yaml:8: principals.erin.password: unknown key. Write token.",
        f"pegboard.yaml:9: principals.frank.token: {reference}",
    ]
    assert not any(ALICE in line or BOB in line for line in told)


def test_one_caller_has_one_token_and_its_toolsets_stand_in_one_place() -> None:
    text = f"""\
        grants: {{alice: [dev]}}
        principals:
          alice: {{token: "${{ALICE_TOKEN}}", toolsets: [files]}}
          bob: {{token_sha256: {sha(ALICE).hex()}}}
        """
    assert problems(text, ENVIRON) == [
        "pegboard.yaml:3: principals.alice.toolsets: grants names the toolsets of 'alice' too. Keep one of the two.",
        "pegboard.yaml:4: principals.bob: this is the token of 'alice' too, so that nobody could tell them apart. "
        "Give each its own.",
    ]


@pytest.mark.behaviour("principals.without_a_token_nobody_comes_in")
@pytest.mark.parametrize(
    ("token", "why"),
    [
        (
            None,
            "${T} stands for nothing: the environment variable T is not set. Set it before the gateway starts.",
        ),
        ("", "the token is empty or holds a character that no header carries. Make another."),
        ("two words of sixteen", "the token is empty or holds a character that no header carries. Make another."),
        ("schlüssel-schlüssel", "the token is empty or holds a character that no header carries. Make another."),
        ("a\nb" * 10, "the token is empty or holds a character that no header carries. Make another."),
        ("fifteen-letters", "the token has fewer than 16 characters, and could be guessed. Make a longer one."),
    ],
)
def test_a_caller_whose_token_cannot_be_used_stays_outside_and_the_operator_is_told(
    token: str | None, why: str
) -> None:
    loaded = settings("principals: {alice: {token: '${T}'}}", {} if token is None else {"T": token})
    assert [principal.hashes for principal in loaded.declared.principals.values()] == [()]
    assert [str(problem) for problem in loaded.warnings] == [
        f"pegboard.yaml:1: principals.alice.token: 'alice' cannot come in: {why}"
    ]


@pytest.mark.behaviour("config.granted_toolsets_exist", "config.errors_name_near_matches")
def test_a_toolset_that_is_granted_and_neither_declared_nor_installed_is_told() -> None:
    text = """\
        servers: {files: {command: x}}
        grants: {local: [builtin, files, wiki]}
        principals:
          alice: {token: "${ALICE_TOKEN}", toolsets: [fliles, all]}
          bob: {token: "${BOB_TOKEN}"}
        """
    remarks = settings(text, ENVIRON).all_warnings
    wiki = (
        "pegboard.yaml:2: grants.local[2]: there is no toolset 'wiki'. Correct it, or install it: "
        "pegboard servers add NAME --toolset wiki"
    )
    fliles = "pegboard.yaml:4: principals.alice.toolsets[0]: there is no toolset 'fliles'. Did you mean 'files'?"
    assert [str(problem) for problem in remarks.applicable({"files"})] == [wiki, fliles]
    assert [str(problem) for problem in remarks.applicable({"files", "wiki"})] == [fliles], (
        "wiki was installed by a person"
    )


@pytest.mark.behaviour("config.selected_toolsets_exist", "config.errors_name_near_matches")
def test_a_toolset_that_is_selected_and_neither_declared_nor_installed_is_told() -> None:
    text = """\
        servers: {files: {command: x}}
        selection: {toolsets: [fliles, wiki, files, builtin]}
        """
    loaded = settings(text, ENVIRON)
    fliles = (
        "pegboard.yaml:2: selection.toolsets[0]: unknown toolset 'fliles'. Did you mean 'files'? Correct it, install "
        "the toolset first (pegboard servers add NAME --toolset fliles), or mark the entry as optional."
    )
    wiki = (
        "pegboard.yaml:2: selection.toolsets[1]: unknown toolset 'wiki'. Correct it, install the toolset first ("
        "pegboard servers add NAME --toolset wiki), or mark the entry as optional."
    )
    assert [str(problem) for problem in loaded.unknown_toolsets(())] == [fliles, wiki]
    assert [str(problem) for problem in loaded.unknown_toolsets({"wiki"})] == [fliles], "wiki was installed by a person"
    assert [str(problem) for problem in loaded.all_warnings.applicable({"files"})] == [fliles, wiki]
    assert settings("selection: {toolsets: all}", ENVIRON).all_warnings.undeclared_toolsets == ()


@pytest.mark.behaviour("config.grants_name_callers")
def test_grants_to_a_name_that_no_caller_has_are_refused_beside_principals() -> None:
    text = """\
        grants: {local: [], alcie: [files], somebody: [files]}
        principals: {alice: {token: "${ALICE_TOKEN}"}}
        """
    assert problems(text, ENVIRON) == [
        "pegboard.yaml:1: grants.alcie: there is no 'alcie' under principals. Did you mean 'alice'?",
        "pegboard.yaml:1: grants.somebody: there is no 'somebody' under principals. Name the caller there too, or take "
        "this out.",
    ]


@pytest.mark.behaviour("config.grants_name_callers")
def test_grants_to_a_name_are_told_to_limit_nobody_until_somebody_has_a_token_of_it() -> None:
    remarks = settings("grants: {local: [], alice: []}").all_warnings
    assert [str(problem) for problem in remarks.applicable({})] == [
        "pegboard.yaml:1: grants.alice: nobody is called 'alice', neither under principals nor by a token, and so this "
        "limits nobody. Name the caller under principals, make it a token (pegboard tokens make alice --scope call), "
        "or limit local."
    ]
    assert [*remarks.applicable({}, {"alice"})] == [], "alice has a token"


@pytest.mark.behaviour("principals.the_token_stays_here")
def test_with_callers_of_their_own_tokens_no_server_may_be_sent_their_authorization() -> None:
    servers = """\
        servers:
          github:
            url: http://h
            headers:
              Authorization: ${request:authorization}
        """
    assert settings(servers).warnings == ()
    guarded = dedent(servers) + "principals: {alice: {token: '${ALICE_TOKEN}'}}"
    assert problems(guarded, ENVIRON) == [
        "pegboard.yaml:5: servers.github.headers.Authorization: with principals, the caller's Authorization is its "
        "token for this gateway and is passed on to no server. Let callers send another header, such as "
        "${request:X-Token}."
    ]


@pytest.mark.behaviour("config.principals")
@pytest.mark.parametrize("nobody", ["", " {}"])
def test_a_list_of_callers_that_names_nobody_is_refused(nobody: str) -> None:
    (problem,) = problems(f"principals:{nobody}\n")
    assert "names nobody, and then whoever reaches the gateway is let in" in str(problem)


@pytest.mark.behaviour("access.scopes")
def test_a_callers_token_opens_calls_unless_the_file_says_otherwise() -> None:
    said = settings(
        dedent(
            f"""
            principals:
              agent: {{token_sha256: {"a" * 64}}}
              alice: {{token_sha256: {"b" * 64}, scopes: [read, operate]}}
              nothing: {{token_sha256: {"c" * 64}, scopes: []}}
            """
        )
    )
    assert {id: principal.scopes for id, principal in said.declared.principals.items()} == {
        PrincipalId("agent"): {TokenScope.CALL},
        PrincipalId("alice"): {TokenScope.READ, TokenScope.OPERATE},
        PrincipalId("nothing"): set(),
    }
    told = problems(f"principals:\n  alice: {{token_sha256: {'b' * 64}, scopes: [root]}}\n")
    assert "this must be one of read, call, operate, admin; it is 'root'." in "\n".join(told)


@pytest.mark.behaviour("confirmation.interactive", "confirmation.modes")
def test_how_calls_are_confirmed_is_read_with_its_line_and_unset_where_nothing_is_said() -> None:
    text = f"""\
        confirmation: ticket
        principals:
          agent: {{token_sha256: {"a" * 64}}}
          alice:
            token_sha256: {"b" * 64}
            interactive: true
            confirmation: in_client
        """
    said = settings(dedent(text)).declared
    board = said.confirmation
    assert board == ConfirmationSetting(ConfirmationLevel.BOARD, "", ConfirmationMode.TICKET)
    assert board is not None
    assert board.at == DeclaredAt("pegboard.yaml", 1)
    agent, alice = (said.principals[PrincipalId(name)].confirmation for name in ("agent", "alice"))
    assert (agent.interactive, agent.mode) == (None, None)
    assert (alice.interactive, alice.mode) == (True, ConfirmationMode.IN_CLIENT)
    assert (alice.interactive_at, alice.mode_at) == (DeclaredAt("pegboard.yaml", 6), DeclaredAt("pegboard.yaml", 7))
    whole = settings("confirmation: {mode: in_client, deadline: 10m}\n").declared
    assert whole.confirmation == ConfirmationSetting(ConfirmationLevel.BOARD, "", ConfirmationMode.IN_CLIENT)
    assert whole.confirmation_seconds == 600
    assert settings("confirmation: {deadline: 10m}\n").declared.confirmation is None
    assert problems("confirmation: never\n") == [
        "pegboard.yaml:1: confirmation.mode: this must be one of in_client, ticket; it is 'never'."
    ]
    assert problems(f"principals:\n  alice: {{token_sha256: {'b' * 64}, interactive: often}}\n") == [
        "pegboard.yaml:2: principals.alice.interactive: this must be true or false, without quotes, and it is text."
    ]


@pytest.mark.behaviour("access.proxies")
def test_trusted_proxies_are_addresses_and_networks() -> None:
    said = settings("gateway: {trusted_proxies: [127.0.0.1, 10.0.0.0/8, '2001:db8::/32']}\n")
    assert [str(network) for network in said.gateway.proxies] == ["127.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"]
    for wrong in ("proxy.example", "10.0.0.1/8", "10.0.0.0/99", "'*'"):
        told = "\n".join(problems(f"gateway: {{trusted_proxies: [{wrong}]}}\n"))
        assert "is no address and no network. Write 10.0.0.7 or 10.0.0.0/24" in told
