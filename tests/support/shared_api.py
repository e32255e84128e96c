"""One REST application for many tests: building 99 routes takes longer than most tests take to ask one of them.

An application is lent to one gateway at a time and stands over stand-ins that forward to it. A test that opens two
gateways at once gets two applications.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

from starlette.types import ASGIApp

from pegboard.gateway.access.keys import Keys
from pegboard.gateway.access.reception import Reception
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.installer import Installer
from pegboard.gateway.trials import Trials
from pegboard.ports import SignIns
from pegboard.surfaces.rest import app as rest
from pegboard.surfaces.rest.app import About, rest_app
from pegboard.surfaces.rest.toolsets import nobody_installs


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
    def __init__(self, about: About) -> None:
        self._current: dict[str, Any] = {}
        # What an application keeps of servers that were tried is of one gateway, as the rest here is.
        with patch.object(rest, "Trials", lambda *_: self._stand_in("trials")):
            self._app = rest_app(
                cast(Gateway, self._stand_in("gateway")),
                about,
                cast(Reception, self._stand_in("reception")),
                lambda: cast(SignIns, self._current["sign_ins"]()),
                lambda: cast(Installer, self._current["installer"]()),
            )

    def _stand_in(self, name: str) -> Any:
        return _StandIn(lambda: self._current[name], lambda: name in self._current)

    @contextmanager
    def over(
        self,
        gateway: Gateway,
        reception: Reception,
        sign_ins: Callable[[], SignIns],
        installer: Callable[[], Installer],
    ) -> Iterator[ASGIApp]:
        trials = Trials(gateway.provider_for, gateway.clock, lambda key: sign_ins().forget(key))
        self._current.update(
            gateway=gateway, reception=reception, sign_ins=sign_ins, installer=installer, trials=trials
        )
        try:
            yield self._app
        finally:
            self._current.clear()


_idle: dict[About, list[_SharedApi]] = {}


@contextmanager
def shared_rest_app(
    gateway: Gateway,
    about: About,
    reception: Reception | bytes,
    sign_ins: Callable[[], SignIns],
    installer: Callable[[], Installer] = nobody_installs,
) -> Iterator[ASGIApp]:
    """`rest_app` of these, for as long as the block lasts."""
    desk = Reception(Keys(gateway.board, reception, gateway.clock)) if isinstance(reception, bytes) else reception
    idle = _idle.setdefault(about, [])
    api = idle.pop() if idle else _SharedApi(about)
    with api.over(gateway, desk, sign_ins, installer) as app:
        yield app
    idle.append(api)
