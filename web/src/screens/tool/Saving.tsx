/** The last look before an override is saved. It is sent with the version at which this was opened. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useMutation } from "@tanstack/react-query";
import { queries, ring } from "@/api/answers";
import { ask } from "@/api/client";
import type { Problem } from "@/api/problem";
import type { Peg } from "@/api/types";
import { Button, Dialog, Notice, toast, Trouble } from "@/parts";
import type { Asked } from "./editing";
import type { Base, Moved } from "./meeting";

export function Saving({
  peg,
  wanted,
  version: now,
  others,
  onLookAgain,
  onClose,
  onSaved,
  children,
}: {
  peg: Peg;
  wanted: Asked;
  version: number;
  others: readonly Moved[];
  onLookAgain: () => Promise<Base | null>;
  onClose: () => void;
  /** Until what was saved is looked at anew. */
  onSaved: () => Promise<void>;
  children: ReactNode;
}): ReactElement {
  const [version, setVersion] = useState(now);
  const [again, setAgain] = useState(false);
  const deed = useMutation<unknown, Problem>({
    mutationFn: () => ask("/overrides", { method: "POST", body: { target: peg.id, ...wanted }, version }),
    onSuccess: async () => {
      await onSaved();
      toast(`${peg.name} is overridden`, "open");
      void queries.invalidateQueries();
    },
    onError: async (problem) => {
      if (problem.isSignedOut) ring();
      if (!problem.isStale) return;
      const looked = await onLookAgain();
      if (looked === null) return;
      setVersion(looked.version);
      setAgain(true);
    },
  });
  const isMoved = others.length > 0;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Override ${peg.name}`}
      wide
      actions={
        isMoved ? (
          <Button look="main" onClick={onClose}>
            Look at what changed
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Not yet</Button>
            <Button look="main" busy={deed.isPending} onClick={() => deed.mutate()}>
              Save
            </Button>
          </>
        )
      }
    >
      <div className="stack">
        {isMoved && <Notice tone="wants">Somebody else saved another override of this tool meanwhile. Yours is not saved, and nothing of it is lost.</Notice>}
        {again && !isMoved && (
          <Notice tone="wants">Something else on the board was decided meanwhile, so this was not saved. This tool&apos;s override is as it was: save again.</Notice>
        )}
        {children}
        {deed.error && !(deed.error.isStale && again) && <Trouble error={deed.error} />}
      </div>
    </Dialog>
  );
}
