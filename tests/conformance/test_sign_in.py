"""The suite's scenarios of signing in, each with a client process of its own."""

import pytest
from tests.conformance.sign_in import SCENARIOS, passes


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_clients", "mcp.in.sign_in_safe")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_suite_is_content_with_how_we_sign_in(scenario: str) -> None:
    passed, said = passes(scenario)
    assert passed, said
