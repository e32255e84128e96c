/** Tools as lines, each with its state, why it is so, and its switch. */
import type { ReactElement } from "react";
import { useDeed } from "@/api/answers";
import { useMay } from "@/api/session";
import type { Hung } from "@/api/servers";
import { useParam } from "@/lib/place";
import { number } from "@/lib/words";
import { EmptyState, Link, SearchField, StateMark, Switch, VirtualList } from "@/parts";

const TALL = 56;
const MOST_PLAIN = 60;

export function ToolLines({ pegs, version, nothing }: { pegs: readonly Hung[]; version: number; nothing: string }): ReactElement {
  const [typed, setTyped] = useParam("tool");
  if (pegs.length === 0) {
    return (
      <EmptyState icon="tool" title="No tools">
        {nothing}
      </EmptyState>
    );
  }
  const word = typed.toLowerCase();
  const found = pegs.filter((peg) => `${peg.name} ${peg.title ?? ""} ${peg.state} ${peg.sentence ?? ""}`.toLowerCase().includes(word));
  return (
    <div className="stack">
      <div className="servers-filters">
        <SearchField label="Filter tools" value={typed} onChange={setTyped} />
      </div>
      {found.length === 0 ? (
        <p className="quiet">No tool fits. {number(pegs.length)} are there.</p>
      ) : found.length <= MOST_PLAIN ? (
        <ul className="tool-lines" aria-label="Tools">
          {found.map((peg) => (
            <li key={peg.id}>
              <Line peg={peg} version={version} />
            </li>
          ))}
        </ul>
      ) : (
        <VirtualList name="Tools" rows={found} rowKey={(peg) => peg.id} height={() => TALL} boxHeight="60vh">
          {(peg) => <Line peg={peg} version={version} />}
        </VirtualList>
      )}
    </div>
  );
}

function Line({ peg, version }: { peg: Hung; version: number }): ReactElement {
  const deed = useDeed();
  const may = useMay("operate");
  return (
    <div className="tool-line">
      <StateMark state={peg.state} word="unseen" />
      <span className="tool-words">
        <Link to="/tool" query={{ id: peg.id }} className="mono strong cut">
          {peg.name}
        </Link>
        <span className="quiet small cut" title={peg.sentence ?? undefined}>
          {peg.sentence ?? peg.title ?? "open"}
        </span>
      </span>
      <span className="quiet small nowrap tool-tokens">{number(peg.tokens)} tokens</span>
      {may && peg.state !== "gone" && (
        <Switch
          unlabelled
          label={`${peg.name} is on`}
          on={peg.switchOn}
          disabled={deed.isPending}
          onChange={(on) =>
            deed.mutate({ path: "/tools/switch", body: { tool: peg.id, on }, version, done: `${peg.name} is ${on ? "on" : "off"}` })
          }
        />
      )}
    </div>
  );
}
