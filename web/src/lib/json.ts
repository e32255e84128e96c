/** Formats JSON text without changing its numbers: JavaScript rounds 2^53 + 1 and writes 1.0 as 1. */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const NUMBER = /^-?\d/;

/** Whether JavaScript keeps every number of this text as it is written. */
export function hasExactNumbers(text: string): boolean {
  return (text.match(TOKEN) ?? []).every((token) => !NUMBER.test(token) || String(Number(token)) === token);
}

/** The same JSON with indentation; every key and value stays as it is written. Throws if the text is not JSON. */
export function indentJson(text: string): string {
  JSON.parse(text);
  const tokens = text.match(TOKEN) ?? [];
  const parts: string[] = [];
  let depth = 0;
  const newline = (): string => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, index) => {
    if (token === "}" || token === "]") {
      depth -= 1;
      parts.push(tokens[index - 1] === "{" || tokens[index - 1] === "[" ? token : newline() + token);
    } else if (token === "{" || token === "[") {
      depth += 1;
      parts.push(token, tokens[index + 1] === "}" || tokens[index + 1] === "]" ? "" : newline());
    } else {
      parts.push(token === "," ? `,${newline()}` : token === ":" ? ": " : token);
    }
  });
  return parts.join("");
}
