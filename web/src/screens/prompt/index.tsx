import { useId, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useParam } from "@/lib/place";
import { command } from "@/lib/words";
import { Answered, Button, EmptyState, Field, Screen, Select, Skeleton } from "@/parts";
import { PrincipalField } from "@/parts/PrincipalField";
import { Answer } from "./Answer";
import { Blocks } from "./Blocks";
import type { Prompt } from "./shapes";
import { Side } from "./Side";
import "./prompt.css";

const LOCAL = "local";
const EXAMPLE = "qwen3:8b";
const MODELS = [EXAMPLE, "llama3.2:3b", "mistral-nemo:12b", "gpt-oss:20b", "gemma3:27b", "phi4-mini"];
const LEAST = 200;

export default function PromptScreen(): ReactElement {
  const models = useId();
  const [model, setModel] = useParam("model");
  const [query, setQuery] = useParam("q");
  const [format, setFormat] = useParam("format");
  const [principal, setPrincipal] = useParam("as", LOCAL);
  const [budget, setBudget] = useParam("budget");
  const tokens = /^\d+$/.test(budget.trim()) && Number(budget) >= LEAST ? Number(budget) : undefined;
  const as = principal.trim() === LOCAL ? undefined : principal.trim();
  const asked = { model: model.trim(), query, format, budget: tokens, as };
  const is = model.trim() !== "";
  const told = useAnswer<Prompt>(["board", "policy"], "/prompt", asked, { when: is });
  const formats = [...new Set([...(told.data?.formatNames ?? []), format].filter(Boolean))];
  return (
    <Screen
      title="Prompt"
      lead="What a model would be sent, block by block, and why."
      json={is ? { path: "/prompt", query: asked } : { path: "/presentations" }}
      command={command("pegboard", "prompt", "--model", model.trim() || EXAMPLE, query && "--query", query, format && "--format", format, tokens !== undefined && "--budget", tokens, as && "--as", as)}
    >
      <form className="prompt-form" aria-label="Which prompt" onSubmit={(event) => event.preventDefault()}>
        <Field label="Model" value={model} onChange={setModel} list={models} mono placeholder={EXAMPLE} maxLength={256} />
        <datalist id={models}>
          {MODELS.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <Select label="Format" value={format} onChange={setFormat} choices={[{ value: "", label: "as the model needs" }, ...formats]} />
        <PrincipalField label="Principal" value={principal} onChange={setPrincipal} />
        <Field
          label="Budget"
          value={budget}
          onChange={setBudget}
          inputMode="numeric"
          placeholder="as the settings say"
          {...(budget !== "" && tokens === undefined ? { error: `Tokens, ${LEAST} or more.` } : {})}
        />
        <div className="prompt-q">
          <Field label="What the user says" value={query} onChange={setQuery} placeholder="Tools are searched by it" maxLength={2000} />
        </div>
      </form>
      {is ? (
        <>
          <Answered of={told} waiting={<Skeleton lines={10} height={36} />}>
            {(prompt) => (
              <div className="prompt-split">
                <Blocks told={prompt} />
                <Side told={prompt} />
              </div>
            )}
          </Answered>
          <Answer model={model.trim()} format={format} query={query} principal={principal.trim() || LOCAL} />
        </>
      ) : (
        <EmptyState
          icon="prompt"
          title="Choose a model"
          action={
            <Button look="main" onClick={() => setModel(EXAMPLE)}>
              Look at {EXAMPLE}
            </Button>
          }
        >
          Write its name as its server calls it. The gateway then tells the exact prompt for it, and what was left out.
        </EmptyState>
      )}
    </Screen>
  );
}
