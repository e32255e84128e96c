/** Toasts, and the dialog for a change that was rejected because of someone else's decision. */
import { useSyncExternalStore, type ReactElement } from "react";
import type { Problem } from "@/api/problem";
import { Button, IconButton } from "./Button";
import { Dialog } from "./Dialog";
import { StateMark } from "./StateMark";

type Tone = "open" | "broken" | "needs_action";
type ToastMessage = { readonly id: number; readonly text: string; readonly tone: Tone };
type ToastState = { readonly messages: readonly ToastMessage[]; readonly staleProblem: Problem | null };

let state: ToastState = { messages: [], staleProblem: null };
let lastId = 0;
const listeners = new Set<() => void>();

function setState(next: ToastState): void {
  state = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  setState({ ...state, messages: state.messages.filter((message) => message.id !== id) });
}

export function toast(text: string, tone: Tone = "open"): void {
  const id = ++lastId;
  setState({ ...state, messages: [...state.messages.slice(-3), { id, text, tone }] });
  // An error stays until it is dismissed.
  if (tone !== "broken") setTimeout(() => dismiss(id), 6000);
}

export function showStaleDialog(problem: Problem): void {
  setState({ ...state, staleProblem: problem });
}

/** Renders toasts and the dialog; used once, in the shell. `onRefresh` reloads everything. */
export function Toasts({ onRefresh }: { onRefresh: () => void }): ReactElement {
  const { messages, staleProblem } = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
  const close = (): void => setState({ ...state, staleProblem: null });
  return (
    <>
      <div className="toasts" role="status" aria-live="polite">
        {messages.map((message) => (
          <div key={message.id} className={`toast tone-${message.tone}`}>
            <StateMark state={message.tone} label="none" />
            <p className="grow wrap-any">{message.text}</p>
            <IconButton icon="close" name="Dismiss" onClick={() => dismiss(message.id)} />
          </div>
        ))}
      </div>
      <Dialog
        open={staleProblem !== null}
        onClose={close}
        title="Someone else changed the board meanwhile"
        actions={
          <>
            <Button onClick={close}>Not now</Button>
            <Button
              variant="primary"
              icon="refresh"
              onClick={() => {
                close();
                onRefresh();
              }}
            >
              Look again
            </Button>
          </>
        }
      >
        <p>Nothing of what you just did was carried out. {staleProblem?.message}</p>
      </Dialog>
    </>
  );
}
