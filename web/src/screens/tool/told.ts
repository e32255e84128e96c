/** What the routes about one tool answer. */
import type { Activity, Peg, Rendered, Section } from "@/api/types";

export type OnePeg = { readonly peg: Peg; readonly policyVersion: number };

export type Spec = {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
  readonly annotations: Readonly<Record<string, unknown>> | null;
  readonly tokens: number;
};

export type Shown = {
  readonly id: string;
  readonly requiresConfirmation: boolean;
  readonly fingerprint: string;
  readonly asOffered: Spec;
  readonly asOverridden: Spec;
  readonly difference: readonly Section[];
};

export type Origin =
  | { readonly kind: "declared"; readonly file: string; readonly line: number }
  | { readonly kind: "installed"; readonly by: string; readonly at: string };

/** One field of the overrides that hold for a tool, and whose word it is. */
export type Said = {
  readonly field: string;
  readonly value: unknown;
  readonly from: Origin | null;
  readonly toolset: string;
  readonly target: string;
  readonly declared: boolean;
  readonly manifest?: boolean;
  readonly inForce: boolean;
  readonly effect: string | null;
};

export type Why = {
  readonly id: string;
  readonly steps: readonly { readonly asked: string; readonly lets: boolean; readonly said: string }[];
  readonly naming: readonly string[];
  readonly overrides: readonly Said[];
};

export type Preview = {
  readonly tools: readonly {
    readonly id: string;
    readonly after: Spec;
    readonly difference: readonly Section[];
    readonly problems: readonly string[];
  }[];
  readonly affected: number;
  readonly misfits: readonly { readonly tool: string | null; readonly field: string; readonly what: string }[];
  readonly withoutEffect: readonly { readonly tool: string; readonly field: string; readonly why: string }[];
  readonly problems: readonly string[];
  readonly policyVersion: number;
};

export type Weighed = { readonly text: string; readonly tokens: number };

export type Trial = {
  readonly ended: string;
  readonly sentence?: string;
  readonly ticket?: string | null;
  readonly callId: string;
  readonly raw?: Weighed;
  readonly asModel: Weighed;
  readonly rendered?: Rendered;
  readonly renderedTokens?: number;
};

export type History = {
  readonly decisions: readonly Activity[];
  readonly ofProvider: readonly Activity[];
  readonly specs: readonly {
    readonly what: string;
    readonly fingerprint: string;
    readonly by: string | null;
    readonly at: string | null;
    readonly firstSight: boolean;
  }[];
  readonly difference: readonly Section[];
  readonly calls: readonly Activity[];
};

export function originWords(said: { readonly from: Origin | null; readonly manifest?: boolean }): string {
  if (said.manifest) return "the toolset's own manifest";
  if (said.from === null) return "";
  return said.from.kind === "declared" ? `${said.from.file}:${said.from.line}` : `${said.from.by}`;
}
