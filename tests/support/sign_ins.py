"""The port of sign-ins in the hands of a test: it answers what the test has put there, and remembers what it heard."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pegboard.core.model.ids import PrincipalId, ServerKey
from pegboard.ports.providers import CompletedSignIn, SignInRedirect, SignInState, SignInUnavailable

NOBODY = SignInUnavailable("Nobody signs in here.")


@dataclass
class ScriptedSignIns:
    states: SignInState | SignInUnavailable = NOBODY
    links: str | SignInUnavailable = NOBODY
    sends: SignInRedirect | SignInUnavailable = NOBODY
    finishes: CompletedSignIn | SignInUnavailable = NOBODY
    revokes: bool | SignInUnavailable = NOBODY
    heard: list[object] = field(default_factory=list[object])

    def state(self, server: ServerKey) -> SignInState | SignInUnavailable:
        return self.states

    def create_link(self, server: ServerKey, by: PrincipalId) -> str | SignInUnavailable:
        self.heard.append((server, by))
        return self.links

    async def begin(self, link: str) -> SignInRedirect | SignInUnavailable:
        self.heard.append(link)
        return self.sends

    async def finish(self, answer: Mapping[str, str], mark: str) -> CompletedSignIn | SignInUnavailable:
        self.heard.append((dict(answer), mark))
        return self.finishes

    async def sign_out(self, server: ServerKey) -> bool | SignInUnavailable:
        self.heard.append(server)
        return self.revokes
