/** What a new token is for, what it opens and until when. */
import { useState, type FormEvent, type ReactElement } from "react";
import { useAnswer, useDeed } from "@/api/answers";
import { useStand } from "@/api/standing";
import type { Asked, Principals } from "@/api/types";
import { Button, Check, Dialog, Field, Meanwhile, Select, Trouble } from "@/parts";
import type { Made } from "./index";

type Body = Asked<"/tokens">;
type Scope = Body["scopes"][number];

const SCOPES: readonly { scope: Scope; words: string }[] = [
  { scope: "call", words: "call: use open tools over MCP and HTTP" },
  { scope: "read", words: "read: look at these pages" },
  { scope: "operate", words: "operate: switch, approve, add servers, try tools" },
  { scope: "admin", words: "admin: tokens, grants and the policy" },
];
const ENDS = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "", label: "only when it is revoked" },
];

export function MakeToken({ version, onClose, onMade }: { version: number; onClose: () => void; onMade: (made: Made) => void }): ReactElement {
  const known = useAnswer<Principals>(["tokens", "policy"], "/principals").data;
  const [principal, setPrincipal] = useState("");
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["call"]);
  const [ends, setEnds] = useState("90");
  const [interactive, setInteractive] = useState(false);
  const stand = useStand(version);
  const deed = useDeed<Made>({ silent: true, stand });
  const ready = principal.trim() !== "" && name.trim() !== "" && scopes.length > 0;
  const make = (event: FormEvent): void => {
    event.preventDefault();
    if (!ready) return;
    const body: Body = { principal: principal.trim(), name: name.trim(), scopes: [...scopes], ...(ends === "" ? {} : { expiresInDays: Number(ends) }), ...(interactive ? { interactive } : {}) };
    deed.mutate({ path: "/tokens", body }, { onSuccess: onMade });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Make a token"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" form="make-token" disabled={!ready} busy={deed.isPending}>
            Make it
          </Button>
        </>
      }
    >
      <form id="make-token" className="form" onSubmit={make}>
        <Meanwhile of={stand} kept="What you wrote is kept." />
        <Field label="Whose it is" value={principal} onChange={setPrincipal} list="settings-principals" maxLength={256} autoFocus advice="A person, a program or an agent: a name of your choice. It is what activity shows and what grants are for." />
        <datalist id="settings-principals">
          {(known?.principals ?? []).map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <Field label="What it is for" value={name} onChange={setName} maxLength={256} advice="So that you know which one to revoke." />
        <fieldset className="form-group">
          <legend className="field-label">What it may</legend>
          {SCOPES.map(({ scope, words }) => (
            <Check key={scope} label={words} on={scopes.includes(scope)} onChange={(on) => setScopes(on ? [...scopes, scope] : scopes.filter((each) => each !== scope))} />
          ))}
          {scopes.length === 0 && <p className="field-error">Choose one at least.</p>}
        </fieldset>
        <fieldset className="form-group">
          <legend className="field-label">Who answers at its clients</legend>
          <Check label="A person: interactive, so answers in its clients confirm calls" on={interactive} onChange={setInteractive} />
          <p className="quiet small">Leave this off for an agent that runs on its own. Its calls that must be confirmed become tickets.</p>
        </fieldset>
        <Select label="It ends" value={ends} onChange={setEnds} choices={ENDS} />
        {deed.error && !deed.error.isStale && <Trouble error={deed.error} />}
      </form>
    </Dialog>
  );
}
