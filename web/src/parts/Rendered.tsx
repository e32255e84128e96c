/** A call as its renderer shows it. The gateway filled in the renderer's keys; here they are drawn. */
import { createElement, useRef, type ReactElement, type ReactNode } from "react";
import type { Rendered as Told } from "@/api/types";
import { blocks, type Inline } from "@/lib/markdown";
import { Code } from "./Code";
import { LineDiff, PatchDiff } from "./Diff";
import { Json } from "./Json";
import { Notice } from "./states";

export function Rendered({ of }: { of: Told }): ReactElement {
  return (
    <div className="rendered">
      {of.missing.length > 0 && <Notice tone="wants">The call has nothing at {of.missing.join(", ")}.</Notice>}
      {Object.entries(of.refused).map(([key, why]) => (
        <Notice key={key} tone="broken">
          <code>{key}</code> is not shown: {why}.
        </Notice>
      ))}
      {drawn(of.renderer, of.config)}
      {of.cut && <p className="quiet small">Texts were too long to be shown whole.</p>}
    </div>
  );
}

type Config = Told["config"];

function text(config: Config, key: string): string {
  const value = config[key];
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];
}

function drawn(renderer: string, config: Config): ReactNode {
  switch (renderer) {
    case "code":
    case "file-read":
      return (
        <Titled title={text(config, "file") || text(config, "path")} more={text(config, "language")}>
          <Code text={text(config, "content")} wraps={false} />
        </Titled>
      );
    case "document":
      return (
        <Titled title={text(config, "file")}>
          <Markdown text={text(config, "content")} />
        </Titled>
      );
    case "html":
      return config["content"] === undefined ? null : (
        <PageFrame html={text(config, "content")} data={config["data"]} runs={typeof config["artifact"] === "string"} />
      );
    case "frame":
      return (
        <p>
          A page at <Address url={text(config, "url") || `http://localhost:${text(config, "port")}`} />. It is not opened here.
        </p>
      );
    case "editor":
      return (
        <p>
          The file <code className="wrap-any">{text(config, "path")}</code> of the workspace.
        </p>
      );
    case "image":
      return <Picture config={config} />;
    case "terminal":
      return <Terminal config={config} />;
    case "file-diff":
      return (
        <Titled title={text(config, "path")} more={text(config, "language")}>
          <LineDiff before={text(config, "before")} after={text(config, "after")} />
        </Titled>
      );
    case "patch-diff":
      return <PatchDiff patch={text(config, "patch")} />;
    case "web-search":
      return (
        <Titled title={text(config, "query")}>
          <ul className="stack">
            {records(config["results"]).map((each, at) => (
              <li key={at}>
                <b>{String(each["title"] ?? each["url"] ?? "")}</b>
                <p className="mono small quiet wrap-any">{String(each["url"] ?? "")}</p>
                <p>{String(each["snippet"] ?? "")}</p>
              </li>
            ))}
          </ul>
        </Titled>
      );
    case "todo-list":
      return (
        <ul className="stack tight">
          {records(config["items"]).map((each, at) => (
            <li key={at} className="row">
              <input type="checkbox" readOnly checked={each["status"] === "completed"} aria-label={String(each["status"] ?? "pending")} />
              <span>{String(each["content"] ?? "")}</span>
              <span className="quiet small">{String(each["status"] ?? "")}</span>
            </li>
          ))}
        </ul>
      );
    case "task":
      return (
        <Titled title={text(config, "title")} more={text(config, "status")}>
          <Markdown text={text(config, "detail")} />
        </Titled>
      );
    case "key-value":
      return <Pairs values={config["values"]} />;
    case "table":
      return <Rows rows={config["rows"]} columns={config["columns"]} />;
    default:
      return <Json value={config} />;
  }
}

/** Only the page of an artifact runs scripts: it came with the toolset. What a tool returned is shown without them. Both
 * are in an origin of their own that reaches nothing (`/ui/frame`), and nothing that they send is listened to. */
function PageFrame({ html, data, runs }: { html: string; data: unknown; runs: boolean }): ReactElement {
  const isSent = useRef(false);
  return (
    <iframe
      className="rendered-frame"
      title="The page"
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      src="/ui/frame"
      onLoad={(event) => {
        // Once: what is loaded into the frame later is not what was meant.
        if (isSent.current) return;
        isSent.current = true;
        // An opaque origin has no name to write here.
        event.currentTarget.contentWindow?.postMessage({ html, runs, data: data ?? null }, "*");
      }}
    />
  );
}

function Address({ url }: { url: string }): ReactElement {
  return (
    <a className="wrap-any mono" href={url} target="_blank" rel="noopener noreferrer nofollow">
      {url}
    </a>
  );
}

const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

function Picture({ config }: { config: Config }): ReactElement {
  const kind = text(config, "mime_type") || "image/png";
  if (text(config, "url") !== "")
    return (
      <p>
        A picture at <Address url={text(config, "url")} />. It is not fetched here.
      </p>
    );
  if (!PICTURE.test(kind)) return <Json value={config} />;
  return <img className="rendered-picture" src={`data:${kind};base64,${text(config, "data")}`} alt={text(config, "alt") || "The picture"} />;
}

function Titled({ title, more = "", children }: { title: string; more?: string; children: ReactNode }): ReactElement {
  return (
    <div className="stack tight">
      {(title !== "" || more !== "") && (
        <p className="row">
          <b className="mono wrap-any">{title}</b>
          <span className="quiet small">{more}</span>
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
        <span className="quiet">{text(config, "cwd")} $ </span>
        {text(config, "command")}
      </p>
      <pre tabIndex={0}>{text(config, "output")}</pre>
      {code !== undefined && <p className="quiet">ended with {String(code)}</p>}
    </div>
  );
}

function Pairs({ values }: { values: unknown }): ReactElement {
  const pairs: readonly (readonly [string, unknown])[] = Array.isArray(values)
    ? values.map((each) => (Array.isArray(each) ? [String(each[0]), each[1]] : ["", each]) as [string, unknown])
    : Object.entries((values ?? {}) as Record<string, unknown>);
  return (
    <dl className="pairs">
      {pairs.map(([name, value], at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd className="wrap-any">{typeof value === "object" && value !== null ? <Json value={value} depth={0} /> : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Rows({ rows, columns }: { rows: unknown; columns: unknown }): ReactElement {
  const all: readonly unknown[] = Array.isArray(rows) ? rows : [];
  const first = all.find((row) => typeof row === "object" && row !== null);
  const names: readonly string[] = Array.isArray(columns) ? columns.map(String) : first === undefined ? [] : Object.keys(first as object);
  const cell = (row: unknown, name: string): string => {
    const value = typeof row === "object" && row !== null ? (row as Record<string, unknown>)[name] : undefined;
    return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  return (
    <div className="table-around is-plain" tabIndex={0}>
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
          {all.slice(0, 500).map((row, at) => (
            <tr key={at}>
              {names.map((name) => (
                <td key={name}>{cell(row, name)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > 500 && <p className="quiet small">The first 500 of {all.length} rows.</p>}
    </div>
  );
}

export function Markdown({ text: written }: { text: string }): ReactElement {
  return (
    <div className="prose">
      {blocks(written).map((block, at) => {
        switch (block.kind) {
          case "heading":
            return createElement(`h${Math.min(block.level + 2, 6)}`, { key: at }, <Spans of={block.inline} />);
          case "paragraph":
            return (
              <p key={at} className="prewrap">
                <Spans of={block.inline} />
              </p>
            );
          case "quote":
            return (
              <blockquote key={at} className="prewrap">
                <Spans of={block.inline} />
              </blockquote>
            );
          case "list":
            return createElement(
              block.ordered ? "ol" : "ul",
              { key: at },
              block.items.map((item, place) => (
                <li key={place}>
                  <Spans of={item} />
                </li>
              )),
            );
          case "code":
            return <Code key={at} text={block.text} wraps={false} />;
          case "rule":
            return <hr key={at} />;
        }
      })}
    </div>
  );
}

function Spans({ of }: { of: readonly Inline[] }): ReactElement {
  return (
    <>
      {of.map((part, at) => {
        switch (part.kind) {
          case "text":
            return <span key={at}>{part.text}</span>;
          case "code":
            return <code key={at}>{part.text}</code>;
          case "strong":
            return <b key={at}>{part.text}</b>;
          case "emphasis":
            return <em key={at}>{part.text}</em>;
          case "link":
            return (
              <a key={at} href={part.href} target="_blank" rel="noopener noreferrer nofollow">
                {part.text}
              </a>
            );
        }
      })}
    </>
  );
}
