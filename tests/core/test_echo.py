"""A pinned value that a server repeats is taken out of whatever form it travels in, and nothing else is touched."""

import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.overrides.schema import PinnedValueMask, maskable_texts

SECRET = 'k3y/with "quotes" & ü\\'
ECHO = PinnedValueMask(maskable_texts([SECRET]))

WRITINGS: dict[str, Callable[[str], str]] = {
    "itself": lambda text: text,
    "json": json.dumps,
    "json with other letters": lambda text: json.dumps(text, ensure_ascii=False),
    "address": lambda text: quote(text, safe=""),
    "path of an address": quote,
    "form": quote_plus,
}


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
@pytest.mark.parametrize("written", WRITINGS.values(), ids=WRITINGS.keys())
@pytest.mark.parametrize("ascii_only", [True, False])
def test_it_is_taken_out_of_every_string_of_a_result(written: Callable[[str], str], ascii_only: bool) -> None:
    said = {"content": [{"type": "text", "text": f"before {written(SECRET)} after"}], "n": 1.50}
    body = json.dumps(said, ensure_ascii=ascii_only).encode()
    clean = json.loads(ECHO.mask_json(body))
    assert clean["content"][0]["text"].replace('"', "") == "before *** after"
    assert {**clean, "content": said["content"]} == said


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
def test_escaped_signs_and_slashes_and_small_letters_do_not_hide_it() -> None:
    echo = PinnedValueMask(maskable_texts(["secret/value"]))
    body = rb'{"a":"\u0073ecret/value","b":"secret\/value","secret/value":[1e400, 1234567890],"c":"secret%2fvalue"}'
    assert echo.mask_json(body) == b'{"a":"***","b":"***","***":[1e400, 1234567890],"c":"***"}'


def test_a_value_that_looks_like_a_part_of_the_document_breaks_none() -> None:
    echo = PinnedValueMask(maskable_texts(['{"a":1,"b":', "12345678"]))
    body = b'{"a":1,"b":12345678,"c":"12345678"}'
    assert json.loads(echo.mask_json(body)) == {"a": 1, "b": 12345678, "c": "***"}


def test_what_is_not_repeated_passes_byte_for_byte() -> None:
    body = rb'{"content" : [ {"text":"caf\u00e9 \ud800"} ],"x":1.0}'
    assert ECHO.mask_json(body) == body


def test_of_a_value_only_its_longer_texts_are_looked_for() -> None:
    assert maskable_texts([{"a": ["short", "long enough"], "b": 1234567890, "c": None}, " padded texts\n"]) == (
        " padded texts\n",
        "padded texts",
        "long enough",
    )
    assert maskable_texts(["1234567"]) == ()


@pytest.mark.behaviour("overrides.pin_is_not_echoed")
@given(st.text(min_size=8, max_size=20), st.text(max_size=20), st.sampled_from([*WRITINGS.values()]), st.booleans())
def test_whatever_the_value_it_is_in_no_string_of_what_is_passed_on(
    secret: str, around: str, written: Callable[[str], str], ascii_only: bool
) -> None:
    try:
        said = {"t": around + written(secret) + around}
        body = json.dumps(said, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:  # such a text cannot be written so
        return
    clean: dict[str, str] = json.loads(PinnedValueMask(maskable_texts([secret])).mask_json(body))
    assert "***" in clean["t"]
    assert set(secret) <= set("*") or secret not in clean["t"]
