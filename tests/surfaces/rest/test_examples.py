"""The examples of the OpenAPI document: every operation has one, and each is as its schema says."""

import json
import re

import pytest
from tests.support.collect_failures import each_case
from tests.surfaces.rest.conforming import faults
from tests.surfaces.rest.examples import answer_of, body_of, operations

from pegboard.surfaces.rest.app import EXAMPLES_FILE


@pytest.mark.behaviour("rest.examples")
@each_case("id", sorted(operations()))
def test_an_operation_has_an_example_that_is_as_it_is_described(id: str) -> None:
    operation = operations()[id]
    answer, body = answer_of(operation), body_of(operation)
    assert answer is not None
    assert "example" in answer, f"{id} has none: see tests/surfaces/rest/examples.py"
    assert faults(answer["schema"], answer["example"]) == []
    if body is not None:
        assert faults(body["schema"], body["example"], closed=False) == []


@pytest.mark.behaviour("rest.examples")
def test_examples_are_of_operations_that_there_are_and_hold_no_secret() -> None:
    recorded = json.loads(EXAMPLES_FILE.read_text("utf-8"))
    assert {*recorded} == {*operations()}
    assert not re.search(r"pgb_\w{8}|s3cret|swordfish|/tmp/", EXAMPLES_FILE.read_text("utf-8"))
