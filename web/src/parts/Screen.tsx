/** What surrounds every screen: its title, and at its foot "as JSON" and "as command". */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { askText, route } from "@/api/client";
import { sentence, type Problem } from "@/api/problem";
import { indented } from "@/lib/json";
import type { Query } from "@/lib/place";
import { written } from "@/lib/plain";
import { Button } from "./Button";
import { Code, CopyButton } from "./Code";
import { Dialog } from "./Dialog";
import { Trouble } from "./states";

export type Source = { readonly path: string; readonly query?: Query };

export function Screen({
  title,
  lead,
  actions,
  json,
  command,
  children,
  wide = true,
}: {
  title: string;
  /** A sentence under the title. Give it a fixed number of lines: it must not push what is below. */
  lead?: ReactNode;
  actions?: ReactNode;
  /** The route whose answer this screen shows. */
  json: Source;
  /** The line of the CLI that does the same. */
  command: string;
  children: ReactNode;
  wide?: boolean;
}): ReactElement {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${written(title, true)} · Pegboard`;
    // Whoever came by a link starts reading at the title.
    if (document.activeElement === null || document.activeElement === document.body) head.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div className={`screen ${wide ? "" : "is-narrow"}`}>
      <header className="screen-head">
        <div className="grow">
          <h1 ref={head} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <div className="screen-lead">{lead}</div>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      <div className="screen-body">{children}</div>
      <Foot json={json} command={command} />
    </div>
  );
}

function Foot({ json, command }: { json: Source; command: string }): ReactElement {
  const [shown, show] = useState<"json" | "command" | null>(null);
  const close = (): void => show(null);
  return (
    <footer className="screen-foot">
      <Button look="bare" small icon="json" onClick={() => show("json")}>
        as JSON
      </Button>
      <Button look="bare" small icon="terminal" onClick={() => show("command")}>
        as command
      </Button>
      {shown === "json" && <AsJson source={json} onClose={close} />}
      <Dialog open={shown === "command"} onClose={close} title="As command" wide>
        <div className="stack">
          <p className="quiet">This line shows or does the same in a terminal.</p>
          <Code text={command} />
        </div>
      </Dialog>
    </footer>
  );
}

function AsJson({ source, onClose }: { source: Source; onClose: () => void }): ReactElement {
  const query = source.query ?? {};
  const answer = useQuery<string, Problem>({
    queryKey: [[], "text", route(source.path, query)],
    queryFn: ({ signal }) => askText(source.path, { query, signal }),
    staleTime: 0,
  });
  const text = answer.data === undefined ? "" : pretty(answer.data);
  return (
    <Dialog open onClose={onClose} title="As JSON" wide actions={<CopyButton text={text} label="Copy the answer" />}>
      <div className="stack">
        <Code text={`GET ${route(source.path, query)}`} />
        {answer.error ? <Trouble error={answer.error} /> : <pre className="code is-tall" tabIndex={0}>{text || "…"}</pre>}
      </div>
    </Dialog>
  );
}

const MOST = 400_000;

function pretty(text: string): string {
  try {
    const whole = indented(text);
    return whole.length > MOST ? `${whole.slice(0, MOST)}\n… ${whole.length - MOST} characters more` : whole;
  } catch (error) {
    return `${sentence(error)}\n${text.slice(0, MOST)}`;
  }
}
