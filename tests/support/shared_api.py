"""One REST application for many tests: building 99 routes takes longer than most tests take to ask one of them.

An application is lent to one gateway at a time and stands over stand-ins that forward to it. A test that opens two
gateways at once gets two applications.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, cast
from unittest.mock import patch

from starlette.types import ASGIApp

from pegboard.bootstrap import serve as api
from pegboard.bootstrap.application import Application
from pegboard.gateway.access.authentication import OperatorAuthentication
from pegboard.gateway.access.tokens import TokenIndex
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.trials import ServerTrials
from pegboard.ports.providers import SignIns
from pegboard.surfaces.rest import app as rest
from pegboard.surfaces.rest.app import rest_app
from pegboard.surfaces.rest.settings import RuntimeInfo
from pegboard.surfaces.rest.toolsets import no_installer


class _StandIn:
    """Forwards to an object that is known only while a test runs. Until then its attributes are stand-ins, too."""

    def __init__(self, find: Callable[[], Any], is_known: Callable[[], bool]) -> None:
        self.__find = find
        self.__is_known = is_known

    def __getattr__(self, name: str) -> Any:
        if self.__is_known():
            return getattr(self.__find(), name)
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(lambda: getattr(self.__find(), name), self.__is_known)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.__find()(*arguments, **named)


class _SharedApi:
    def __init__(self) -> None:
        self._current: dict[str, Any] = {}
        # What an application keeps of servers that were tried is of one gateway, as the rest here is.
        with patch.object(rest, "ServerTrials", lambda *_: self._stand_in("trials")):
            self._app = rest_app(
                cast(Gateway, self._stand_in("gateway")),
                cast(RuntimeInfo, self._stand_in("about")),
                cast(OperatorAuthentication, self._stand_in("reception")),
                lambda: cast(SignIns, self._current["sign_ins"]()),
                lambda: cast(ToolsetInstaller, self._current["installer"]()),
            )

    def _stand_in(self, name: str) -> Any:
        return _StandIn(lambda: self._current[name], lambda: name in self._current)

    @contextmanager
    def over(
        self,
        gateway: Gateway,
        about: RuntimeInfo,
        reception: OperatorAuthentication,
        sign_ins: Callable[[], SignIns],
        installer: Callable[[], ToolsetInstaller],
    ) -> Iterator[ASGIApp]:
        trials = ServerTrials(gateway.provider_for, gateway.clock, lambda key: sign_ins().sign_out(key))
        self._current.update(
            gateway=gateway, about=about, reception=reception, sign_ins=sign_ins, installer=installer, trials=trials
        )
        try:
            yield self._app
        finally:
            self._current.clear()


_idle: list[_SharedApi] = []
_for_good = ExitStack()


@contextmanager
def shared_rest_app(
    gateway: Gateway,
    about: RuntimeInfo,
    reception: OperatorAuthentication | bytes,
    sign_ins: Callable[[], SignIns],
    installer: Callable[[], ToolsetInstaller] = no_installer,
) -> Iterator[ASGIApp]:
    """`rest_app` of these, for as long as the block lasts."""
    desk = (
        OperatorAuthentication(TokenIndex(gateway.board, reception, gateway.clock))
        if isinstance(reception, bytes)
        else reception
    )
    shared = _idle.pop() if _idle else _SharedApi()
    with shared.over(gateway, about, desk, sign_ins, installer) as app:
        yield app
    _idle.append(shared)


def rest_of(stack: ExitStack, house: Application, endpoint: str | None, reception: OperatorAuthentication) -> ASGIApp:
    """As `pegboard.bootstrap.serve.make_rest_api`, until the stack is closed."""
    about = RuntimeInfo(house.config_file, str(house.data_dir), endpoint, house.store_url, house.storage)
    return stack.enter_context(
        shared_rest_app(house.gateway, about, reception, lambda: house.sign_in_service, lambda: house.installer)
    )


def build_before_forking() -> None:
    """Every program that this process is forked into finds an application for its gateway."""
    _idle.append(_SharedApi())
    api.make_rest_api = partial(rest_of, _for_good)
