import { useId, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useParam } from "@/lib/router";
import { shellCommand } from "@/lib/format";
import { QueryResult, Button, EmptyState, Field, Screen, Select, Skeleton } from "@/components";
import { PrincipalField } from "@/components/PrincipalField";
import { ModelAnswer } from "./ModelAnswer";
import { PromptBlocks } from "./PromptBlocks";
import type { Prompt } from "./types";
import { PromptSidebar } from "./PromptSidebar";
import "./prompt.css";

const LOCAL_PRINCIPAL = "local";
const EXAMPLE_MODEL = "qwen3:8b";
const MODELS = [EXAMPLE_MODEL, "llama3.2:3b", "mistral-nemo:12b", "gpt-oss:20b", "gemma3:27b", "phi4-mini"];
const MIN_BUDGET = 200;

export default function PromptScreen(): ReactElement {
  const modelListId = useId();
  const [model, setModel] = useParam("model");
  const [query, setQuery] = useParam("q");
  const [format, setFormat] = useParam("format");
  const [principal, setPrincipal] = useParam("as", LOCAL_PRINCIPAL);
  const [budget, setBudget] = useParam("budget");
  const budgetTokens = /^\d+$/.test(budget.trim()) && Number(budget) >= MIN_BUDGET ? Number(budget) : undefined;
  const as = principal.trim() === LOCAL_PRINCIPAL ? undefined : principal.trim();
  const promptQuery = { model: model.trim(), query, format, budget: budgetTokens, as };
  const hasModel = model.trim() !== "";
  const response = useApiQuery<Prompt>(["board", "policy"], "/prompt", promptQuery, { enabled: hasModel });
  const formats = [...new Set([...(response.data?.formatNames ?? []), format].filter(Boolean))];
  return (
    <Screen
      title="Prompt"
      lead="What a model would be sent, block by block, and why."
      json={hasModel ? { path: "/prompt", query: promptQuery } : { path: "/presentations" }}
      command={shellCommand("pegboard", "prompt", "--model", model.trim() || EXAMPLE_MODEL, query && "--query", query, format && "--format", format, budgetTokens !== undefined && "--budget", budgetTokens, as && "--as", as)}
    >
      <form className="prompt-form" aria-label="Which prompt" onSubmit={(event) => event.preventDefault()}>
        <Field label="Model" value={model} onChange={setModel} list={modelListId} mono placeholder={EXAMPLE_MODEL} maxLength={256} />
        <datalist id={modelListId}>
          {MODELS.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <Select label="Format" value={format} onChange={setFormat} options={[{ value: "", label: "as the model needs" }, ...formats]} />
        <PrincipalField label="Principal" value={principal} onChange={setPrincipal} />
        <Field
          label="Budget"
          value={budget}
          onChange={setBudget}
          inputMode="numeric"
          placeholder="as the settings say"
          {...(budget !== "" && budgetTokens === undefined ? { error: `Tokens, ${MIN_BUDGET} or more.` } : {})}
        />
        <div className="prompt-q">
          <Field label="What the user says" value={query} onChange={setQuery} placeholder="Tools are searched by it" maxLength={2000} />
        </div>
      </form>
      {hasModel ? (
        <>
          <QueryResult query={response} placeholder={<Skeleton lines={10} height={36} />}>
            {(prompt) => (
              <div className="prompt-split">
                <PromptBlocks prompt={prompt} />
                <PromptSidebar prompt={prompt} />
              </div>
            )}
          </QueryResult>
          <ModelAnswer model={model.trim()} format={format} query={query} principal={principal.trim() || LOCAL_PRINCIPAL} />
        </>
      ) : (
        <EmptyState
          icon="prompt"
          title="Choose a model"
          action={
            <Button variant="primary" onClick={() => setModel(EXAMPLE_MODEL)}>
              Look at {EXAMPLE_MODEL}
            </Button>
          }
        >
          Write its name as its server calls it. The gateway then tells the exact prompt for it, and what was left out.
        </EmptyState>
      )}
    </Screen>
  );
}
