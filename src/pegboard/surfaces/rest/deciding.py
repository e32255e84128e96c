"""Carrying out one command for a request: done, or the end of the request with the reason."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Header

from pegboard.core.commands import Command, CommandRejection
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.operate import SaveFailure
from pegboard.ports import StaleVersion

from .access import decision_author
from .problems import ProblemError

IfMatchVersion = Annotated[str | None, Header(alias="If-Match", description="The policy version you looked at.")]


def parse_if_match(if_match: str | None) -> int | None:
    """The policy version a person looked at. Raises `Problem` for what is none."""
    if if_match is None:
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"If-Match {if_match[:40]!r} is not a policy version: send a number."
        )
    return int(digits)


def version_conflict(current: int) -> ProblemError:
    told = f"The policy is at version {current} now. Look at it again before you decide."
    return ProblemError(HTTPStatus.PRECONDITION_FAILED, told, {"policyVersion": current})


async def run_command(gateway: Gateway, command: Command, if_match: str | None) -> None:
    """`If-Match` carries the policy version a person looked at; without it the command stands on what is true now."""
    match await gateway.operator.execute(command, decision_author(), expecting=parse_if_match(if_match)):
        case SaveFailure(why):
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, why)
        case CommandRejection(why):
            raise ProblemError(HTTPStatus.CONFLICT, why)
        case StaleVersion(current):
            raise version_conflict(current)
        case _:
            gateway.providers.reconcile(gateway.board.policy)
