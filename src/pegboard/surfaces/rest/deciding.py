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


async def done(gateway: Gateway, command: Command, if_match: str | None) -> None:
    """`If-Match` carries the policy version a person looked at; without it the command stands on what is true now."""
    expecting: int | None = None
    if if_match is not None:
        digits = if_match.strip().removeprefix("W/").strip('"')
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
            raise Problem(HTTPStatus.BAD_REQUEST, f"If-Match {if_match[:40]!r} is not a policy version: send a number.")
        expecting = int(digits)
    match await gateway.operator.do(command, whoever(), expecting=expecting):
        case NotSaved(why):
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, why)
        case Rejected(why):
            raise Problem(HTTPStatus.CONFLICT, why)
        case Stale(current):
            raise Problem(
                HTTPStatus.PRECONDITION_FAILED,
                f"The policy is at version {current} now. Look at it again before you decide.",
                {"policyVersion": current},
            )
        case _:
            gateway.roster.follow(gateway.board.policy)
