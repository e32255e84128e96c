import { useEffect, useRef, useState, type FormEvent, type ReactElement } from "react";
import { errorMessage } from "@/api/problem";
import { useSession, useSignInOut } from "@/api/session";
import { usePath } from "@/lib/router";
import { Button, Code, Field, Notice, ErrorMessage } from "@/components";
import { PATTERNS_SCREEN } from "@/routes";
import { Shell } from "./Shell";
import { LazyScreen } from "./LazyScreen";

export function App(): ReactElement {
  const path = usePath();
  if (path === "/patterns") return <LazyScreen screen={PATTERNS_SCREEN} />;
  return <SessionGate />;
}

function SessionGate(): ReactElement {
  const session = useSession();
  const signedOutError = session.error?.isSignedOut ? session.error : null;
  if (session.data !== undefined) {
    return (
      <>
        <Shell key={session.data.principal} session={session.data} signedIn={signedOutError === null} />
        {signedOutError !== null && <SignInAgainDialog reason={signedOutError.message} />}
      </>
    );
  }
  if (signedOutError !== null) {
    return (
      <main className="centered-page">
        <SignInForm />
      </main>
    );
  }
  return (
    <main className="centered-page">
      {session.error ? <ErrorMessage error={session.error} onRetry={() => void session.refetch()} /> : <p className="muted" role="status">Opening …</p>}
    </main>
  );
}

/** A full-screen dialog. The page beneath keeps its state for when the same person signs in again. */
function SignInAgainDialog({ reason }: { reason: string }): ReactElement {
  const container = useRef<HTMLDialogElement>(null);
  const showDialog = (): void => {
    if (container.current?.open === false) container.current.showModal();
  };
  useEffect(showDialog, []);
  return (
    <dialog ref={container} className="sign-in-again" aria-label="Sign in to Pegboard" onCancel={(event) => event.preventDefault()} onClose={showDialog}>
      <div className="centered-page">
        <SignInForm reason={reason} />
      </div>
    </dialog>
  );
}

function SignInForm({ reason }: { reason?: string }): ReactElement {
  const { signIn } = useSignInOut();
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signIn(token.trim());
    } catch (problem) {
      setError(errorMessage(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <img src="/ui/icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Pegboard</h1>
        {reason !== undefined && <Notice tone="needs_action">{reason}</Notice>}
        <p className="muted">
          Open the address that the gateway printed when it started: it signs you in. Or paste a token here: the start-up token, or
          one that an operator made for you.
        </p>
        <Field label="Token" type="password" mono value={token} onChange={setToken} error={error} autoFocus required />
        <Button variant="primary" type="submit" busy={busy} disabled={token.trim() === ""}>
          Sign in
        </Button>
        <details className="small">
          <summary>Where is the start-up token?</summary>
          <p className="muted">On the machine that runs the gateway, this prints an address that signs you in:</p>
          <Code text="pegboard ui" />
        </details>
      </form>
  );
}
