/** Callers who do not get a tool that this caller gets, in the gateway's words. */
import type { ReactElement } from "react";
import type { ToolCardResponse } from "@/api/types";
import { formatCount } from "@/lib/format";
import { Link } from "@/components";

/** The gateway reports one more than this if there are more. */
const MAX_REPORTED = 20;

export function OtherCallers({ tool, callers, max = MAX_REPORTED }: { tool: string; callers: ToolCardResponse["otherCallers"]; max?: number }): ReactElement | null {
  if (callers.length === 0) return null;
  const hiddenCount = callers.length - max;
  return (
    <ul className="small" aria-label="Who does not get it">
      {callers.slice(0, max).map((caller) => (
        <li key={caller.principal} className="wrap-any">
          Not for{" "}
          <Link to="/tool" query={{ id: tool, as: caller.principal, tab: "why" }}>
            {caller.principal}
          </Link>
          : <span className="muted">{caller.message}</span>
        </li>
      ))}
      {hiddenCount > 0 && <li className="muted">{callers.length > MAX_REPORTED ? "Nor for others." : `Nor for ${formatCount(hiddenCount, "other")}.`}</li>}
    </ul>
  );
}
