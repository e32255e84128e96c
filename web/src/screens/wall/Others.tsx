/** Who does not get a tool that whoever looks does get: the words are the gateway's. */
import type { ReactElement } from "react";
import type { OnePeg } from "@/api/types";
import { count } from "@/lib/words";
import { Link } from "@/parts";

/** One more than that is told of where there are more. */
const TOLD = 20;

export function Others({ tool, others, most = TOLD }: { tool: string; others: OnePeg["others"]; most?: number }): ReactElement | null {
  if (others.length === 0) return null;
  const left = others.length - most;
  return (
    <ul className="small" aria-label="Who does not get it">
      {others.slice(0, most).map((each) => (
        <li key={each.principal} className="wrap-any">
          Not for{" "}
          <Link to="/tool" query={{ id: tool, as: each.principal, tab: "why" }}>
            {each.principal}
          </Link>
          : <span className="quiet">{each.sentence}</span>
        </li>
      ))}
      {left > 0 && <li className="quiet">{others.length > TOLD ? "Nor for others." : `Nor for ${count(left, "other")}.`}</li>}
    </ul>
  );
}
