/** Changes one setting: a new value, a preview of the changed lines in the file, then the write. */
import { useState, type ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import type { ResponseOf } from "@/api/types";
import { Button, Dialog, Field, Notice, PatchDiff, Select, TextArea, ErrorMessage } from "@/components";
import { parseText, toText, type Setting, type SettingType } from "./setting-value";

type ChangeResponse = ResponseOf<"/settings/{key}", "put">;

const HINTS: Readonly<Record<SettingType["kind"], string>> = {
  boolean: "",
  integer: "A whole number.",
  seconds: "A number of seconds, or with a unit: 90s, 5m, 2h.",
  choice: "",
  list: "One a line.",
};

/** `digest` is that of the file when the dialog was opened, so an edit by someone else is not overwritten. */
export function ChangeSettingDialog({ setting, type, digest, file, onClose }: { setting: Setting; type: SettingType; digest: string; file: string; onClose: () => void }): ReactElement {
  const [text, setText] = useState(toText(setting.value, type));
  const [baseDigest] = useState(digest);
  const [preview, setPreview] = useState<ChangeResponse | null>(null);
  const mutation = useApiMutation<ChangeResponse>({ silent: true });
  const save = (dryRun: boolean, onResponse: (response: ChangeResponse) => void): void =>
    mutation.mutate(
      {
        method: "PUT",
        path: `/settings/${encodeURIComponent(setting.key)}`,
        body: { value: parseText(text, type), fileDigest: baseDigest, dryRun },
        ...(dryRun ? {} : { successMessage: setting.requiresRestart ? `${setting.key} is written, and holds after the next start` : `${setting.key} is written, and holds` }),
      },
      { onSuccess: onResponse },
    );
  const change = (next: string): void => {
    setText(next);
    setPreview(null);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={<span className="mono wrap-any">{setting.key}</span>}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          {preview === null ? (
            <Button variant="primary" busy={mutation.isPending} onClick={() => save(true, setPreview)}>
              See what would change
            </Button>
          ) : (
            <Button variant="primary" icon="check" busy={mutation.isPending} disabled={preview.patch === ""} onClick={() => save(false, onClose)}>
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
          if (preview === null) save(true, setPreview);
        }}
      >
        <p className="muted">{setting.description}</p>
        {type.kind === "boolean" ? (
          <Select label="Value" value={text} onChange={change} options={[{ value: "true", label: "yes" }, { value: "false", label: "no" }]} />
        ) : type.kind === "choice" ? (
          <Select label="Value" value={text} onChange={change} options={type.choices} />
        ) : type.kind === "list" ? (
          <TextArea label="Value" mono rows={5} value={text} onChange={change} hint={HINTS.list} />
        ) : (
          <Field label="Value" mono value={text} onChange={change} hint={HINTS[type.kind]} />
        )}
        {mutation.error !== null && <ErrorMessage error={mutation.error} />}
        {preview !== null &&
          (preview.patch === "" ? (
            <Notice tone="plain">The file says so already.</Notice>
          ) : (
            <>
              <p className="small muted wrap-any">So {file} would change. Every other line stays as it is.</p>
              <PatchDiff patch={preview.patch.trimEnd()} />
            </>
          ))}
        {setting.requiresRestart && <p className="small muted">It is read when the gateway starts: what you write holds after the next start.</p>}
      </form>
    </Dialog>
  );
}
