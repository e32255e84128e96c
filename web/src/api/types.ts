/** The answers that screens read. Each names a shape of the API. */

export type PegState = "open" | "locked" | "wants" | "broken" | "gone";

export type ActionKind =
  | "approve"
  | "switch_tool"
  | "switch_server"
  | "switch_toolset"
  | "review_server"
  | "sign_in"
  | "restart"
  | "edit_file"
  | "grant"
  | "widen"
  | "none";

/** The one thing that unlocks a tool. */
export type Action = { readonly kind: ActionKind; readonly target: string | null; readonly label: string };

export type Hints = {
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
  readonly idempotent: boolean | null;
  readonly openWorld: boolean | null;
};

export type Peg = {
  readonly id: string;
  readonly name: string;
  readonly wireName: string | null;
  readonly title: string | null;
  readonly toolsetId: string;
  readonly serverId: string | null;
  readonly provider: string;
  readonly state: PegState;
  readonly verdict: "open" | "locked" | "absent";
  readonly status: string | null;
  readonly sentence: string | null;
  readonly remedy: string | null;
  readonly more: readonly string[];
  readonly action: Action | null;
  readonly overridden: boolean;
  readonly hints: Hints;
  readonly tokens: number;
  readonly switchOn: boolean;
};

export type BoardToolset = {
  readonly id: string;
  readonly title: string | null;
  readonly userMcp: boolean;
  readonly on: boolean;
};

export type Totals = Record<PegState | "tokens", number>;

export type Board = {
  readonly pegs: readonly Peg[];
  readonly toolsets: readonly BoardToolset[];
  readonly totals: Totals;
  readonly policyVersion: number;
  readonly next: string | null;
};

export type Status = {
  readonly version: string;
  readonly policyVersion: number;
  readonly config: string | null;
  readonly dataDir: string;
  readonly endpoint: string | null;
  readonly servers: number;
  readonly tools: number;
  readonly openTools: number;
  readonly waitingApprovals: number;
  readonly waitingTickets: number;
  readonly notices: readonly { readonly subject: string; readonly text: string; readonly since: string | null }[];
};

export type Health = {
  readonly state: "unknown" | "up" | "starting" | "down" | "needs_sign_in" | "asleep" | "off";
  readonly sentence: string;
  readonly since?: string | null;
  readonly retryAt?: string | null;
  readonly url?: string | null;
  readonly lastLines?: readonly string[];
};

export type ServerLine = {
  readonly id: string;
  readonly serverId: string | null;
  readonly toolsetId: string;
  readonly userMcp: boolean;
  readonly on: boolean;
  readonly health: Health;
};

export type Servers = { readonly servers: readonly ServerLine[] };

export type Session = { readonly principal: string; readonly scopes: readonly string[] };

/** A run of text in a difference, as the gateway cut it. */
export type Piece = { readonly how: string; readonly text: string };

export type Altered = {
  readonly path: string;
  readonly how: string;
  readonly sentence: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly words: readonly Piece[];
};

export type Section = {
  readonly section: string;
  readonly words: readonly Piece[];
  readonly changes: readonly Altered[];
  readonly more: number;
};

/** A result as a person is to be shown it. */
export type Rendered = {
  readonly renderer: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly standalone: boolean;
  readonly missing: readonly string[];
  readonly refused: Readonly<Record<string, string>>;
  readonly cut: boolean;
};

export type ToolLine = {
  readonly id: string;
  readonly name: string;
  readonly wireName: string | null;
  readonly toolsetId: string;
  readonly serverId: string | null;
  readonly verdict: "open" | "locked" | "absent";
};

export type ToolLines = { readonly tools: readonly ToolLine[]; readonly policyVersion: number };
