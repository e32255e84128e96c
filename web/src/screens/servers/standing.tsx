/** How a server is, in one mark and a few words. What it is was said by the gateway. */
import type { ReactElement } from "react";
import type { Health, Server } from "@/api/servers";
import { HEALTH_MARKS, StateWords, Time } from "@/parts";

export type HealthState = Health["state"];

export const HEALTHS: readonly HealthState[] = ["up", "starting", "asleep", "needs_sign_in", "down", "off", "unknown"];

export const HEALTH_WORDS: Readonly<Record<HealthState, string>> = {
  up: "Up",
  starting: "Starting",
  asleep: "Asleep",
  needs_sign_in: "Wants sign-in",
  down: "Down",
  off: "Off",
  unknown: "Not known yet",
};

export function HealthMark({ state }: { state: HealthState }): ReactElement {
  return <StateWords state={HEALTH_MARKS[state]}>{HEALTH_WORDS[state]}</StateWords>;
}

/** The mark, and below it since when, and when it is tried again. */
export function HealthTold({ health, review = null }: { health: Health; review?: string | null }): ReactElement {
  return (
    <span className="standing">
      {review === null ? <HealthMark state={health.state} /> : <StateWords state="wants">Waits for review</StateWords>}
      <span className="quiet small">
        {health.since !== undefined && <Time at={health.since} lasts />}
        {health.retryAt != null && (
          <>
            , tries again <Time at={health.retryAt} />
          </>
        )}
      </span>
    </span>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  stdio: "Program",
  http: "HTTP",
  "streamable-http": "HTTP",
  sse: "SSE",
  container: "Container",
  docspace: "DocSpace",
  own: "Python",
};

export function kindOf(connection: Server["connection"]): string {
  const transport = String(connection["transport"] ?? "");
  return KINDS[transport] ?? transport;
}

/** The command line, the address or the image, as the gateway shows it. */
export function placeOf(connection: Server["connection"]): string {
  const args = connection["args"];
  const words = Array.isArray(args) ? args.map(String) : [];
  const first = connection["url"] ?? connection["command"] ?? connection["image"] ?? "";
  return [String(first), ...words].join(" ");
}

/** What people call it; two of the same id are told apart by their toolsets. */
export function nameOf(server: Server, among: readonly Server[]): string {
  const id = server.serverId ?? server.id;
  const twice = among.filter((other) => other.serverId === server.serverId).length > 1;
  return twice ? `${id} (${server.toolsetId})` : id;
}

export function openOf(server: Server): readonly [number, number] {
  const all = Object.values(server.tools).reduce((sum, each) => sum + each, 0) + server.absentTools;
  return [server.tools["callable"] ?? 0, all];
}
