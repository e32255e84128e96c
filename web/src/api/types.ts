/** Response types for screens, derived from the gateway's OpenAPI document: no shape is declared twice. */
import type { paths } from "./schema";

type Path = keyof paths extends infer P ? (P extends `/api/v1${infer Rest}` ? Rest : never) : never;
type Method = "get" | "post" | "put" | "patch" | "delete";
type ResponseBody<R> = R extends { responses: infer S }
  ? S extends { 200: { content: { "application/json": infer T } } }
    ? T
    : S extends { 201: { content: { "application/json": infer T } } }
      ? T
      : never
  : never;

/** The response of a route: `ResponseOf<"/servers">`, `ResponseOf<"/servers/{name}/restart", "post">`. */
export type ResponseOf<P extends Path, M extends Method = "get"> = paths[`/api/v1${P}`] extends infer R ? (M extends keyof R ? ResponseBody<R[M]> : never) : never;

/** The request body of a route: `RequestOf<"/tools/switch">`. */
export type RequestOf<P extends Path, M extends Method = "post"> = paths[`/api/v1${P}`] extends infer R
  ? M extends keyof R
    ? R[M] extends { requestBody: { content: { "application/json": infer T } } }
      ? T
      : never
    : never
  : never;

export type Board = ResponseOf<"/board">;
export type ToolCard = Board["tools"][number];
export type ToolState = ToolCard["state"];
/** The one action that unlocks a tool. */
export type SuggestedAction = ToolCard["action"];
export type ToolHints = ToolCard["hints"];
/** A server whose tools are unknown, with the action that would list them. */
export type ServerWithUnknownTools = { readonly id: string; readonly message: string; readonly action: SuggestedAction };
export type BoardToolset = Board["toolsets"][number];
export type ToolCounts = Board["totals"];

export type FirstRun = ResponseOf<"/first-run">;
export type Status = ResponseOf<"/status">;
export type Session = ResponseOf<"/session">;
export type Servers = ResponseOf<"/servers">;
export type ServerSummary = Servers["servers"][number];
export type Health = ServerSummary["health"];
export type ToolCardResponse = ResponseOf<"/board/tool">;
export type ToolList = ResponseOf<"/tools">;

/** What a person reads before they approve a tool. */
export type ToolReview = ResponseOf<"/approvals/show">;
/** One section of a definition's difference. */
export type DiffSection = ToolReview["difference"][number];
export type DiffChange = DiffSection["changes"][number];
export type DiffPiece = DiffSection["pieces"][number];

/** A result as its renderer shows it to a person. */
export type RenderedCall = NonNullable<ResponseOf<"/call", "post">["rendered"]>;

/** Everybody who has a name here. */
export type Principals = { readonly principals: readonly { readonly id: string }[] };

/** One record of the activity. */
export type ActivityRecord = ResponseOf<"/activity">["activity"][number];
