"""Whether a record was met, and which records cannot all be met because they contradict one another.

A record is set aside, whatever we read, when
1. it has no calls, and another record of the same format and text (but for white space) has some: it was taken from a
   test of the reasoning alone;
2. it has no calls, and it was recorded from a parser that only delegates (`_Delegating…`): the same without a twin;
3. another record of the same format, text, tools and prompt has other calls: at most one of them can be met;
4. it is a probe: what some parser was seen to do, with nobody saying that it is right;
5. it has a call without a name: nobody could make that call, and we tell it as broken.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.parser_cases.cases import Case

NO_CALLS = "another record of the same text has the calls that this one lacks"
DELEGATING = "recorded from a test of the reasoning alone"
CONTRADICTED = "another record of the same text, tools and prompt has other calls"
PROBE = "a probe: what one parser was seen to do, not what is right"
NAMELESS = "it has a call without a name, which nobody could make"


def plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def same(one: Any, other: Any) -> bool:
    """Equal as JSON has it: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def set_aside(cases: Sequence[Case]) -> dict[int, str]:
    """By number of the case: why it counts for nothing."""
    by_text: dict[tuple[str, str], list[Case]] = defaultdict(list)
    by_all: dict[tuple[object, ...], list[Case]] = defaultdict(list)
    for case in cases:
        by_text[case.format, plain(case.text)].append(case)
        tools = json.dumps([(tool.name, dict(tool.parameters)) for tool in case.tools], sort_keys=True)
        by_all[case.format, case.text, tools, case.prompt, case.splits_thinking].append(case)
    found: dict[int, str] = {}
    for case in cases:
        if case.probe:
            found[case.number] = PROBE
        elif any(not name for name, _ in case.expected.calls):
            found[case.number] = NAMELESS
    for twins in by_text.values():
        if any(twin.expected.calls for twin in twins):
            found |= {twin.number: NO_CALLS for twin in twins if not twin.expected.calls}
    for twins in by_all.values():
        kept = [twin for twin in twins if twin.number not in found]
        if any(not same(twin.expected.calls, kept[0].expected.calls) for twin in kept):
            found |= {twin.number: CONTRADICTED for twin in kept}
    for case in cases:
        if not case.expected.calls and "elegating" in case.reader:
            found.setdefault(case.number, DELEGATING)
    return found
