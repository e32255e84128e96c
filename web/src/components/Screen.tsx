/** The frame of every screen: its title, and the footer with "as JSON" and "as command". */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { requestText, apiUrl } from "@/api/client";
import { errorMessage, type Problem } from "@/api/problem";
import { indentJson } from "@/lib/json";
import type { Query } from "@/lib/router";
import { withVisibleCharacters } from "@/lib/visible-text";
import { Button } from "./Button";
import { Code, CopyButton } from "./Code";
import { Dialog } from "./Dialog";
import { ErrorMessage } from "./feedback";

export type ApiSource = { readonly path: string; readonly query?: Query };

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
  /** A sentence under the title. Give it a fixed number of lines, so that the content below does not move. */
  lead?: ReactNode;
  actions?: ReactNode;
  /** The route whose response this screen shows. */
  json: ApiSource;
  /** The CLI command that does the same. */
  command: string;
  children: ReactNode;
  wide?: boolean;
}): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${withVisibleCharacters(title, true)} · Pegboard`;
    // After following a link, reading starts at the title.
    if (document.activeElement === null || document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div className={`screen ${wide ? "" : "is-narrow"}`}>
      <header className="screen-head">
        <div className="grow">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <div className="screen-lead">{lead}</div>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      <div className="screen-body">{children}</div>
      <ScreenFooter json={json} command={command} />
    </div>
  );
}

function ScreenFooter({ json, command }: { json: ApiSource; command: string }): ReactElement {
  const [openDialog, setOpenDialog] = useState<"json" | "command" | null>(null);
  const close = (): void => setOpenDialog(null);
  return (
    <footer className="screen-foot">
      <Button variant="ghost" small icon="json" onClick={() => setOpenDialog("json")}>
        as JSON
      </Button>
      <Button variant="ghost" small icon="terminal" onClick={() => setOpenDialog("command")}>
        as command
      </Button>
      {openDialog === "json" && <JsonDialog source={json} onClose={close} />}
      <Dialog open={openDialog === "command"} onClose={close} title="As command" wide>
        <div className="stack">
          <p className="muted">This line shows or does the same in a terminal.</p>
          <Code text={command} />
        </div>
      </Dialog>
    </footer>
  );
}

function JsonDialog({ source, onClose }: { source: ApiSource; onClose: () => void }): ReactElement {
  const query = source.query ?? {};
  const response = useQuery<string, Problem>({
    queryKey: [[], "text", apiUrl(source.path, query)],
    queryFn: ({ signal }) => requestText(source.path, { query, signal }),
    staleTime: 0,
  });
  const text = response.data === undefined ? "" : formatJson(response.data);
  return (
    <Dialog open onClose={onClose} title="As JSON" wide actions={<CopyButton text={text} label="Copy the answer" />}>
      <div className="stack">
        <Code text={`GET ${apiUrl(source.path, query)}`} />
        {response.error ? <ErrorMessage error={response.error} /> : <pre className="code is-tall" tabIndex={0}>{text || "…"}</pre>}
      </div>
    </Dialog>
  );
}

const MAX_JSON_CHARACTERS = 400_000;

function formatJson(text: string): string {
  try {
    const formatted = indentJson(text);
    return formatted.length > MAX_JSON_CHARACTERS ? `${formatted.slice(0, MAX_JSON_CHARACTERS)}\n… ${formatted.length - MAX_JSON_CHARACTERS} characters more` : formatted;
  } catch (error) {
    return `${errorMessage(error)}\n${text.slice(0, MAX_JSON_CHARACTERS)}`;
  }
}
