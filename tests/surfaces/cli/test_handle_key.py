"""The key that handles are signed with: one for each gateway, or one for all that share a variable."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from pegboard.bootstrap.environment import handle_key

SHARED = {"PEGBOARD_SECRET_KEY": b64encode(bytes(range(32))).decode()}


def own(folder: Path, name: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    return folder / name


@pytest.mark.behaviour("deferred.replicas")
def test_a_gateway_has_one_key_however_often_it_starts_and_no_other_has_it(tmp_path: Path) -> None:
    one, other = own(tmp_path, "one"), own(tmp_path, "other")
    key = handle_key({}, one)
    assert handle_key({}, one) == key != handle_key({}, other)
    assert len(key) == 32
    assert key.hex() not in (one / "secret.key").read_text()


@pytest.mark.behaviour("deferred.replicas")
def test_gateways_that_share_a_variable_share_the_key(tmp_path: Path) -> None:
    one, other = own(tmp_path, "one"), own(tmp_path, "other")
    assert handle_key(SHARED, one) == handle_key(SHARED, other) != bytes(range(32))
    assert not os.listdir(one)


@pytest.mark.behaviour("deferred.handles")
def test_a_gateway_without_a_usable_key_has_one_until_it_ends_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret.key").write_text("not a key")
    (tmp_path / "secret.key").chmod(0o600)
    assert len(handle_key({}, tmp_path)) == 32
    assert "forgotten when the gateway ends" in caplog.text
    assert "is no key" in caplog.text
