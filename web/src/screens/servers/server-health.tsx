/** The health of a server as an icon and a few words. The gateway determines it. */
import type { ReactElement } from "react";
import type { Server } from "@/api/servers";
import type { Health } from "@/api/types";
import { HEALTH_TO_STATE, StateLabel, Time } from "@/components";

export type HealthState = Health["state"];

export const HEALTH_STATES: readonly HealthState[] = ["up", "starting", "asleep", "needs_sign_in", "down", "off", "unknown"];

export const HEALTH_LABELS: Readonly<Record<HealthState, string>> = {
  up: "Up",
  starting: "Starting",
  asleep: "Asleep",
  needs_sign_in: "Wants sign-in",
  down: "Down",
  off: "Off",
  unknown: "Not known yet",
};

export function HealthMark({ state }: { state: HealthState }): ReactElement {
  return <StateLabel state={HEALTH_TO_STATE[state]}>{HEALTH_LABELS[state]}</StateLabel>;
}

/** The health, since when, and when it is tried again. */
export function HealthStatus({ health, review = null }: { health: Health; review?: string | null }): ReactElement {
  return (
    <span className="server-health">
      {review === null ? <HealthMark state={health.state} /> : <StateLabel state="needs_action">Waits for review</StateLabel>}
      <span className="muted small">
        {health.since !== undefined && <Time at={health.since} elapsed />}
        {health.retryAt != null && (
          <>
            , tries again <Time at={health.retryAt} />
          </>
        )}
      </span>
    </span>
  );
}

const TRANSPORT_NAMES: Readonly<Record<string, string>> = {
  stdio: "Program",
  http: "HTTP",
  "streamable-http": "HTTP",
  sse: "SSE",
  container: "Container",
  docspace: "DocSpace",
  own: "Python",
};

export function transportName(connection: Server["connection"]): string {
  const transport = String(connection["transport"] ?? "");
  return TRANSPORT_NAMES[transport] ?? transport;
}

/** The command line, URL or image, as the gateway shows it. */
export function connectionText(connection: Server["connection"]): string {
  const args = connection["args"];
  const argTexts = Array.isArray(args) ? args.map(String) : [];
  const program = connection["url"] ?? connection["command"] ?? connection["image"] ?? "";
  return [String(program), ...argTexts].join(" ");
}

/** The display name; two servers with the same id are distinguished by their toolsets. */
export function serverName(server: Server, servers: readonly Server[]): string {
  const id = server.serverId ?? server.id;
  const isAmbiguous = servers.filter((other) => other.serverId === server.serverId).length > 1;
  return isAmbiguous ? `${id} (${server.toolsetId})` : id;
}

export function toolCounts(server: Server): readonly [number, number] {
  const total = Object.values(server.tools).reduce((sum, each) => sum + each, 0) + server.hiddenTools;
  return [server.tools["callable"] ?? 0, total];
}
