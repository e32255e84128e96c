"""What was decided about what leaves the board: it leaves as well, so that nothing comes back trusted."""

from collections.abc import Callable
from dataclasses import replace

from .ids import BuiltinKey, ProviderKey, ServerKey, ToolId, ToolsetId
from .policy import PolicyDecisions, Switchable


def forget_providers(
    decided: PolicyDecisions,
    leaves: Callable[[ProviderKey], bool],
    *,
    tools: Callable[[ToolId], bool] = lambda tool: False,
    toolset: ToolsetId | None = None,
) -> PolicyDecisions:
    """Without these providers and what was decided about them; of others, without the `tools` that are meant; and
    without the switch of the `toolset`. Overrides are another matter: they may fit what comes."""

    def is_leaving(tool: ToolId) -> bool:
        return (not isinstance(tool.source, BuiltinKey) and leaves(tool.source)) or tools(tool)

    def is_off(what: Switchable) -> bool:
        match what:
            case ToolId():
                return is_leaving(what)
            case ServerKey():
                return leaves(what)
            case _:
                return what == toolset

    return replace(
        decided,
        servers={key: server for key, server in decided.servers.items() if not leaves(key)},
        switches={what: switch for what, switch in decided.switches.items() if not is_off(what)},
        approvals={tool: approval for tool, approval in decided.approvals.items() if not is_leaving(tool)},
        consents={id: consent for id, consent in decided.consents.items() if not is_leaving(consent.tool)},
        first_seen={key: when for key, when in decided.first_seen.items() if not leaves(key)},
        trust={key: trust for key, trust in decided.trust.items() if not leaves(key)},
    )
