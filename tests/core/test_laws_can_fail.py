"""Each law, held against a core that breaks it: a check that no broken rule can fail proves nothing."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.core.laws import Core
from tests.core.mutants import MUTANTS, Mutant


def search(mutant: Mutant, core: Core, examples: int) -> Callable[[], None]:
    # The search is the same in every run, and a counterexample is enough: nobody needs the smallest.
    @settings(max_examples=examples, derandomize=True, database=None, phases=[Phase.generate])
    @given(st.tuples(*mutant.strategies))
    def holds(drawn: tuple[object, ...]) -> None:
        mutant.law(core, *drawn)

    return holds


def named(mutant: Mutant) -> str:
    return f"{mutant.law.__name__.strip('_')}: {mutant.name}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=named)
def test_a_broken_core_is_caught(mutant: Mutant) -> None:
    holds = search(mutant, mutant.core, examples=1000)
    with pytest.raises(AssertionError):
        holds()


@pytest.mark.parametrize("mutant", {mutant.law: mutant for mutant in MUTANTS}.values(), ids=named)
def test_the_same_search_finds_nothing_wrong_with_the_core_itself(mutant: Mutant) -> None:
    """A mutant fails for what is broken in it, and not for how it is drawn."""
    search(mutant, Core(), examples=20)()
