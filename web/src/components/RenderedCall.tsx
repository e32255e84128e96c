/** A call as its renderer shows it. The gateway has filled in the renderer's configuration; this only displays it. */
import { createElement, useRef, type ReactElement, type ReactNode } from "react";
import type { RenderedCall } from "@/api/types";
import { parseBlocks, type Inline } from "@/lib/markdown";
import { Code } from "./Code";
import { LineDiff, PatchDiff } from "./Diff";
import { Json } from "./Json";
import { Notice } from "./feedback";

export function RenderedCallView({ call }: { call: RenderedCall }): ReactElement {
  return (
    <div className="rendered">
      {call.missing.length > 0 && <Notice tone="needs_action">The call has nothing at {call.missing.join(", ")}.</Notice>}
      {Object.entries(call.refused).map(([key, why]) => (
        <Notice key={key} tone="broken">
          <code>{key}</code> is not shown: {why}.
        </Notice>
      ))}
      {renderContent(call.renderer, call.config)}
      {call.truncated && <p className="muted small">Texts were too long to be shown whole.</p>}
    </div>
  );
}

type Config = RenderedCall["config"];

function configText(config: Config, key: string): string {
  const value = config[key];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function configRecords(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];
}

function renderContent(renderer: string, config: Config): ReactNode {
  switch (renderer) {
    case "code":
    case "file-read":
      return (
        <TitledBlock title={configText(config, "file") || configText(config, "path")} detail={configText(config, "language")}>
          <Code text={configText(config, "content")} wrap={false} />
        </TitledBlock>
      );
    case "document":
      return (
        <TitledBlock title={configText(config, "file")}>
          <Markdown text={configText(config, "content")} />
        </TitledBlock>
      );
    case "html":
      return config["content"] === undefined ? null : (
        <HtmlFrame html={configText(config, "content")} data={config["data"]} allowScripts={typeof config["artifact"] === "string"} />
      );
    case "frame":
      return (
        <p>
          A page at <ExternalLink url={configText(config, "url") || `http://localhost:${configText(config, "port")}`} />. It is not opened here.
        </p>
      );
    case "editor":
      return (
        <p>
          The file <code className="wrap-any">{configText(config, "path")}</code> of the workspace.
        </p>
      );
    case "image":
      return <ImagePreview config={config} />;
    case "terminal":
      return <Terminal config={config} />;
    case "file-diff":
      return (
        <TitledBlock title={configText(config, "path")} detail={configText(config, "language")}>
          <LineDiff before={configText(config, "before")} after={configText(config, "after")} />
        </TitledBlock>
      );
    case "patch-diff":
      return <PatchDiff patch={configText(config, "patch")} />;
    case "web-search":
      return (
        <TitledBlock title={configText(config, "query")}>
          <ul className="stack">
            {configRecords(config["results"]).map((each, index) => (
              <li key={index}>
                <b>{String(each["title"] ?? each["url"] ?? "")}</b>
                <p className="mono small muted wrap-any">{String(each["url"] ?? "")}</p>
                <p>{String(each["snippet"] ?? "")}</p>
              </li>
            ))}
          </ul>
        </TitledBlock>
      );
    case "todo-list":
      return (
        <ul className="stack tight">
          {configRecords(config["items"]).map((each, index) => (
            <li key={index} className="row">
              <input type="checkbox" readOnly checked={each["status"] === "completed"} aria-label={String(each["status"] ?? "pending")} />
              <span>{String(each["content"] ?? "")}</span>
              <span className="muted small">{String(each["status"] ?? "")}</span>
            </li>
          ))}
        </ul>
      );
    case "task":
      return (
        <TitledBlock title={configText(config, "title")} detail={configText(config, "status")}>
          <Markdown text={configText(config, "detail")} />
        </TitledBlock>
      );
    case "key-value":
      return <KeyValueList values={config["values"]} />;
    case "table":
      return <RowsTable rows={config["rows"]} columns={config["columns"]} />;
    default:
      return <Json value={config} />;
  }
}

/** Scripts run only in a toolset's own page (an artifact); what a tool returned is shown without scripts. Both are in a
 * sandboxed origin without access to anything (`/ui/frame`), and their messages are ignored. */
function HtmlFrame({ html, data, allowScripts }: { html: string; data: unknown; allowScripts: boolean }): ReactElement {
  const isSent = useRef(false);
  return (
    <iframe
      className="rendered-frame"
      title="The page"
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      src="/ui/frame"
      onLoad={(event) => {
        // Only once: a page that the frame navigates to later must not get the data.
        if (isSent.current) return;
        isSent.current = true;
        // An opaque origin has no name that could be the target here.
        event.currentTarget.contentWindow?.postMessage({ html, runs: allowScripts, data: data ?? null }, "*");
      }}
    />
  );
}

function ExternalLink({ url }: { url: string }): ReactElement {
  return (
    <a className="wrap-any mono" href={url} target="_blank" rel="noopener noreferrer nofollow">
      {url}
    </a>
  );
}

const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

function ImagePreview({ config }: { config: Config }): ReactElement {
  const mimeType = configText(config, "mime_type") || "image/png";
  if (configText(config, "url") !== "")
    return (
      <p>
        A picture at <ExternalLink url={configText(config, "url")} />. It is not fetched here.
      </p>
    );
  if (!IMAGE_TYPE.test(mimeType)) return <Json value={config} />;
  return <img className="rendered-picture" src={`data:${mimeType};base64,${configText(config, "data")}`} alt={configText(config, "alt") || "The picture"} />;
}

function TitledBlock({ title, detail = "", children }: { title: string; detail?: string; children: ReactNode }): ReactElement {
  return (
    <div className="stack tight">
      {(title !== "" || detail !== "") && (
        <p className="row">
          <b className="mono wrap-any">{title}</b>
          <span className="muted small">{detail}</span>
        </p>
      )}
      {children}
    </div>
  );
}

function Terminal({ config }: { config: Config }): ReactElement {
  const code = config["exit_code"];
  return (
    <div className="terminal">
      <p>
        <span className="muted">{configText(config, "cwd")} $ </span>
        {configText(config, "command")}
      </p>
      <pre tabIndex={0}>{configText(config, "output")}</pre>
      {code !== undefined && <p className="muted">ended with {String(code)}</p>}
    </div>
  );
}

function KeyValueList({ values }: { values: unknown }): ReactElement {
  const pairs: readonly (readonly [string, unknown])[] = Array.isArray(values)
    ? values.map((each) => (Array.isArray(each) ? [String(each[0]), each[1]] : ["", each]) as [string, unknown])
    : Object.entries((values ?? {}) as Record<string, unknown>);
  return (
    <dl className="pairs">
      {pairs.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd className="wrap-any">{typeof value === "object" && value !== null ? <Json value={value} depth={0} /> : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function RowsTable({ rows, columns }: { rows: unknown; columns: unknown }): ReactElement {
  const records: readonly unknown[] = Array.isArray(rows) ? rows : [];
  const first = records.find((row) => typeof row === "object" && row !== null);
  const names: readonly string[] = Array.isArray(columns) ? columns.map(String) : first === undefined ? [] : Object.keys(first as object);
  const cell = (row: unknown, name: string): string => {
    const value = typeof row === "object" && row !== null ? (row as Record<string, unknown>)[name] : undefined;
    return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  return (
    <div className="table-container is-plain" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.slice(0, 500).map((row, index) => (
            <tr key={index}>
              {names.map((name) => (
                <td key={name}>{cell(row, name)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {records.length > 500 && <p className="muted small">The first 500 of {records.length} rows.</p>}
    </div>
  );
}

export function Markdown({ text: source }: { text: string }): ReactElement {
  return (
    <div className="prose">
      {parseBlocks(source).map((block, index) => {
        switch (block.kind) {
          case "heading":
            return createElement(`h${Math.min(block.level + 2, 6)}`, { key: index }, <InlineMarkdown parts={block.inline} />);
          case "paragraph":
            return (
              <p key={index} className="prewrap">
                <InlineMarkdown parts={block.inline} />
              </p>
            );
          case "quote":
            return (
              <blockquote key={index} className="prewrap">
                <InlineMarkdown parts={block.inline} />
              </blockquote>
            );
          case "list":
            return createElement(
              block.ordered ? "ol" : "ul",
              { key: index },
              block.items.map((item, index) => (
                <li key={index}>
                  <InlineMarkdown parts={item} />
                </li>
              )),
            );
          case "code":
            return <Code key={index} text={block.text} wrap={false} />;
          case "rule":
            return <hr key={index} />;
        }
      })}
    </div>
  );
}

function InlineMarkdown({ parts }: { parts: readonly Inline[] }): ReactElement {
  return (
    <>
      {parts.map((part, index) => {
        switch (part.kind) {
          case "text":
            return <span key={index}>{part.text}</span>;
          case "code":
            return <code key={index}>{part.text}</code>;
          case "strong":
            return <b key={index}>{part.text}</b>;
          case "emphasis":
            return <em key={index}>{part.text}</em>;
          case "link":
            return (
              <a key={index} href={part.href} target="_blank" rel="noopener noreferrer nofollow">
                {part.text}
              </a>
            );
        }
      })}
    </>
  );
}
