"""What a server says about its sign-in is not believed blindly: addresses, issuers, sizes and redirects are checked."""

from ipaddress import ip_address

import anyio
import httpx2
import pytest
from tests.providers.mcp.signing import Person, asking, guarded, process
from tests.providers.mcp.web import served
from tests.support.doubles import MemorySecrets

from pegboard.core.model.server import Http, OAuth
from pegboard.ports.providers import SignInUnavailable
from pegboard.providers.mcp.errors import McpServerError
from pegboard.providers.mcp.oauth.http import SignInAddressPolicy, open_sender

pytestmark = pytest.mark.anyio


async def why_down(person: Person) -> str:
    return (await person.watched.down()).why


@pytest.mark.behaviour("mcp.in.sign_in_safe")
@pytest.mark.parametrize(
    ("server", "why"),
    [
        ("http://as.example.org", "wants a sign-in at http://as.example.org, which is not https: nobody is sent there"),
        (
            "http://169.254.169.254",
            "wants a sign-in at http://169.254.169.254, which is not https: nobody is sent there",
        ),
        (
            "https://169.254.169.254",
            "wants a sign-in at 169.254.169.254, which is an address inside this machine or its network",
        ),
        (
            "https://[fe80::1]",
            "wants a sign-in at fe80::1, which is an address inside this machine or its network",
        ),
        (
            "https://[::ffff:169.254.169.254]",
            "wants a sign-in at ::ffff:a9fe:a9fe, which is an address inside this machine or its network",
        ),
        ("https://0.0.0.0", "wants a sign-in at 0.0.0.0, which is an address inside this machine or its network"),
        (
            "https://me:secret@as.example.org",
            "wants a sign-in at an address with a password in it, at as.example.org: that is not followed",
        ),
    ],
)
async def test_an_authorization_server_at_an_unsafe_address_is_not_asked(server: str, why: str) -> None:
    async with asking(guarded(resource={"authorization_servers": [server]})) as person:
        assert await why_down(person) == why


@pytest.mark.behaviour("mcp.in.sign_in_safe")
@pytest.mark.parametrize("url", ["https://127.0.0.1:1/x", "https://localhost:1/x", "https://[::1]:1/x"])
async def test_a_server_elsewhere_cannot_have_this_machine_asked(url: str) -> None:
    async with open_sender("https://tools.example.org/mcp") as send:
        with pytest.raises(McpServerError, match="which is an address inside this machine or its network"):
            await send(httpx2.Request("GET", url))


PRIVATE = ("10.0.0.7", "172.16.3.4", "192.168.1.1", "100.64.0.1", "[fd12::1]", "[::ffff:10.0.0.7]", "[64:ff9b::a00:7]")
NOWHERE = ("169.254.169.254", "[fe80::1]", "100.100.100.200", "[fd00:ec2::254]", "224.0.0.1", "0.0.0.0", "240.0.0.1")
PLACES = {
    "outside": "https://93.184.216.34/mcp",
    "network": "https://10.1.2.3/mcp",
    "network by name": "https://tools.internal/mcp",
    "outside by name": "https://tools.example.org/mcp",
    "on both sides": "https://both.example.org/mcp",
    "unknown": "https://unknown.example.org/mcp",
    "machine": "https://127.0.0.1/mcp",
}
NAMES = {
    "tools.internal": ["10.1.2.3", "fd12::2"],
    "tools.example.org": ["93.184.216.34"],
    "both.example.org": ["93.184.216.34", "10.1.2.3"],
}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_up(host: str, port: int, **how: object) -> list[tuple[object, ...]]:
        if host not in NAMES:
            raise OSError(f"nobody knows {host}")
        return [(0, 0, 0, "", (address, port)) for address in NAMES[host]]

    monkeypatch.setattr(anyio, "getaddrinfo", look_up)


@pytest.mark.behaviour("mcp.in.sign_in_safe")
@pytest.mark.parametrize(
    ("place", "reached"),
    [
        ("outside", ["outside"]),
        ("outside by name", ["outside"]),
        ("on both sides", ["outside"]),
        ("unknown", ["outside"]),
        ("network", ["outside", "network"]),
        ("network by name", ["outside", "network"]),
        ("machine", ["outside", "network", "machine"]),
    ],
)
@pytest.mark.usefixtures("names")
async def test_a_server_leads_a_sign_in_no_nearer_than_it_is_itself(place: str, reached: list[str]) -> None:
    bounds = SignInAddressPolicy(httpx2.URL(PLACES[place]))
    asked = {
        "outside": ("93.184.216.34", "[2606:2800:220:1::1]"),
        "network": PRIVATE,
        "machine": ("127.0.0.1", "127.8.8.8", "[::1]", "[::ffff:127.0.0.1]"),
        "nowhere": NOWHERE,
    }
    for where, hosts in asked.items():
        for host in hosts:
            url = httpx2.URL(f"https://{host}/x")
            if where in reached:
                await bounds.check_url(url)
            else:
                with pytest.raises(McpServerError, match="which is an address inside this machine or its network"):
                    await bounds.check_url(url)


@pytest.mark.usefixtures("names")
async def test_where_calls_go_anyway_questions_go_too() -> None:
    bounds = SignInAddressPolicy(httpx2.URL(PLACES["on both sides"]))
    inside = ip_address("10.1.2.3")
    await bounds.check_address(inside, httpx2.URL("https://both.example.org/.well-known/x"))
    for other in ("https://both.example.org:8443/x", "https://other.example.org/x"):
        with pytest.raises(McpServerError, match="which is an address inside this machine or its network"):
            await bounds.check_address(inside, httpx2.URL(other))


@pytest.mark.behaviour("mcp.in.sign_in_safe")
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://localhost:1/x", "http://tools.example.org:81/x"])
async def test_a_server_elsewhere_cannot_have_anything_asked_in_the_clear(url: str) -> None:
    async with open_sender("https://tools.example.org/mcp") as send:
        with pytest.raises(McpServerError, match="which is not https"):
            await send(httpx2.Request("GET", url))


@pytest.mark.behaviour("mcp.in.sign_in_safe")
@pytest.mark.parametrize("where", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_no_endpoint_in_the_clear_is_used(where: str) -> None:
    guard = guarded(metadata={where: "http://as.example.org/x"})
    async with asking(guard) as person:
        assert await person.signs_in() == SignInUnavailable(
            "dev~peer wants a sign-in at http://as.example.org, which is not https: nobody is sent there."
        )
        assert guard.valid == set()


@pytest.mark.behaviour("mcp.in.sign_in_safe")
async def test_a_resource_that_is_another_is_not_signed_in_to() -> None:
    async with asking(guarded(resource={"resource": "https://bank.example.org/mcp"})) as person:
        why = await why_down(person)
        assert why.startswith(
            "wants a sign-in that is not to be trusted: Protected resource https://bank.example.org/mcp does not match"
        )


@pytest.mark.behaviour("mcp.in.sign_in_safe")
async def test_metadata_of_another_issuer_is_not_believed() -> None:
    async with asking(guarded(metadata={"issuer": "https://bank.example.org"})) as person:
        why = await why_down(person)
        assert why.startswith(
            "wants a sign-in that is not to be trusted: Authorization server metadata issuer mismatch"
        )


@pytest.mark.behaviour("mcp.in.sign_in_safe")
async def test_an_answer_of_another_issuer_is_refused() -> None:
    guard = guarded(iss="https://bank.example.org")
    async with asking(guard) as person:
        refused = await person.signs_in()
        assert isinstance(refused, SignInUnavailable)
        assert refused.why.startswith(
            "dev~peer wants a sign-in that is not to be trusted: Authorization response iss mismatch"
        )
        assert "authorization_code" not in guard.asked


@pytest.mark.behaviour("mcp.in.sign_in_safe")
async def test_metadata_without_end_is_not_read_to_its_end() -> None:
    async with asking(guarded(filler=300_000)) as person:
        assert await why_down(person) == "wants a sign-in, and 127.0.0.1 said more about it than 256 KiB"


@pytest.mark.behaviour("mcp.in.sign_in_safe")
async def test_redirects_in_circles_come_to_an_end() -> None:
    """What is not found there is looked for at the older place, and that is not where this server has it."""
    async with asking(guarded(circles=True)) as person:
        await person.needed()


async def test_metadata_that_is_none_is_as_good_as_nothing() -> None:
    async with asking(guarded(metadata={"token_endpoint": 7}, resource={"resource": 7})) as person:
        assert (await why_down(person)).startswith("answered HTTP 401: needs sign-in, and does not say where")


@pytest.mark.behaviour("mcp.in.sign_in_clients")
async def test_a_server_that_registers_nobody_says_what_to_do() -> None:
    async with asking(guarded(register_status=403)) as person:
        assert await person.signs_in() == SignInUnavailable(
            "dev~peer wants a sign-in, and its authorization server does not register us as a client (HTTP 403, "
            "invalid_client_metadata). Register one there and write it under oauth: client_id."
        )


@pytest.mark.behaviour("mcp.in.sign_in_clients")
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_client_that_people_registered_is_used_with_its_secret(method: str) -> None:
    guard = guarded(metadata={"token_endpoint_auth_methods_supported": [method]})
    back = "http://127.0.0.1:8460/sign-in/callback"
    guard.clients["ours"] = {"client_id": "ours", "client_secret": "s3cret", "redirect_uris": [back]}
    async with asking(guard, oauth=OAuth("ours", "s3cret", scopes=("read", "write"))) as person:
        await person.comes_in()
        guard.expire()
        await person.watched.call("echo")
        assert guard.asked == ["authorization_code", "refresh_token"]
        assert guard.granted == ["read write", "read write"]


@pytest.mark.behaviour("mcp.in.sign_in_clients")
async def test_a_client_metadata_document_stands_for_a_registration() -> None:
    document = "https://tools.example.org/client.json"
    guard = guarded(metadata={"client_id_metadata_document_supported": True})
    back = "http://127.0.0.1:8460/sign-in/callback"
    guard.clients[document] = {"client_id": document, "redirect_uris": [back]}
    async with asking(guard, oauth=OAuth(client_metadata_url=document)) as person:
        await person.comes_in()
        assert guard.asked == ["authorization_code"]


@pytest.mark.behaviour("mcp.in.sign_in_clients")
async def test_a_gateway_at_another_address_is_another_client() -> None:
    guard = guarded()
    async with asking(guard) as person:
        await person.comes_in()
        person.desk.base_url = "http://127.0.0.1:9999"
        guard.revoke()
        await person.watched.call("echo")
        await person.comes_in()
        assert guard.asked.count("register") == 2


@pytest.mark.behaviour("mcp.in.sign_in_clients")
async def test_what_the_server_says_it_wants_is_asked_for() -> None:
    guard = guarded(scope="read:all")
    async with asking(guard) as person:
        await person.comes_in()
        assert guard.granted == ["read:all"]


async def test_a_name_with_several_addresses_is_reached_at_the_one_that_answers() -> None:
    guard = guarded()
    async with (
        served(guard) as http,
        process(Http(http.url.replace("127.0.0.1", "localhost")), MemorySecrets()) as person,
    ):
        await person.comes_in()
    assert guard.asked == ["register", "authorization_code"]
