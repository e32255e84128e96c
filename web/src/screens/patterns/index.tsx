/** Every component in every state, for visual tests. It does not use the gateway. */
import { useState, type ReactElement, type ReactNode } from "react";
import type { ToolCard } from "@/api/types";
import { Problem } from "@/api/problem";
import {
  Button,
  Checkbox,
  ChipGroup,
  Code,
  ColumnPlot,
  Dialog,
  Drawer,
  EmptyState,
  Field,
  Icon,
  IconButton,
  Json,
  LinePlot,
  Notice,
  ToolCardButton,
  RenderedCallView,
  SchemaForm,
  SearchField,
  SectionDiff,
  Select,
  Skeleton,
  Sparkline,
  StackedBar,
  STATE_LABELS,
  StateMark,
  TOOL_STATES,
  Switch,
  Table,
  Tabs,
  Tag,
  TextArea,
  Time,
  toast,
  Toasts,
  ErrorMessage,
  VirtualList,
} from "@/components";
import { ThemeButton } from "@/shell/theme";
import { EXAMPLES, SCHEMA, SECTION } from "./examples";
import "./patterns.css";

function Pattern({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <section className="sheet" aria-label={name}>
      <h2>{name}</h2>
      <div className="stack">{children}</div>
    </section>
  );
}

const HOURS = Array.from({ length: 24 }, (_, index) => `${String(index).padStart(2, "0")}:00`);
const SAMPLE_VALUES = HOURS.map((_, index) => Math.round(40 + 30 * Math.sin(index / 3) + (index % 5) * 4));

function sampleTool(state: ToolCard["state"], name: string, overridden = false): Pick<ToolCard, "id" | "name" | "state" | "provider" | "overridden"> {
  return { id: `${state} ${name}`, name, state, provider: "mcp", overridden };
}

export default function PatternsScreen(): ReactElement {
  const [selected, setSelected] = useState<readonly string[]>(["open"]);
  const [text, setText] = useState("create_issue");
  const [on, setOn] = useState(true);
  const [tab, setTab] = useState("one");
  const [open, setOpen] = useState<"dialog" | "drawer" | null>(null);
  const [form, setForm] = useState<Readonly<Record<string, unknown>>>({ title: "A bug", labels: ["bug"], notify: null });
  return (
    <main className="patterns">
      <div className="row apart">
        <h1>Patterns</h1>
        <ThemeButton />
      </div>
      <Pattern name="States">
        <div className="row">
          {TOOL_STATES.map((state) => (
            <StateMark key={state} state={state} />
          ))}
        </div>
      </Pattern>
      <Pattern name="Pegs">
        <div className="pegboard patterns-pegboard">
          {TOOL_STATES.map((state) => (
            <ToolCardButton key={state} tool={sampleTool(state, STATE_LABELS[state].replaceAll(" ", "_"))} />
          ))}
          <ToolCardButton tool={sampleTool("open", "overridden", true)} />
          <ToolCardButton tool={sampleTool("open", "chosen")} selected />
          <ToolCardButton tool={sampleTool("needs_action", "lit")} highlighted />
          <ToolCardButton tool={sampleTool("locked", "a_very_long_name_that_does_not_fit_into_its_tag_at_all")} />
        </div>
      </Pattern>
      <Pattern name="Buttons">
        <div className="row">
          <Button variant="primary">Approve</Button>
          <Button>Plain</Button>
          <Button variant="danger">Remove</Button>
          <Button variant="ghost">Bare</Button>
          <Button icon="plus">With a drawing</Button>
          <Button small>Small</Button>
          <Button disabled>Disabled</Button>
          <Button busy>Busy</Button>
          <IconButton icon="refresh" name="Ask again" />
        </div>
      </Pattern>
      <Pattern name="Chips and tags">
        <ChipGroup name="State" options={TOOL_STATES} selected={selected} onChange={setSelected} counts={{ open: 41, locked: 7, needs_action: 2 }} renderOption={(state) => <StateMark state={state} />} />
        <div className="row">
          <Tag>claimed</Tag>
          <Tag tone="open">new</Tag>
          <Tag tone="needs_action">changed</Tag>
          <Tag tone="broken">destructive</Tag>
          <Tag tone="locked">Disabled</Tag>
        </div>
      </Pattern>
      <Pattern name="Fields">
        <div className="thirds">
          <Field label="Name" value={text} onChange={setText} hint="As a model sees it." />
          <Field label="Name" value={text} onChange={setText} error="There is a tool of this name already. Take another." />
          <Field label="Pinned" value="main" onChange={setText} readOnly mono />
          <Select label="Trust" value="baseline" onChange={() => undefined} options={["open", "baseline", "strict"]} />
          <SearchField label="Filter tools" value="" onChange={() => undefined} />
          <TextArea label="Note" value="Why it is off." onChange={() => undefined} rows={2} />
        </div>
        <div className="row">
          <Switch label="On" checked={on} onChange={setOn} />
          <Switch label="Off" checked={!on} onChange={(next) => setOn(!next)} />
          <Switch label="Not yours to throw" checked disabled onChange={() => undefined} />
          <Checkbox label="Ask twice" checked={on} onChange={setOn} />
        </div>
      </Pattern>
      <Pattern name="Tabs">
        <Tabs name="Example" tabs={[{ id: "one", label: "Why" }, { id: "two", label: "Override", count: 2 }, { id: "three", label: "Try it" }]} selected={tab} onChange={setTab}>
          <p>What the tab “{tab}” holds.</p>
        </Tabs>
      </Pattern>
      <Pattern name="Table">
        <Table
          name="Servers"
          rows={[
            { id: "github", state: "open" as const, open: 41, last: "2026-01-01T00:00:00Z" },
            { id: "mail", state: "needs_action" as const, open: 0, last: null },
            { id: "build", state: "broken" as const, open: 3, last: null },
          ]}
          rowKey={(row) => row.id}
          selected="mail"
          columns={[
            { id: "id", head: "Server", cell: (row) => <b className="mono">{row.id}</b> },
            { id: "state", head: "State", cell: (row) => <StateMark state={row.state} /> },
            { id: "spark", head: "Calls", cell: () => <Sparkline name="Calls" values={SAMPLE_VALUES} />, minor: true },
            { id: "last", head: "Last call", cell: (row) => <Time at={row.last} /> },
            { id: "open", head: "Open", cell: (row) => row.open, end: true },
          ]}
        />
      </Pattern>
      <Pattern name="A long list">
        <VirtualList name="Thousand lines" rows={Array.from({ length: 1000 }, (_, index) => index)} rowKey={(index) => index} height={() => 32} boxHeight="160px">
          {(index) => <div className="patterns-line mono">line {index + 1}</div>}
        </VirtualList>
      </Pattern>
      <Pattern name="Plots">
        <div className="thirds">
          <LinePlot name="Latency" labels={HOURS} band series={[{ id: "p50", label: "p50", tone: "plot-1", values: SAMPLE_VALUES }, { id: "p95", label: "p95", tone: "plot-2", values: SAMPLE_VALUES.map((value) => value * 2.2) }]} format={(value) => `${Math.round(value)} ms`} />
          <ColumnPlot name="Calls" labels={HOURS} series={[{ id: "ok", label: "returned", tone: "open", values: SAMPLE_VALUES }, { id: "no", label: "refused", tone: "needs_action", values: SAMPLE_VALUES.map((value) => value / 6) }, { id: "bad", label: "failed", tone: "broken", values: SAMPLE_VALUES.map((_, index) => (index % 7 === 0 ? 6 : 0)) }]} />
          <LinePlot name="Nothing yet" labels={[]} series={[]} />
        </div>
        <StackedBar name="Outcomes" parts={[{ id: "a", label: "returned", value: 310, tone: "open" }, { id: "b", label: "refused", value: 42, tone: "needs_action" }, { id: "c", label: "failed", value: 9, tone: "broken" }]} />
        <StackedBar name="Budget" total={8000} parts={[{ id: "a", label: "issues", value: 2300, tone: "plot-1" }, { id: "b", label: "files", value: 1900, tone: "plot-2" }, { id: "c", label: "mail", value: 700, tone: "plot-3" }]} />
      </Pattern>
      <Pattern name="Differences">
        <SectionDiff section={SECTION} />
      </Pattern>
      <Pattern name="Form from a schema">
        <div className="split">
          <SchemaForm schema={SCHEMA} value={form} onChange={setForm} fixed={[{ name: "repository", value: "${REPOSITORY}", reason: "Pinned by pegboard.yaml:12: every call is sent with it." }]} errors={new Map([["title", "This must be text."]])} />
          <Json value={form} />
        </div>
      </Pattern>
      <Pattern name="Code">
        <Code text="pegboard why mcp:dev~github:delete_repo" />
      </Pattern>
      <Pattern name="Renderers">
        <div className="thirds">
          {EXAMPLES.map((example) => (
            <figure key={example.renderer} className="stack tight">
              <figcaption className="muted small">{example.renderer}</figcaption>
              <RenderedCallView call={example} />
            </figure>
          ))}
        </div>
      </Pattern>
      <Pattern name="Nothing, waiting, trouble">
        <div className="thirds">
          <EmptyState title="No servers yet" icon="servers" action={<Button variant="primary" icon="plus">Add a server</Button>}>
            A server brings tools. Add one, and see what it would offer before anything is saved.
          </EmptyState>
          <Skeleton lines={5} />
          <div className="stack">
            <ErrorMessage error={new Problem(503, "The store does not answer. Try again in a moment.")} onRetry={() => undefined} />
            <ErrorMessage error={new Problem(422, "", { errors: ["tool: this is missing.", "enabled: this is no yes or no."] })} />
            <Notice tone="needs_action" action={<Button small>Sign in</Button>}>mail wants you to sign in.</Notice>
            <Notice tone="open">Everything that was asked for is there.</Notice>
            <Notice>Plain words.</Notice>
          </div>
        </div>
      </Pattern>
      <Pattern name="Dialogs and toasts">
        <div className="row">
          <Button onClick={() => setOpen("dialog")}>Open a dialog</Button>
          <Button onClick={() => setOpen("drawer")}>Open a drawer</Button>
          <Button onClick={() => toast("delete_repo is off", "open")}>Say what was done</Button>
          <Button onClick={() => toast("The gateway does not answer.", "broken")}>Say what went wrong</Button>
        </div>
        <Dialog open={open === "dialog"} onClose={() => setOpen(null)} title="Turn off delete_repo" actions={<Button variant="primary">Turn off</Button>}>
          <Field label="Note" value="" onChange={() => undefined} />
        </Dialog>
        <Drawer open={open === "drawer"} onClose={() => setOpen(null)} title="One call">
          <Json value={{ tool: "create_issue", arguments: { title: "A bug" } }} />
        </Drawer>
        <Toasts onRefresh={() => undefined} />
      </Pattern>
      <Pattern name="Drawings">
        <div className="row">
          {(["board", "tool", "servers", "toolsets", "approvals", "search", "activity", "prompt", "settings", "plug", "python", "box", "builtin", "database", "upload", "download", "warning", "eye", "filter"] as const).map((name) => (
            <span key={name} className="row tight small muted">
              <Icon name={name} /> {name}
            </span>
          ))}
        </div>
      </Pattern>
    </main>
  );
}
