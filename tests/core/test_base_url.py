"""Where a DocSpace is: what is taken for a base URL, and what is told of everything else."""

import pytest

from pegboard.core.model.web_api import base_url_problems, normalize_base_url


@pytest.mark.behaviour("docspace.base_url")
@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("https://example.onlyoffice.com", "https://example.onlyoffice.com/"),
        ("HTTPS://Example.OnlyOffice.com:443/Portal", "https://example.onlyoffice.com/Portal/"),
        ("http://127.0.0.1:8080/a/", "http://127.0.0.1:8080/a/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://büro.example", "http://büro.example/"),
    ],
)
def test_a_place_has_one_spelling_and_ends_with_a_slash(written: str, place: str) -> None:
    assert base_url_problems(written) == ()
    assert normalize_base_url(written) == place


@pytest.mark.behaviour("docspace.base_url")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("nope", ["Expected a valid URL, but got nope"]),
        ("not a url", ["Expected a valid URL, but got not a url"]),
        ("http://", ["Expected a valid URL, but got http://"]),
        ("http://h:99999", ["Expected a valid URL, but got http://h:99999"]),
        ("http://a b", ["Expected a valid URL, but got http://a b"]),
        ("http://h\n", ["Expected a valid URL, but got http://h\n"]),
        ("localhost:8080", ["Expected a URL that begins with http:// or https://, but got localhost:8080"]),
        ("ftp://h/", ["Expected a URL that begins with http:// or https://, but got ftp://h/"]),
        ("http://h/?a=1", ["Expected a URL without search parameters, but got http://h/?a=1"]),
        (
            "http://h/?a=1#x",
            [
                "Expected a URL without search parameters, but got http://h/?a=1#x",
                "Expected a URL without hash, but got http://h/?a=1#x",
            ],
        ),
        (
            "http://ada:hunter2@h/",
            ["Expected a URL without a user name or password, but got http://…@h/"],
        ),
    ],
)
def test_what_is_no_base_url_is_told_as_its_users_know_it_and_without_a_password(written: str, told: list[str]) -> None:
    assert list(base_url_problems(written)) == told
