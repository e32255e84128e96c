/** Parses the simple part of Markdown that results of tools use. HTML is not passed through. */

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

export function parseInline(text: string): readonly Inline[] {
  const parts: Inline[] = [];
  let position = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > position) parts.push({ kind: "text", text: text.slice(position, match.index) });
    const [matched, code, strong, emphasis, label, href] = match;
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (strong !== undefined) parts.push({ kind: "strong", text: strong });
    else if (emphasis !== undefined) parts.push({ kind: "emphasis", text: emphasis });
    else if (label !== undefined && href !== undefined) parts.push({ kind: "link", text: label, href });
    position = match.index + matched.length;
  }
  if (position < text.length) parts.push({ kind: "text", text: text.slice(position) });
  return parts;
}

export function parseBlocks(text: string): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const result: Block[] = [];
  let position = 0;
  const takeWhile = (pattern: RegExp): string[] => {
    const part: string[] = [];
    for (let match = pattern.exec(lines[position] ?? ""); position < lines.length && match; match = pattern.exec(lines[++position] ?? "")) part.push(match[1] ?? "");
    return part;
  };
  while (position < lines.length) {
    const line = lines[position] ?? "";
    const fence = /^```(\S*)/.exec(line);
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (fence) {
      const end = lines.findIndex((each, index) => index > position && each.startsWith("```"));
      const last = end < 0 ? lines.length : end;
      result.push({ kind: "code", language: fence[1] ?? "", text: lines.slice(position + 1, last).join("\n") });
      position = last + 1;
    } else if (heading) {
      result.push({ kind: "heading", level: (heading[1] ?? "#").length, inline: parseInline(heading[2] ?? "") });
      position += 1;
    } else if (/^(-{3,}|\*{3,})\s*$/.test(line)) {
      result.push({ kind: "rule" });
      position += 1;
    } else if (/^\s*[-*+]\s+/.test(line)) {
      result.push({ kind: "list", ordered: false, items: takeWhile(/^\s*[-*+]\s+(.*)$/).map(parseInline) });
    } else if (/^\s*\d+[.)]\s+/.test(line)) {
      result.push({ kind: "list", ordered: true, items: takeWhile(/^\s*\d+[.)]\s+(.*)$/).map(parseInline) });
    } else if (/^>\s?/.test(line)) {
      result.push({ kind: "quote", inline: parseInline(takeWhile(/^>\s?(.*)$/).join("\n")) });
    } else if (line.trim() === "") {
      position += 1;
    } else {
      const part = [line];
      while (++position < lines.length && (lines[position] ?? "").trim() !== "" && !/^(#{1,6}\s|```|>|\s*[-*+]\s|\s*\d+[.)]\s)/.test(lines[position] ?? "")) part.push(lines[position] ?? "");
      result.push({ kind: "paragraph", inline: parseInline(part.join("\n")) });
    }
  }
  return result;
}
