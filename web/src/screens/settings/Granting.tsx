/** Which toolsets somebody may use: chosen here, saved on the version that was looked at. */
import { useState, type ReactElement } from "react";
import { useDeed, useWhole } from "@/api/answers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import type { Answer } from "@/api/types";
import { count } from "@/lib/words";
import { Answered, Button, ButtonLink, Check, Code, Decided, Drawer, Meanwhile, Notice, SearchField, Trouble } from "@/parts";
import { command } from "@/lib/words";
import { PermissionLines } from "@/screens/approvals/Permissions";
import { confirming, Forgetting, Granted, Scopes, type Principal, type PrincipalsAnswer } from "./People";

type Toolsets = Answer<"/toolsets">;

const FINDS_FROM = 12;

export function Granting({ principal, version, onClose }: { principal: Principal; version: number; onClose: () => void }): ReactElement {
  const admin = useMay("admin");
  // What was looked at when the drawer was opened. What somebody else decides meanwhile is told, and takes nothing away.
  const stand = useStand(version);
  const [base, setBase] = useState(principal.toolsets);
  const [limited, limit] = useState(principal.toolsets !== null);
  const [chosen, choose] = useState<readonly string[]>(principal.toolsets ?? []);
  const [finding, find] = useState("");
  const [forgetting, forget] = useState(false);
  const deed = useDeed<Answer<"/principals/{id}/grants", "put">>({ silent: true, stand });
  const toolsets = useWhole<Toolsets>(["toolsets"], "/toolsets", {}, (before, next) => ({ ...next, toolsets: [...before.toolsets, ...next.toolsets] }));
  const wanted = limited ? [...chosen].sort() : null;
  const changed = !same(wanted, base);
  const meanwhile = !same(principal.toolsets, base);
  const save = (): void =>
    deed.mutate(
      {
        method: "PUT",
        path: `/principals/${encodeURIComponent(principal.id)}/grants`,
        body: { toolsets: wanted },
        done: wanted === null ? `${principal.id} may use every toolset` : `${principal.id} may use ${count(wanted.length, "toolset")}`,
      },
      { onSuccess: onClose },
    );
  return (
    <>
      <Drawer
        open
        onClose={onClose}
        title={principal.id}
        actions={
          admin && (
            <>
              {principal.id !== "local" && principal.declaredAt === null && (
                <Button look="bad" onClick={() => forget(true)}>
                  Forget
                </Button>
              )}
              <span className="grow" />
              <Button onClick={onClose}>Cancel</Button>
              <Button look="main" disabled={!changed} busy={deed.isPending} onClick={save}>
                Save
              </Button>
            </>
          )
        }
      >
        <div className="stack">
          <dl className="pairs">
            <div>
              <dt>May</dt>
              <dd><Scopes of={principal.scopes} /></dd>
            </div>
            <div>
              <dt>Toolsets now</dt>
              <dd><Granted toolsets={principal.toolsets} /></dd>
            </div>
            <div>
              <dt>Confirms calls</dt>
              <dd>{confirming(principal)}</dd>
            </div>
            <div>
              <dt>Said by</dt>
              <dd>{principal.limitFrom === "file" ? "the file; what is saved here goes before it" : principal.limitFrom === "store" ? "a decision here" : principal.limitFrom === "nobody" ? "nobody: no principal and no token has this name" : "nobody, so everything"}</dd>
            </div>
          </dl>
          <div className="row">
            <ButtonLink small icon="eye" to="/" query={{ as: principal.id }}>The wall as {principal.id} sees it</ButtonLink>
            <ButtonLink small icon="activity" to="/activity" query={{ principal: principal.id }}>Its calls</ButtonLink>
          </div>
          <PermissionLines principal={principal.id} />
          {!meanwhile && <Meanwhile of={stand} kept="Your choice below is kept." />}
          {meanwhile && (
            <Notice
              tone="wants"
              action={
                <Button
                  small
                  onClick={() => {
                    stand.renew();
                    setBase(principal.toolsets);
                    limit(principal.toolsets !== null);
                    choose(principal.toolsets ?? []);
                  }}
                >
                  Take theirs
                </Button>
              }
            >
              Somebody else changed this meanwhile: <Granted toolsets={principal.toolsets} />. {stand.refused && "Nothing of what you just did was carried out. "}Your choice
              below is kept: save it once more if you still want it.
              <Decided since={stand.from} />
            </Notice>
          )}
          {deed.error && !deed.error.isStale && <Trouble error={deed.error} />}
          <fieldset className="form-group" disabled={!admin}>
            <legend className="field-label">What {principal.id} may use</legend>
            <label className="check">
              <input type="radio" name="limit" checked={!limited} onChange={() => limit(false)} />
              <span>Every toolset, also those that come later</span>
            </label>
            <label className="check">
              <input type="radio" name="limit" checked={limited} onChange={() => limit(true)} />
              <span>Only these; nothing else exists for {principal.id}</span>
            </label>
            {limited && (
              <Answered of={toolsets}>
                {(answer) => (
                  <div className="stack tight settings-choices">
                    {answer.toolsets.length > FINDS_FROM && <SearchField label="Find a toolset" value={finding} onChange={find} />}
                    {answer.toolsets
                      .filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(finding.toLowerCase()))
                      .map(({ id, name }) => (
                        <Check
                          key={id}
                          label={name === id ? id : <>{name} <span className="quiet mono small">{id}</span></>}
                          on={chosen.includes(id)}
                          disabled={!admin}
                          onChange={(on) => choose(on ? [...chosen, id] : chosen.filter((other) => other !== id))}
                        />
                      ))}
                    {chosen
                      .filter((id) => answer.toolsets.every((each) => each.id !== id))
                      .map((id) => (
                        <Check key={id} label={<>{id} <span className="quiet">is not on this board</span></>} on disabled={!admin} onChange={() => choose(chosen.filter((other) => other !== id))} />
                      ))}
                    {answer.toolsets.length === 0 && <p className="quiet">There is no toolset yet.</p>}
                  </div>
                )}
              </Answered>
            )}
          </fieldset>
          <Code text={wanted === null ? command("pegboard", "grants", "clear", principal.id) : command("pegboard", "grants", "set", principal.id, ...wanted)} />
        </div>
      </Drawer>
      {forgetting && <Forgetting principal={principal} version={version} onClose={() => forget(false)} onDone={onClose} />}
    </>
  );
}

function same(one: PrincipalsAnswer["principals"][number]["toolsets"], other: PrincipalsAnswer["principals"][number]["toolsets"]): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && [...one].sort().join("\n") === [...other].sort().join("\n");
}
