"""The replay itself: every recorded call made again, each under its own variables, and compared."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TypeAlias

import httpx2

from .addresses import Addresses, Ports, addresses, as_recorded, distinct_ports, environment_of
from .answering import Made, Scene, Stage, staged
from .calling import GatewayError, client_of, play
from .cases import Case
from .comparing import Did, Discrepancy, Expected, discrepancies
from .differences import DIFFERENCES
from .recordings import Recording, Request, Result
from .report import Verdict

Serving: TypeAlias = Callable[[Mapping[str, str]], AbstractAsyncContextManager[str]]
"""From the variables to the MCP endpoint of a gateway that was given them."""


async def replayed(
    recordings: Sequence[Recording], serving: Serving, say: Callable[[str], None] = lambda text: None
) -> list[Verdict]:
    """One gateway for each set of variables that calls were recorded under; the verdicts in the order of the file."""
    verdicts: dict[int, Verdict] = {}
    async with set_up(recordings) as (stage, where):
        groups: dict[tuple[tuple[str, str], ...], list[Recording]] = {}
        for recording in recordings:
            variables = environment_of(recording, recordings, where)
            groups.setdefault(tuple(sorted(variables.items())), []).append(recording)
        for place, (variables_of, group) in enumerate(groups.items(), 1):
            say(f"gateway {place} of {len(groups)}: {len(group)} calls …")
            try:
                async with serving(dict(variables_of)) as endpoint, client_of(endpoint) as client:
                    for recording in group:
                        scene = stage.scene = Scene(recording)
                        verdicts[recording.number] = await _played(client, scene, where)
                        stage.scene = None
            except GatewayError as error:
                for recording in group:
                    verdicts.setdefault(recording.number, _unanswered(recording, error))
    return [verdicts[recording.number] for recording in recordings]


async def _played(client: httpx2.AsyncClient, scene: Scene, where: Addresses) -> Verdict:
    try:
        result = await play(client, scene)
    except (GatewayError, TimeoutError) as error:
        return _unanswered(scene.recording, error)
    return judged(scene.recording, scene.made, result, where)


def _unanswered(recording: Recording, error: Exception) -> Verdict:
    return Verdict(recording, discrepancies=(Discrepancy("gateway", "an answer", str(error) or "none in time"),))


@asynccontextmanager
async def set_up(recordings: Sequence[Recording]) -> AsyncIterator[tuple[Stage, Addresses]]:
    async with staged(distinct_ports(recordings)) as stage:
        ports = Ports(stage.ports[0], list(stage.ports[1:]))
        try:
            where = stage.where = addresses(recordings, ports)
            yield stage, where
        finally:
            ports.close()


def judged(recording: Recording, made: Sequence[Made], result: Result | None, where: Addresses) -> Verdict:
    """First against the recording as it is; then with what we do differently on purpose taken into what is expected."""
    did = Did(
        tuple(_as_recorded(each.request, where) for each in made),
        None if result is None else _result_as_recorded(result, where),
    )
    expected = Expected(recording.requests, recording.result)
    if not discrepancies(expected, did):
        return Verdict(recording)
    case = Case(recording, did)
    names = []
    for difference in DIFFERENCES:
        changed = difference.expects(case, expected)
        if changed is not None and changed != expected:
            expected = changed
            names.append(difference.name)
            if not discrepancies(expected, did):
                break
    left = discrepancies(expected, did)
    return Verdict(recording, () if left else tuple(names), tuple(left))


def _as_recorded(request: Request, where: Addresses) -> Request:
    return replace(request, headers={name: where.to_recorded(value) for name, value in request.headers.items()})


def _result_as_recorded(result: Result, where: Addresses) -> Result:
    return Result(
        tuple(where.to_recorded(text) for text in result.texts),
        as_recorded(result.structured, where),
        result.is_error,
    )
