/** Servers that somebody picked to add, and what is sent for each. */
import type { ReadServer, Tried, Trust } from "@/api/servers";

/** Where it stands: named, so that what is secret in it stays there. */
export type Source = { readonly text: string } | { readonly client: string };

export type Picked = {
  readonly key: string;
  readonly source: Source;
  readonly read: ReadServer;
  /** Its id here, and the toolset that it joins; empty for one of its own. */
  readonly id: string;
  readonly toolset: string;
  readonly trying: boolean;
  readonly tried: Tried | null;
  readonly error: unknown;
  readonly wanted: boolean;
  readonly added: boolean;
};

export function picked(source: Source, read: ReadServer): Picked {
  const key = `${"client" in source ? source.client : ""}\n${read.name}`;
  return { key, source, read, id: read.name, toolset: "", trying: false, tried: null, error: null, wanted: true, added: false };
}

export function wanted(pick: Picked): boolean {
  return pick.wanted;
}

type Body = {
  readonly id: string;
  readonly from: Source & { readonly server: string };
  readonly toolset?: string;
  readonly trust?: Trust;
  readonly seen?: string;
};

/** Without a trust it is only tried. What was shown counts as seen where first sight opens tools. */
export function bodyOf(pick: Picked, trust?: Trust): Body {
  const seen = trust === "baseline" ? pick.tried?.seen : null;
  return {
    id: pick.id.trim(),
    from: { ...pick.source, server: pick.read.name },
    ...(pick.toolset.trim() === "" ? {} : { toolset: pick.toolset.trim() }),
    ...(trust === undefined ? {} : { trust }),
    ...(seen == null ? {} : { seen }),
  };
}
