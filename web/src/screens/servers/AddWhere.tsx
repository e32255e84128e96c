/** Step one: a text that somebody pastes, or the list of another client on the gateway's machine. */
import { useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { ask } from "@/api/client";
import type { ClientLists, ReadProblem, ReadServer, ReadServers } from "@/api/servers";
import { useParam } from "@/lib/place";
import { count } from "@/lib/words";
import { Answered, Button, Check, EmptyState, Skeleton, Tabs, Tag, TextArea, Trouble } from "@/parts";
import { picked, type Picked, type Source } from "./picking";
import { placeOf } from "./standing";

type Way = "paste" | "client";

const EXAMPLE = `https://mcp.example.com/mcp

npx -y some-server --flag

{ "mcpServers": { "notes": { "command": "notes-server" } } }`;

export function AddWhere({
  text,
  setText,
  onPick,
}: {
  text: string;
  setText: (text: string) => void;
  onPick: (picked: readonly Picked[]) => void;
}): ReactElement {
  const [way, setWay] = useParam("add", "paste");
  return (
    <Tabs<Way>
      name="Where it is"
      tabs={[
        { id: "paste", label: "Paste" },
        { id: "client", label: "From another client" },
      ]}
      chosen={way === "client" ? "client" : "paste"}
      onChange={setWay}
    >
      {way === "client" ? <FromClients onPick={onPick} /> : <Pasted text={text} setText={setText} onPick={onPick} />}
    </Tabs>
  );
}

function Pasted({ text, setText, onPick }: Parameters<typeof AddWhere>[0]): ReactElement {
  const [read, setRead] = useState<ReadServers | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    setRead(null);
    try {
      const found = await ask<ReadServers>("/servers/read", { method: "POST", body: { text } });
      const only = found.servers[0];
      if (only !== undefined && found.servers.length === 1 && found.problems.length === 0 && only.problems.length === 0) {
        onPick([picked({ text }, only)]);
        return;
      }
      setRead(found);
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
        placeholder={EXAMPLE}
        autoFocus
        onChange={(next) => {
          setText(next);
          setRead(null);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim() !== "") void go();
        }}
        advice="Nothing is saved yet. In the next step it is started once, to see what it would bring."
      />
      {error !== null && <Trouble error={error} />}
      {read === null ? (
        <div className="row">
          <Button look="main" busy={busy} disabled={text.trim() === ""} onClick={() => void go()}>
            Try it
          </Button>
        </div>
      ) : (
        <Choose read={read} source={{ text }} onPick={onPick} />
      )}
    </div>
  );
}

function FromClients({ onPick }: { onPick: (picked: readonly Picked[]) => void }): ReactElement {
  const lists = useAnswer<ClientLists>(["servers"], "/clients");
  return (
    <Answered of={lists} waiting={<Skeleton lines={5} height={40} />}>
      {(answer) =>
        answer.clients.length === 0 ? (
          <EmptyState icon="servers" title="No other client keeps servers here">
            Looked at on the gateway's machine. Paste a piece of a configuration instead.
          </EmptyState>
        ) : (
          <div className="stack wide">
            {answer.clients.map((client) => (
              <section key={client.path} className="sheet stack">
                <div>
                  <h2>{client.client}</h2>
                  <p className="mono quiet small wrap-any">{client.path}</p>
                </div>
                <Choose read={client} source={{ client: client.path }} onPick={onPick} />
              </section>
            ))}
          </div>
        )
      }
    </Answered>
  );
}

/** Which of those that stand there. What is on the board already is not taken again unless somebody says so. */
function Choose({ read, source, onPick }: { read: ReadServers; source: Source; onPick: (picked: readonly Picked[]) => void }): ReactElement {
  const [chosen, choose] = useState<ReadonlySet<string>>(
    () => new Set(read.servers.filter((server) => server.thereAlready === null).map((server) => server.name)),
  );
  const take = (name: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(name);
    else next.delete(name);
    choose(next);
  };
  const taken = read.servers.filter((server) => chosen.has(server.name));
  return (
    <div className="stack">
      <Problems problems={read.problems} />
      {read.servers.length === 0 && read.problems.length === 0 && <p className="quiet">No server stands there.</p>}
      <ul className="candidates" aria-label="Servers found">
        {read.servers.map((server) => (
          <li key={server.name}>
            <Check label={<Candidate server={server} />} on={chosen.has(server.name)} onChange={(on) => take(server.name, on)} />
          </li>
        ))}
      </ul>
      {read.servers.length > 0 && (
        <div className="row">
          <Button look="main" disabled={taken.length === 0} onClick={() => onPick(taken.map((server) => picked(source, server)))}>
            {taken.length === 0 ? "Choose one" : `Try ${count(taken.length, "server")}`}
          </Button>
        </div>
      )}
    </div>
  );
}

export function Candidate({ server }: { server: ReadServer }): ReactElement {
  return (
    <span className="candidate">
      <span className="row tight">
        <strong className="wrap-any">{server.name}</strong>
        {server.thereAlready !== null && <Tag tone="wants" title={server.thereAlready}>on the board already</Tag>}
        {server.secrets.length > 0 && <Tag title={server.secrets.join(", ")}>{count(server.secrets.length, "secret")}, not shown</Tag>}
      </span>
      <span className="mono quiet small wrap-any">{placeOf(server.connection)}</span>
      <Problems problems={server.problems} />
    </span>
  );
}

export function Problems({ problems }: { problems: readonly ReadProblem[] }): ReactElement | null {
  if (problems.length === 0) return null;
  return (
    <ul className="dotted small problems">
      {problems.map((problem) => (
        <li key={problem.sentence} className="wrap-any">
          {problem.sentence}
        </li>
      ))}
    </ul>
  );
}
