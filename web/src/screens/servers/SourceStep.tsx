/** Step one: pasted text, or another client's configuration on the gateway's machine. */
import { useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { request } from "@/api/client";
import type { ClientLists, ParseProblem, ParsedServer, ParsedServers } from "@/api/servers";
import { useParam } from "@/lib/router";
import { formatCount } from "@/lib/format";
import { QueryResult, Button, Checkbox, EmptyState, Skeleton, Tabs, Tag, TextArea, ErrorMessage } from "@/components";
import { createCandidate, type Candidate, type CandidateSource } from "./candidates";
import { connectionText } from "./server-health";

type SourceTab = "paste" | "client";

const PASTE_EXAMPLE = `https://mcp.example.com/mcp

npx -y some-server --flag

{ "mcpServers": { "notes": { "command": "notes-server" } } }`;

export function SourceStep({
  text,
  setText,
  onPick,
}: {
  text: string;
  setText: (text: string) => void;
  onPick: (candidates: readonly Candidate[]) => void;
}): ReactElement {
  const [tab, setTab] = useParam("add", "paste");
  return (
    <Tabs<SourceTab>
      name="Where it is"
      tabs={[
        { id: "paste", label: "Paste" },
        { id: "client", label: "From another client" },
      ]}
      selected={tab === "client" ? "client" : "paste"}
      onChange={setTab}
    >
      {tab === "client" ? <ClientImport onPick={onPick} /> : <PasteForm text={text} setText={setText} onPick={onPick} />}
    </Tabs>
  );
}

function PasteForm({ text, setText, onPick }: Parameters<typeof SourceStep>[0]): ReactElement {
  const [parsed, setParsed] = useState<ParsedServers | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const parse = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    setParsed(null);
    try {
      const result = await request<ParsedServers>("/servers/read", { method: "POST", body: { text } });
      const only = result.servers[0];
      if (only !== undefined && result.servers.length === 1 && result.problems.length === 0 && only.problems.length === 0) {
        onPick([createCandidate({ text }, only)]);
        return;
      }
      setParsed(result);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="stack add-paste">
      <TextArea
        label="An address, a command, or a piece of another client's configuration"
        mono
        rows={9}
        value={text}
        placeholder={PASTE_EXAMPLE}
        autoFocus
        onChange={(next) => {
          setText(next);
          setParsed(null);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim() !== "") void parse();
        }}
        hint="Nothing is saved yet. In the next step it is started once, to see what it would bring."
      />
      {error !== null && <ErrorMessage error={error} />}
      {parsed === null ? (
        <div className="row">
          <Button variant="primary" busy={busy} disabled={text.trim() === ""} onClick={() => void parse()}>
            Try it
          </Button>
        </div>
      ) : (
        <ServerSelection parsed={parsed} source={{ text }} onPick={onPick} />
      )}
    </div>
  );
}

function ClientImport({ onPick }: { onPick: (candidates: readonly Candidate[]) => void }): ReactElement {
  const lists = useApiQuery<ClientLists>(["servers"], "/clients");
  return (
    <QueryResult query={lists} placeholder={<Skeleton lines={5} height={40} />}>
      {(response) =>
        response.clients.length === 0 ? (
          <EmptyState icon="servers" title="No other client keeps servers here">
            Looked at on the gateway's machine. Paste a piece of a configuration instead.
          </EmptyState>
        ) : (
          <div className="stack wide">
            {response.clients.map((client) => (
              <section key={client.path} className="sheet stack">
                <div>
                  <h2>{client.client}</h2>
                  <p className="mono muted small wrap-any">{client.path}</p>
                </div>
                <ServerSelection parsed={client} source={{ client: client.path }} onPick={onPick} />
              </section>
            ))}
          </div>
        )
      }
    </QueryResult>
  );
}

/** The servers found. Those on the board already are not selected by default. */
function ServerSelection({ parsed, source, onPick }: { parsed: ParsedServers; source: CandidateSource; onPick: (candidates: readonly Candidate[]) => void }): ReactElement {
  const [selected, setSelected] = useState<ReadonlySet<string>>(
    () => new Set(parsed.servers.filter((server) => server.existingOrigin === null).map((server) => server.name)),
  );
  const toggle = (name: string, on: boolean): void => {
    const next = new Set(selected);
    if (on) next.add(name);
    else next.delete(name);
    setSelected(next);
  };
  const selectedServers = parsed.servers.filter((server) => selected.has(server.name));
  return (
    <div className="stack">
      <ParseProblems problems={parsed.problems} />
      {parsed.servers.length === 0 && parsed.problems.length === 0 && <p className="muted">No server stands there.</p>}
      <ul className="candidates" aria-label="Servers found">
        {parsed.servers.map((server) => (
          <li key={server.name}>
            <Checkbox label={<CandidateSummary server={server} />} checked={selected.has(server.name)} onChange={(on) => toggle(server.name, on)} />
          </li>
        ))}
      </ul>
      {parsed.servers.length > 0 && (
        <div className="row">
          <Button variant="primary" disabled={selectedServers.length === 0} onClick={() => onPick(selectedServers.map((server) => createCandidate(source, server)))}>
            {selectedServers.length === 0 ? "Choose one" : `Try ${formatCount(selectedServers.length, "server")}`}
          </Button>
        </div>
      )}
    </div>
  );
}

export function CandidateSummary({ server }: { server: ParsedServer }): ReactElement {
  return (
    <span className="candidate">
      <span className="row tight">
        <strong className="wrap-any">{server.name}</strong>
        {server.existingOrigin !== null && <Tag tone="needs_action" title={server.existingOrigin}>on the board already</Tag>}
        {server.secrets.length > 0 && <Tag title={server.secrets.join(", ")}>{formatCount(server.secrets.length, "secret")}, not shown</Tag>}
      </span>
      <span className="mono muted small wrap-any">{connectionText(server.connection)}</span>
      <ParseProblems problems={server.problems} />
    </span>
  );
}

export function ParseProblems({ problems }: { problems: readonly ParseProblem[] }): ReactElement | null {
  if (problems.length === 0) return null;
  return (
    <ul className="dotted small problems">
      {problems.map((problem) => (
        <li key={problem.text} className="wrap-any">
          {problem.text}
        </li>
      ))}
    </ul>
  );
}
