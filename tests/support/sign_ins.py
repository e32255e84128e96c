"""The port of sign-ins in the hands of a test: it answers what the test has put there, and remembers what it heard."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pegboard.core.ids import PrincipalId, ServerKey
from pegboard.ports import NoSignIn, SentTo, SignedIn, SignInState

NOBODY = NoSignIn("Nobody signs in here.")


@dataclass
class ScriptedSignIns:
    states: SignInState | NoSignIn = NOBODY
    links: str | NoSignIn = NOBODY
    sends: SentTo | NoSignIn = NOBODY
    finishes: SignedIn | NoSignIn = NOBODY
    revokes: bool | NoSignIn = NOBODY
    heard: list[object] = field(default_factory=list[object])

    def state(self, server: ServerKey) -> SignInState | NoSignIn:
        return self.states

    def link(self, server: ServerKey, by: PrincipalId) -> str | NoSignIn:
        self.heard.append((server, by))
        return self.links

    async def begin(self, link: str) -> SentTo | NoSignIn:
        self.heard.append(link)
        return self.sends

    async def finish(self, answer: Mapping[str, str], mark: str) -> SignedIn | NoSignIn:
        self.heard.append((dict(answer), mark))
        return self.finishes

    async def forget(self, server: ServerKey) -> bool | NoSignIn:
        self.heard.append(server)
        return self.revokes
