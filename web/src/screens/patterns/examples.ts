import type { RenderedCall, DiffSection } from "@/api/types";
import type { Schema } from "@/lib/schema";

export const SCHEMA: Schema = {
  type: "object",
  required: ["title"],
  properties: {
    title: { type: "string", description: "One line.", maxLength: 120 },
    priority: { enum: ["low", "usual", "high"] },
    count: { type: "integer", minimum: 1 },
    draft: { type: "boolean", description: "Keep it to yourself." },
    labels: { type: "array", items: { type: "string" } },
    assignee: { type: "object", properties: { login: { type: "string" } }, required: ["login"] },
    notify: { type: ["string", "null"] },
    anything: { description: "Whatever you like." },
  },
};

export const SECTION: DiffSection = {
  section: "description",
  pieces: [
    { kind: "kept", text: "Deletes a repository" },
    { kind: "removed", text: " after asking" },
    { kind: "added", text: " at once and for good" },
    { kind: "kept", text: "." },
  ],
  changes: [
    { path: "inputSchema.properties.path", kind: "added", message: "A parameter 'path' was added and is required.", before: null, after: '{\n  "type": "string"\n}', pieces: [] },
    { path: "annotations.readOnlyHint", kind: "changed", message: "It claims to be read-only no longer.", before: "true", after: "false", pieces: [] },
  ],
  omitted: 2,
};

function example(renderer: string, config: RenderedCall["config"], rest: Partial<RenderedCall> = {}): RenderedCall {
  return { renderer, config, standalone: false, missing: [], refused: {}, truncated: false, ...rest };
}

export const EXAMPLES: readonly RenderedCall[] = [
  example("code", { file: "site.py", content: 'def greet(name: str) -> str:\n    return f"Hello {name}"', language: "python" }),
  example("document", { content: "# Loans\n\nTwo are **overdue**:\n\n- *Dune*, until `2026-03-01`\n- Emma\n\n> Ask at the desk." }),
  example("html", { content: "<h1>A page</h1><p>In a frame that reaches nothing.</p>" }),
  example("image", { data: "R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", mime_type: "image/gif", alt: "A dot" }),
  example("terminal", { command: "ls", output: "README.md\nsrc", cwd: "/srv", exit_code: 0 }),
  example("file-diff", { path: "README.md", before: "One line", after: "One line\nand another" }),
  example("patch-diff", { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new" }),
  example("web-search", { query: "pegboard", results: [{ title: "A wall for tools", url: "https://example.com", snippet: "Every tool in its outline." }] }),
  example("todo-list", { items: [{ content: "Read it", status: "completed" }, { content: "Say why", status: "pending" }] }),
  example("task", { title: "Find overdue books", status: "done", detail: "Two were found." }),
  example("key-value", { values: { name: "octo/site", stars: 12, open: true } }),
  example("table", { rows: [{ title: "Dune", due: "2026-03-01" }, { title: "Emma", due: "2026-03-04" }] }, { truncated: true }),
  example("editor", { path: "notes/today.md" }, { missing: ["$args.line"], refused: { path: "it must be a path within the workspace" } }),
];
