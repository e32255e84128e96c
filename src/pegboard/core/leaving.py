"""What was decided about what leaves the board: it leaves as well, so that nothing comes back trusted."""

from collections.abc import Callable
from dataclasses import replace

from .ids import BuiltinKey, ProviderKey, ServerKey, ToolId, ToolsetId
from .policy import Decided, Switchable


def forgetting(
    decided: Decided,
    leaves: Callable[[ProviderKey], bool],
    *,
    tools: Callable[[ToolId], bool] = lambda tool: False,
    toolset: ToolsetId | None = None,
) -> Decided:
    """Without these providers and what was decided about them; of others, without the `tools` that are meant; and
    without the switch of the `toolset`. Overrides are another matter: they may fit what comes."""

    def gone(tool: ToolId) -> bool:
        return (not isinstance(tool.source, BuiltinKey) and leaves(tool.source)) or tools(tool)

    def is_off(what: Switchable) -> bool:
        match what:
            case ToolId():
                return gone(what)
            case ServerKey():
                return leaves(what)
            case _:
                return what == toolset

    return replace(
        decided,
        servers={key: server for key, server in decided.servers.items() if not leaves(key)},
        switches={what: switch for what, switch in decided.switches.items() if not is_off(what)},
        approvals={tool: approval for tool, approval in decided.approvals.items() if not gone(tool)},
        consents={id: consent for id, consent in decided.consents.items() if not gone(consent.tool)},
        baselined={key: when for key, when in decided.baselined.items() if not leaves(key)},
        trust={key: trust for key, trust in decided.trust.items() if not leaves(key)},
    )
