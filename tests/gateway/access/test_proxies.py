"""Whose word is taken on where a request comes from."""

from ipaddress import ip_network

import pytest

from pegboard.gateway.access.attempts import TrustedProxies
from pegboard.gateway.access.authentication import own_origin

PROXIES = TrustedProxies((ip_network("10.0.0.0/8"), ip_network("127.0.0.1/32"), ip_network("::1/128")))


def forwarded(*lines: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", line.encode("latin-1")) for line in lines]


@pytest.mark.behaviour("access.proxies")
@pytest.mark.parametrize(
    ("peer", "lines", "client"),
    [
        ("203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6, 198.51.100.1, 10.1.2.3"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["6.6.6.6, nonsense"], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1, nonsense, 10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["10.9.9.9"], "10.9.9.9"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("::1", ["2001:db8::7"], "2001:db8::7"),
        ("::ffff:127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_the_last_address_that_is_no_proxys_own_is_the_clients(peer: str, lines: list[str], client: str) -> None:
    assert PROXIES.client_address(peer, forwarded(*lines)) == client
    assert TrustedProxies().client_address(peer, forwarded(*lines)) == peer


@pytest.mark.behaviour("access.proxies")
def test_only_a_declared_proxy_says_that_a_browser_speaks_tls() -> None:
    said = [(b"x-forwarded-proto", b"https")]
    assert PROXIES.is_https("127.0.0.1", said)
    assert not PROXIES.is_https("203.0.113.5", said)
    assert not TrustedProxies().is_https("127.0.0.1", said)
    assert not PROXIES.is_https("127.0.0.1", [(b"x-forwarded-proto", b"https, http")])
    assert not PROXIES.is_https("127.0.0.1", [])


@pytest.mark.parametrize(
    ("host", "public", "https", "own"),
    [
        ("127.0.0.1:8460", None, False, "http://127.0.0.1:8460"),
        ("LOCALHOST:8460", None, False, "http://localhost:8460"),
        ("tools.example.org", None, True, "https://tools.example.org"),
        ("tools.example.org:443", None, True, "https://tools.example.org"),
        ("tools.example.org:80", None, False, "http://tools.example.org"),
        ("tools.example.org", "https://Tools.Example.Org", False, "https://tools.example.org"),
        ("tools.example.org:443", "https://tools.example.org", False, "https://tools.example.org"),
        ("127.0.0.1:8460", "https://tools.example.org", False, "http://127.0.0.1:8460"),
        ("tools.example.org:8443", "https://tools.example.org", False, "http://tools.example.org:8443"),
    ],
)
def test_the_own_origin_is_the_one_that_the_browser_has_in_its_address(
    host: str, public: str | None, https: bool, own: str
) -> None:
    assert own_origin(host, public, https=https) == own
