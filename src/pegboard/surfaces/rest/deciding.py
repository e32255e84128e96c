"""Carrying out one command for a request: done, or the end of the request with the reason."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Header

from pegboard.core.commands import Command, Rejected
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.operate import NotSaved
from pegboard.ports import Stale

from .access import whoever
from .problems import Problem

Version = Annotated[str | None, Header(alias="If-Match", description="The policy version you looked at.")]


def version_of(if_match: str | None) -> int | None:
    """The policy version a person looked at. Raises `Problem` for what is none."""
    if if_match is None:
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise Problem(HTTPStatus.BAD_REQUEST, f"If-Match {if_match[:40]!r} is not a policy version: send a number.")
    return int(digits)


def overtaken(current: int) -> Problem:
    told = f"The policy is at version {current} now. Look at it again before you decide."
    return Problem(HTTPStatus.PRECONDITION_FAILED, told, {"policyVersion": current})


async def done(gateway: Gateway, command: Command, if_match: str | None) -> None:
    """`If-Match` carries the policy version a person looked at; without it the command stands on what is true now."""
    match await gateway.operator.do(command, whoever(), expecting=version_of(if_match)):
        case NotSaved(why):
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, why)
        case Rejected(why):
            raise Problem(HTTPStatus.CONFLICT, why)
        case Stale(current):
            raise overtaken(current)
        case _:
            gateway.roster.follow(gateway.board.policy)
