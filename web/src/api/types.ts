/** The answers that screens read, taken from the gateway's own document: no shape is written down twice. */
import type { paths } from "./schema";

type Path = keyof paths extends infer P ? (P extends `/api/v1${infer Rest}` ? Rest : never) : never;
type Method = "get" | "post" | "put" | "patch" | "delete";
type Body<R> = R extends { responses: infer S }
  ? S extends { 200: { content: { "application/json": infer T } } }
    ? T
    : S extends { 201: { content: { "application/json": infer T } } }
      ? T
      : never
  : never;

/** What a route answers: `Answer<"/servers">`, `Answer<"/servers/{name}/restart", "post">`. */
export type Answer<P extends Path, M extends Method = "get"> = paths[`/api/v1${P}`] extends infer R ? (M extends keyof R ? Body<R[M]> : never) : never;

/** What a route takes: `Asked<"/tools/switch">`. */
export type Asked<P extends Path, M extends Method = "post"> = paths[`/api/v1${P}`] extends infer R
  ? M extends keyof R
    ? R[M] extends { requestBody: { content: { "application/json": infer T } } }
      ? T
      : never
    : never
  : never;

export type Board = Answer<"/board">;
export type Peg = Board["pegs"][number];
export type PegState = Peg["state"];
/** The one thing that unlocks a tool. */
export type Action = Peg["action"];
export type ActionKind = Action["kind"];
export type Hints = Peg["hints"];
/** A server of which nobody knows what it has, with the one act that would change that. */
export type Unheard = { readonly id: string; readonly sentence: string; readonly action: Action };
export type BoardToolset = Board["toolsets"][number];
export type Counts = Board["totals"];

export type FirstRun = Answer<"/first-run">;
export type Status = Answer<"/status">;
export type Session = Answer<"/session">;
export type Servers = Answer<"/servers">;
export type ServerLine = Servers["servers"][number];
export type Health = ServerLine["health"];
export type OnePeg = Answer<"/board/peg">;
export type ToolLines = Answer<"/tools">;
export type ToolLine = ToolLines["tools"][number];

/** What a person reads before they approve a tool. */
export type Review = Answer<"/approvals/show">;
/** A part of a difference, as the gateway cut it. */
export type Section = Review["difference"][number];
export type Altered = Section["changes"][number];
export type Piece = Section["words"][number];

/** A result as a person is to be shown it. */
export type Rendered = NonNullable<Answer<"/call", "post">["rendered"]>;

/** Whoever has a name here. */
export type Principals = { readonly principals: readonly { readonly id: string }[] };

/** One record of the activity. */
export type Activity = Answer<"/activity">["activity"][number];
