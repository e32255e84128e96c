/** Short words at the edge of the page, and the one about somebody else's decision. */
import { useSyncExternalStore, type ReactElement } from "react";
import type { Problem } from "@/api/problem";
import { Button, IconButton } from "./Button";
import { Dialog } from "./Dialog";
import { StateMark } from "./marks";

type Tone = "open" | "broken" | "wants";
type Word = { readonly id: number; readonly text: string; readonly tone: Tone };
type Told = { readonly words: readonly Word[]; readonly stale: Problem | null };

let told: Told = { words: [], stale: null };
let last = 0;
const listeners = new Set<() => void>();

function tell(next: Told): void {
  told = next;
  for (const listener of listeners) listener();
}

function take(id: number): void {
  tell({ ...told, words: told.words.filter((word) => word.id !== id) });
}

export function toast(text: string, tone: Tone = "open"): void {
  const id = ++last;
  tell({ ...told, words: [...told.words.slice(-3), { id, text, tone }] });
  // A problem stays until it was read.
  if (tone !== "broken") setTimeout(() => take(id), 6000);
}

export function tellStale(problem: Problem): void {
  tell({ ...told, stale: problem });
}

/** Where they are shown: once, in the shell. `onLookAgain` asks for everything anew. */
export function Toasts({ onLookAgain }: { onLookAgain: () => void }): ReactElement {
  const { words, stale } = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => told,
  );
  const close = (): void => tell({ ...told, stale: null });
  return (
    <>
      <div className="toasts" role="status" aria-live="polite">
        {words.map((word) => (
          <div key={word.id} className={`toast tone-${word.tone}`}>
            <StateMark state={word.tone} word="none" />
            <p className="grow wrap-any">{word.text}</p>
            <IconButton icon="close" name="Dismiss" onClick={() => take(word.id)} />
          </div>
        ))}
      </div>
      <Dialog
        open={stale !== null}
        onClose={close}
        title="Someone else changed the board meanwhile"
        actions={
          <>
            <Button onClick={close}>Not now</Button>
            <Button
              look="main"
              icon="again"
              onClick={() => {
                close();
                onLookAgain();
              }}
            >
              Look again
            </Button>
          </>
        }
      >
        <p>Nothing of what you just did was carried out. {stale?.message}</p>
      </Dialog>
    </>
  );
}
