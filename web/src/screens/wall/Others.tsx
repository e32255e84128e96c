/** Who does not get a tool that whoever looks does get: the words are the gateway's. */
import type { ReactElement } from "react";
import type { OnePeg } from "@/api/types";
import { Link } from "@/parts";

export function Others({ tool, others }: { tool: string; others: OnePeg["others"] }): ReactElement | null {
  if (others.length === 0) return null;
  return (
    <ul className="small" aria-label="Who does not get it">
      {others.map((each) => (
        <li key={each.principal} className="wrap-any">
          Not for{" "}
          <Link to="/tool" query={{ id: tool, as: each.principal, tab: "why" }}>
            {each.principal}
          </Link>
          : <span className="quiet">{each.sentence}</span>
        </li>
      ))}
    </ul>
  );
}
