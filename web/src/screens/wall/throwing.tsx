/** Throwing switches, one or many. Turning off asks for a note: it is what the next person reads. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import type { Stand } from "@/api/standing";
import type { Peg } from "@/api/types";
import { count } from "@/lib/words";
import { Button, Dialog, Meanwhile, TextArea } from "@/parts";

/** What of a tool a person looks at who turns it off: what others decide about another changes nothing of it. */
export function seenOf(peg: Peg): string {
  return JSON.stringify([peg.id, peg.state, peg.verdict, peg.status, peg.sentence, peg.switchOn]);
}

export type Throwing = { readonly pegs: readonly Peg[]; readonly on: boolean };

/** `throwAll` throws all of them or none, on the version that was looked at. */
export function useThrowing(stand: Stand): { readonly throwAll: (throwing: Throwing, note?: string) => Promise<boolean>; readonly busy: boolean } {
  const deed = useDeed({ stand });
  const throwAll = async ({ pegs, on }: Throwing, note = ""): Promise<boolean> => {
    const [first] = pegs;
    if (first === undefined) return true;
    const one = pegs.length === 1;
    try {
      await deed.mutateAsync({
        path: one ? "/tools/switch" : "/tools/switches",
        body: one ? { tool: first.id, on, note } : { tools: pegs.map((peg) => peg.id), on, note },
        done: `${one ? first.name : count(pegs.length, "tool")} switched ${on ? "on" : "off"}`,
      });
      return true;
    } catch {
      // Told already.
      return false;
    }
  };
  return { throwAll, busy: deed.isPending };
}

export function TurningOff({
  pegs,
  stand,
  busy,
  onClose,
  onDone,
}: {
  pegs: readonly Peg[];
  stand: Stand;
  busy: boolean;
  onClose: () => void;
  onDone: (note: string) => void;
}): ReactElement {
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
        <Meanwhile of={stand} kept="Your note is kept." />
        {one?.sentence && <p className="quiet">It is locked already: {one.sentence}</p>}
        <TextArea
          label="Note"
          advice="Whoever asks why it is off reads this."
          value={note}
          onChange={setNote}
          rows={2}
          maxLength={500}
          data-first=""
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
