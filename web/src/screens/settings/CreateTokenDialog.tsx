/** Creates a token: its principal, scopes and expiry. */
import { useState, type FormEvent, type ReactElement } from "react";
import { useApiQuery, useApiMutation } from "@/api/queries";
import { useVersionGuard } from "@/api/version-guard";
import type { RequestOf, Principals } from "@/api/types";
import { Button, Checkbox, Dialog, Field, ConcurrentChangeNotice, Select, ErrorMessage } from "@/components";
import type { TokenCreated } from "./index";

type TokenRequest = RequestOf<"/tokens">;
type Scope = TokenRequest["scopes"][number];

const SCOPES: readonly { scope: Scope; label: string }[] = [
  { scope: "call", label: "call: use open tools over MCP and HTTP" },
  { scope: "read", label: "read: look at these pages" },
  { scope: "operate", label: "operate: switch, approve, add servers, try tools" },
  { scope: "admin", label: "admin: tokens, grants and the policy" },
];
const EXPIRY_OPTIONS = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "", label: "only when it is revoked" },
];

export function CreateTokenDialog({ version, onClose, onCreated }: { version: number; onClose: () => void; onCreated: (token: TokenCreated) => void }): ReactElement {
  const principals = useApiQuery<Principals>(["tokens", "policy"], "/principals").data;
  const [principal, setPrincipal] = useState("");
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["call"]);
  const [expiresIn, setExpiresIn] = useState("90");
  const [interactive, setInteractive] = useState(false);
  const guard = useVersionGuard(version);
  const mutation = useApiMutation<TokenCreated>({ silent: true, guard });
  const isComplete = principal.trim() !== "" && name.trim() !== "" && scopes.length > 0;
  const create = (event: FormEvent): void => {
    event.preventDefault();
    if (!isComplete) return;
    const body: TokenRequest = { principal: principal.trim(), name: name.trim(), scopes: [...scopes], ...(expiresIn === "" ? {} : { expiresInDays: Number(expiresIn) }), ...(interactive ? { interactive } : {}) };
    mutation.mutate({ path: "/tokens", body }, { onSuccess: onCreated });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Make a token"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="make-token" disabled={!isComplete} busy={mutation.isPending}>
            Make it
          </Button>
        </>
      }
    >
      <form id="make-token" className="form" onSubmit={create}>
        <ConcurrentChangeNotice guard={guard} unchanged="What you wrote is kept." />
        <Field label="Whose it is" value={principal} onChange={setPrincipal} list="settings-principals" maxLength={256} autoFocus hint="A person, a program or an agent: a name of your choice. It is what activity shows and what grants are for." />
        <datalist id="settings-principals">
          {(principals?.principals ?? []).map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <Field label="What it is for" value={name} onChange={setName} maxLength={256} hint="So that you know which one to revoke." />
        <fieldset className="form-group">
          <legend className="field-label">What it may</legend>
          {SCOPES.map(({ scope, label }) => (
            <Checkbox key={scope} label={label} checked={scopes.includes(scope)} onChange={(on) => setScopes(on ? [...scopes, scope] : scopes.filter((each) => each !== scope))} />
          ))}
          {scopes.length === 0 && <p className="field-error">Choose one at least.</p>}
        </fieldset>
        <fieldset className="form-group">
          <legend className="field-label">Who answers at its clients</legend>
          <Checkbox label="A person: interactive, so answers in its clients confirm calls" checked={interactive} onChange={setInteractive} />
          <p className="muted small">Leave this off for an agent that runs on its own. Its calls that must be confirmed become tickets.</p>
        </fieldset>
        <Select label="It ends" value={expiresIn} onChange={setExpiresIn} options={EXPIRY_OPTIONS} />
        {mutation.error && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
      </form>
    </Dialog>
  );
}
