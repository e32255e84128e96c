/** An id that matches several tools or none: the gateway's message, and the possible tools as links. */
import type { ReactElement } from "react";
import { Problem } from "@/api/problem";
import type { ServerWithUnknownTools } from "@/api/types";
import { ButtonLink, EmptyState, Link } from "@/components";
import { UnknownServerTools } from "@/screens/board/UnknownTool";

/** The possible tools, if the id matches several or none; null for any other error. */
export function possibleTools(error: unknown): readonly string[] | null {
  if (!(error instanceof Problem) || typeof error.body !== "object" || error.body === null || !("tools" in error.body)) return null;
  return Array.isArray(error.body.tools) ? error.body.tools.map(String) : null;
}

/** Servers that may have the tool and have not listed their tools. */
function unknownServers(error: Problem): readonly ServerWithUnknownTools[] {
  const body = (error.body ?? {}) as { readonly unlistedProviders?: readonly ServerWithUnknownTools[] };
  return body.unlistedProviders ?? [];
}

export function Ambiguous({ id, error, tools }: { id: string; error: Problem; tools: readonly string[] }): ReactElement {
  const isAmbiguous = error.status === 400;
  const servers = unknownServers(error);
  return (
    <div className="sheet">
      <EmptyState
        icon="tool"
        title={isAmbiguous ? "Several tools have this name" : tools.length === 0 && servers.length > 0 ? "Nobody knows this tool now" : "No tool has this name"}
        action={
          <ButtonLink to="/tool" query={{}} icon="search">
            Find a tool
          </ButtonLink>
        }
      >
        <p className="wrap-any">{isAmbiguous ? `Which ${id} do you mean?` : error.message}</p>
        {tools.length > 0 && (
          <ul className="stack tight ambiguous-tools" aria-label={isAmbiguous ? "Tools of this name" : "Tools that may be meant"}>
            {tools.map((tool) => (
              <li key={tool}>
                <Link to="/tool" query={{ id: tool }} className="wrap-any">
                  <code>{tool}</code>
                </Link>
              </li>
            ))}
          </ul>
        )}
        {servers.length > 0 && <UnknownServerTools servers={servers} version={undefined} message={error.message} />}
      </EmptyState>
    </div>
  );
}
