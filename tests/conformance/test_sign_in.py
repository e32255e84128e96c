"""The suite's scenarios of signing in, each with a client process of its own."""

import pytest
from tests.conformance.sign_in import SECOND_REVISION, SUITES, run_scenario, run_suite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(330)]


@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_clients", "mcp.in.sign_in_safe")
@pytest.mark.parametrize("suite", SUITES)
def test_the_suite_is_content_with_how_we_sign_in(suite: str) -> None:
    passed, said = run_suite(suite)
    assert sorted(passed) == sorted(SUITES[suite]), said


@pytest.mark.soak
@pytest.mark.behaviour("mcp.in.sign_in", "mcp.in.sign_in_clients", "mcp.in.sign_in_safe")
@pytest.mark.parametrize("scenario", SECOND_REVISION)
def test_the_suite_is_content_with_how_we_sign_in_by_its_second_revision(scenario: str) -> None:
    passed, said = run_scenario(scenario)
    assert passed, said
