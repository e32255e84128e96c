/** The plain part of Markdown as a tree: what results of tools are written in. No HTML passes. */

export type Inline =
  | { readonly kind: "text" | "code" | "strong" | "emphasis"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly href: string };

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly inline: readonly Inline[] }
  | { readonly kind: "paragraph" | "quote"; readonly inline: readonly Inline[] }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "rule" };

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;

export function inline(text: string): readonly Inline[] {
  const found: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) found.push({ kind: "text", text: text.slice(from, match.index) });
    const [whole, code, strong, emphasis, label, href] = match;
    if (code !== undefined) found.push({ kind: "code", text: code });
    else if (strong !== undefined) found.push({ kind: "strong", text: strong });
    else if (emphasis !== undefined) found.push({ kind: "emphasis", text: emphasis });
    else if (label !== undefined && href !== undefined) found.push({ kind: "link", text: label, href });
    from = match.index + whole.length;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

export function blocks(text: string): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const found: Block[] = [];
  let at = 0;
  const taken = (fits: RegExp): string[] => {
    const part: string[] = [];
    for (let match = fits.exec(lines[at] ?? ""); at < lines.length && match; match = fits.exec(lines[++at] ?? "")) part.push(match[1] ?? "");
    return part;
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = /^```(\S*)/.exec(line);
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (fence) {
      const end = lines.findIndex((each, place) => place > at && each.startsWith("```"));
      const last = end < 0 ? lines.length : end;
      found.push({ kind: "code", language: fence[1] ?? "", text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
    } else if (heading) {
      found.push({ kind: "heading", level: (heading[1] ?? "#").length, inline: inline(heading[2] ?? "") });
      at += 1;
    } else if (/^(-{3,}|\*{3,})\s*$/.test(line)) {
      found.push({ kind: "rule" });
      at += 1;
    } else if (/^\s*[-*+]\s+/.test(line)) {
      found.push({ kind: "list", ordered: false, items: taken(/^\s*[-*+]\s+(.*)$/).map(inline) });
    } else if (/^\s*\d+[.)]\s+/.test(line)) {
      found.push({ kind: "list", ordered: true, items: taken(/^\s*\d+[.)]\s+(.*)$/).map(inline) });
    } else if (/^>\s?/.test(line)) {
      found.push({ kind: "quote", inline: inline(taken(/^>\s?(.*)$/).join("\n")) });
    } else if (line.trim() === "") {
      at += 1;
    } else {
      const part = [line];
      while (++at < lines.length && (lines[at] ?? "").trim() !== "" && !/^(#{1,6}\s|```|>|\s*[-*+]\s|\s*\d+[.)]\s)/.test(lines[at] ?? "")) part.push(lines[at] ?? "");
      found.push({ kind: "paragraph", inline: inline(part.join("\n")) });
    }
  }
  return found;
}
