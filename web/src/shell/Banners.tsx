/** Notices for every screen, in the gateway's words: it is unreachable, its configuration is broken, its store is down. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { UNREACHABLE_MESSAGE } from "@/api/problem";
import type { Status } from "@/api/types";
import { Notice, Time } from "@/components";

/** Subjects of notices about settings that have no effect. */
const BROKEN_SUBJECTS = new Set(["configuration", "unknown_names"]);

export function Banners({ gatewayUnreachable }: { gatewayUnreachable: boolean }): ReactElement | null {
  const notices = useApiQuery<Status>(["approvals", "tickets", "board"], "/status").data?.notices ?? [];
  if (!gatewayUnreachable && notices.length === 0) return null;
  return (
    <section className="banners" aria-label="To know" role="status">
      {gatewayUnreachable && (
        <Notice tone="broken">
          <p>{UNREACHABLE_MESSAGE}</p>
          <p className="muted">What you see here may be old. It is tried again by itself.</p>
        </Notice>
      )}
      {notices.map(({ subject, text, since }) => {
        const [first = "", ...rest] = text.split("\n");
        return (
          <Notice key={subject} tone={BROKEN_SUBJECTS.has(subject) ? "broken" : "wants"}>
            <p className="wrap-any">
              <strong>{first}</strong> <span className="muted small">since <Time at={since} /></span>
            </p>
            {rest.length > 0 && <p className="banner-rest prewrap wrap-any mono small">{rest.join("\n")}</p>}
          </Notice>
        );
      })}
    </section>
  );
}
