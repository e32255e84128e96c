/** One setting changed: what is typed, then the lines of the file that would differ, then it is written. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import type { Answer } from "@/api/types";
import { Button, Dialog, Field, Notice, PatchDiff, Select, TextArea, Trouble } from "@/parts";
import { meant, typed, type SettingLine, type Takes } from "./setting";

type Changed = Answer<"/settings/{key}", "put">;

const ADVICE: Readonly<Record<Takes["kind"], string>> = {
  truth: "",
  whole: "A whole number.",
  seconds: "A number of seconds, or with a unit: 90s, 5m, 2h.",
  choice: "",
  texts: "One a line.",
};

/** `digest` is of the file that was looked at when this was opened: whoever edits it meanwhile is not overwritten. */
export function ChangeSetting({ setting, takes, digest, file, onClose }: { setting: SettingLine; takes: Takes; digest: string; file: string; onClose: () => void }): ReactElement {
  const [text, setText] = useState(typed(setting.value, takes));
  const [based] = useState(digest);
  const [tried, setTried] = useState<Changed | null>(null);
  const deed = useDeed<Changed>({ silent: true });
  const put = (dryRun: boolean, then: (told: Changed) => void): void =>
    deed.mutate(
      {
        method: "PUT",
        path: `/settings/${encodeURIComponent(setting.key)}`,
        body: { value: meant(text, takes), fileDigest: based, dryRun },
        ...(dryRun ? {} : { done: setting.readAtStart ? `${setting.key} is written, and holds after the next start` : `${setting.key} is written, and holds` }),
      },
      { onSuccess: then },
    );
  const change = (next: string): void => {
    setText(next);
    setTried(null);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={<span className="mono wrap-any">{setting.key}</span>}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          {tried === null ? (
            <Button look="main" busy={deed.isPending} onClick={() => put(true, setTried)}>
              See what would change
            </Button>
          ) : (
            <Button look="main" icon="check" busy={deed.isPending} disabled={tried.patch === ""} onClick={() => put(false, onClose)}>
              Write it
            </Button>
          )}
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (tried === null) put(true, setTried);
        }}
      >
        <p className="quiet">{setting.description}</p>
        {takes.kind === "truth" ? (
          <Select label="Value" value={text} onChange={change} choices={[{ value: "true", label: "yes" }, { value: "false", label: "no" }]} />
        ) : takes.kind === "choice" ? (
          <Select label="Value" value={text} onChange={change} choices={takes.words} />
        ) : takes.kind === "texts" ? (
          <TextArea label="Value" mono rows={5} value={text} onChange={change} advice={ADVICE.texts} />
        ) : (
          <Field label="Value" mono value={text} onChange={change} advice={ADVICE[takes.kind]} />
        )}
        {deed.error !== null && <Trouble error={deed.error} />}
        {tried !== null &&
          (tried.patch === "" ? (
            <Notice tone="plain">The file says so already.</Notice>
          ) : (
            <>
              <p className="small quiet wrap-any">So {file} would change. Every other line stays as it is.</p>
              <PatchDiff patch={tried.patch.trimEnd()} />
            </>
          ))}
        {setting.readAtStart && <p className="small quiet">It is read when the gateway starts: what you write holds after the next start.</p>}
      </form>
    </Dialog>
  );
}
