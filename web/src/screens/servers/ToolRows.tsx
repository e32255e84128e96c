/** Tools in rows, each with its state, the reason, and its switch. */
import type { ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import { useHasScope } from "@/api/session";
import type { ToolCard } from "@/api/types";
import { useParam } from "@/lib/router";
import { formatNumber } from "@/lib/format";
import { EmptyState, Link, SearchField, StateMark, Switch, VirtualList } from "@/components";

const ROW_HEIGHT_PX = 56;
const MAX_PLAIN_ROWS = 60;

export function ToolRows({ tools, version, emptyMessage }: { tools: readonly ToolCard[]; version: number; emptyMessage: string }): ReactElement {
  const [filterText, setFilterText] = useParam("tool");
  if (tools.length === 0) {
    return (
      <EmptyState icon="tool" title="No tools">
        {emptyMessage}
      </EmptyState>
    );
  }
  const needle = filterText.toLowerCase();
  const matching = tools.filter((tool) => `${tool.name} ${tool.title ?? ""} ${tool.state} ${tool.message ?? ""}`.toLowerCase().includes(needle));
  return (
    <div className="stack">
      <div className="servers-filters">
        <SearchField label="Filter tools" value={filterText} onChange={setFilterText} />
      </div>
      {matching.length === 0 ? (
        <p className="muted">No tool fits. {formatNumber(tools.length)} are there.</p>
      ) : matching.length <= MAX_PLAIN_ROWS ? (
        <ul className="tool-lines" aria-label="Tools">
          {matching.map((tool) => (
            <li key={tool.id}>
              <ToolRow tool={tool} version={version} />
            </li>
          ))}
        </ul>
      ) : (
        <VirtualList name="Tools" rows={matching} rowKey={(tool) => tool.id} height={() => ROW_HEIGHT_PX} boxHeight="60vh">
          {(tool) => <ToolRow tool={tool} version={version} />}
        </VirtualList>
      )}
    </div>
  );
}

function ToolRow({ tool, version }: { tool: ToolCard; version: number }): ReactElement {
  const mutation = useApiMutation();
  const canOperate = useHasScope("operate");
  return (
    <div className="tool-line">
      <StateMark state={tool.state} label="screen-reader" />
      <span className="tool-text">
        <Link to="/tool" query={{ id: tool.id }} className="mono strong truncate">
          {tool.name}
        </Link>
        <span className="muted small truncate" title={tool.message ?? undefined}>
          {tool.message ?? tool.title ?? "open"}
        </span>
      </span>
      <span className="muted small nowrap tool-tokens">{formatNumber(tool.tokens)} tokens</span>
      {canOperate && tool.state !== "missing" && (
        <Switch
          hideLabel
          label={`${tool.name} is on`}
          checked={tool.enabled}
          disabled={mutation.isPending}
          onChange={(enabled) =>
            mutation.mutate({ path: "/tools/switch", body: { tool: tool.id, enabled }, version, successMessage: `${tool.name} is ${enabled ? "on" : "off"}` })
          }
        />
      )}
    </div>
  );
}
