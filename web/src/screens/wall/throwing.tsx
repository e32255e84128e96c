/** Throwing switches, one or many. Turning off asks for a note: it is what the next person reads. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import type { Peg } from "@/api/types";
import { count } from "@/lib/words";
import { Button, Dialog, TextArea } from "@/parts";

export type Throwing = { readonly pegs: readonly Peg[]; readonly on: boolean };

/** `throwAll` throws them one after the other, each standing on the version that the one before made. */
export function useThrowing(version: number): { readonly throwAll: (throwing: Throwing, note?: string) => Promise<boolean>; readonly busy: boolean } {
  const deed = useDeed();
  const [busy, setBusy] = useState(false);
  const throwAll = async ({ pegs, on }: Throwing, note = ""): Promise<boolean> => {
    setBusy(true);
    try {
      for (const [at, peg] of pegs.entries()) {
        const last = at === pegs.length - 1;
        await deed.mutateAsync({
          path: "/tools/switch",
          body: { tool: peg.id, on, note },
          version: version + at,
          ...(last ? { done: `${pegs.length === 1 ? peg.name : count(pegs.length, "tool")} switched ${on ? "on" : "off"}` } : {}),
        });
      }
      return true;
    } catch {
      // Told already.
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { throwAll, busy };
}

export function TurningOff({ pegs, busy, onClose, onDone }: { pegs: readonly Peg[]; busy: boolean; onClose: () => void; onDone: (note: string) => void }): ReactElement {
  const [note, setNote] = useState("");
  const one = pegs.length === 1 ? pegs[0] : undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={one ? `Turn off ${one.name}` : `Turn off ${count(pegs.length, "tool")}`}
      actions={
        <>
          <Button onClick={onClose}>Leave on</Button>
          <Button look="main" busy={busy} onClick={() => onDone(note)}>
            Turn off
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onDone(note);
        }}
      >
        {one?.sentence && <p className="quiet">It is locked already: {one.sentence}</p>}
        <TextArea
          label="Note"
          advice="Whoever asks why it is off reads this."
          value={note}
          onChange={setNote}
          rows={2}
          maxLength={500}
          autoFocus
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              onDone(note);
            }
          }}
        />
      </form>
    </Dialog>
  );
}
