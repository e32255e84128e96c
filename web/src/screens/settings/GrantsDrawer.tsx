/** Which toolsets a principal may use. Saving is based on the version that the person saw. */
import { useState, type ReactElement } from "react";
import { useApiMutation, useAllPages } from "@/api/queries";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import type { ResponseOf } from "@/api/types";
import { formatCount } from "@/lib/format";
import { QueryResult, Button, ButtonLink, Checkbox, Code, DecisionsSince, Drawer, ConcurrentChangeNotice, Notice, SearchField, ErrorMessage } from "@/components";
import { shellCommand } from "@/lib/format";
import { ConsentLines } from "@/screens/approvals/Consents";
import { confirmationPlace, DeletePrincipalDialog, GrantedToolsets, ScopeTags, type Principal, type PrincipalsResponse } from "./People";

type Toolsets = ResponseOf<"/toolsets">;

const SEARCH_THRESHOLD = 12;

export function GrantsDrawer({ principal, version, onClose }: { principal: Principal; version: number; onClose: () => void }): ReactElement {
  const isAdmin = useHasScope("admin");
  // The state when the drawer was opened. Decisions of others are shown and change nothing here.
  const guard = useVersionGuard(version);
  const [baseToolsets, setBaseToolsets] = useState(principal.toolsets);
  const [isLimited, setIsLimited] = useState(principal.toolsets !== null);
  const [selected, setSelected] = useState<readonly string[]>(principal.toolsets ?? []);
  const [filterText, setFilterText] = useState("");
  const [deleteOpen, setDeleteOpen] = useState(false);
  const mutation = useApiMutation<ResponseOf<"/principals/{id}/grants", "put">>({ silent: true, guard });
  const toolsets = useAllPages<Toolsets>(["toolsets"], "/toolsets", {}, (before, next) => ({ ...next, toolsets: [...before.toolsets, ...next.toolsets] }));
  const newToolsets = isLimited ? [...selected].sort() : null;
  const changed = !sameToolsets(newToolsets, baseToolsets);
  const changedByOther = !sameToolsets(principal.toolsets, baseToolsets);
  const save = (): void =>
    mutation.mutate(
      {
        method: "PUT",
        path: `/principals/${encodeURIComponent(principal.id)}/grants`,
        body: { toolsets: newToolsets },
        successMessage: newToolsets === null ? `${principal.id} may use every toolset` : `${principal.id} may use ${formatCount(newToolsets.length, "toolset")}`,
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
          isAdmin && (
            <>
              {principal.id !== "local" && principal.declaredAt === null && (
                <Button variant="danger" onClick={() => setDeleteOpen(true)}>
                  Forget
                </Button>
              )}
              <span className="grow" />
              <Button onClick={onClose}>Cancel</Button>
              <Button variant="primary" disabled={!changed} busy={mutation.isPending} onClick={save}>
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
              <dd><ScopeTags scopes={principal.scopes} /></dd>
            </div>
            <div>
              <dt>Toolsets now</dt>
              <dd><GrantedToolsets toolsets={principal.toolsets} /></dd>
            </div>
            <div>
              <dt>Confirms calls</dt>
              <dd>{confirmationPlace(principal)}</dd>
            </div>
            <div>
              <dt>Said by</dt>
              <dd>{principal.grantSource === "file" ? "the file; what is saved here goes before it" : principal.grantSource === "store" ? "a decision here" : principal.grantSource === "nobody" ? "nobody: no principal and no token has this name" : "nobody, so everything"}</dd>
            </div>
          </dl>
          <div className="row">
            <ButtonLink small icon="eye" to="/" query={{ as: principal.id }}>The wall as {principal.id} sees it</ButtonLink>
            <ButtonLink small icon="activity" to="/activity" query={{ principal: principal.id }}>Its calls</ButtonLink>
          </div>
          <ConsentLines principal={principal.id} />
          {!changedByOther && <ConcurrentChangeNotice guard={guard} unchanged="Your choice below is kept." />}
          {changedByOther && (
            <Notice
              tone="needs_action"
              action={
                <Button
                  small
                  onClick={() => {
                    guard.accept();
                    setBaseToolsets(principal.toolsets);
                    setIsLimited(principal.toolsets !== null);
                    setSelected(principal.toolsets ?? []);
                  }}
                >
                  Take theirs
                </Button>
              }
            >
              Somebody else changed this meanwhile: <GrantedToolsets toolsets={principal.toolsets} />. {guard.rejected && "Nothing of what you just did was carried out. "}Your choice
              below is kept: save it once more if you still want it.
              <DecisionsSince since={guard.startVersion} />
            </Notice>
          )}
          {mutation.error && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
          <fieldset className="form-group" disabled={!isAdmin}>
            <legend className="field-label">What {principal.id} may use</legend>
            <label className="check">
              <input type="radio" name="limit" checked={!isLimited} onChange={() => setIsLimited(false)} />
              <span>Every toolset, also those that come later</span>
            </label>
            <label className="check">
              <input type="radio" name="limit" checked={isLimited} onChange={() => setIsLimited(true)} />
              <span>Only these; nothing else exists for {principal.id}</span>
            </label>
            {isLimited && (
              <QueryResult query={toolsets}>
                {(response) => (
                  <div className="stack tight settings-choices">
                    {response.toolsets.length > SEARCH_THRESHOLD && <SearchField label="Find a toolset" value={filterText} onChange={setFilterText} />}
                    {response.toolsets
                      .filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(filterText.toLowerCase()))
                      .map(({ id, name }) => (
                        <Checkbox
                          key={id}
                          label={name === id ? id : <>{name} <span className="muted mono small">{id}</span></>}
                          checked={selected.includes(id)}
                          disabled={!isAdmin}
                          onChange={(on) => setSelected(on ? [...selected, id] : selected.filter((other) => other !== id))}
                        />
                      ))}
                    {selected
                      .filter((id) => response.toolsets.every((each) => each.id !== id))
                      .map((id) => (
                        <Checkbox key={id} label={<>{id} <span className="muted">is not on this board</span></>} checked disabled={!isAdmin} onChange={() => setSelected(selected.filter((other) => other !== id))} />
                      ))}
                    {response.toolsets.length === 0 && <p className="muted">There is no toolset yet.</p>}
                  </div>
                )}
              </QueryResult>
            )}
          </fieldset>
          <Code text={newToolsets === null ? shellCommand("pegboard", "grants", "clear", principal.id) : shellCommand("pegboard", "grants", "set", principal.id, ...newToolsets)} />
        </div>
      </Drawer>
      {deleteOpen && <DeletePrincipalDialog principal={principal} version={version} onClose={() => setDeleteOpen(false)} onDone={onClose} />}
    </>
  );
}

function sameToolsets(one: PrincipalsResponse["principals"][number]["toolsets"], other: PrincipalsResponse["principals"][number]["toolsets"]): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && [...one].sort().join("\n") === [...other].sort().join("\n");
}
