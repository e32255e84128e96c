import { useEffect, useRef, useState, type FormEvent, type ReactElement } from "react";
import { sentence } from "@/api/problem";
import { useSession, useSigning } from "@/api/session";
import { usePath } from "@/lib/place";
import { Button, Code, Field, Notice, Trouble } from "@/parts";
import { PATTERNS } from "@/routes";
import { Shell } from "./Shell";
import { Waiting } from "./Waiting";

export function App(): ReactElement {
  const path = usePath();
  if (path === "/patterns") return <Waiting screen={PATTERNS} />;
  return <SignedIn />;
}

function SignedIn(): ReactElement {
  const session = useSession();
  const out = session.error?.isSignedOut ? session.error : null;
  if (session.data !== undefined) {
    return (
      <>
        <Shell key={session.data.principal} session={session.data} signedIn={out === null} />
        {out !== null && <SignInAgain why={out.message} />}
      </>
    );
  }
  if (out !== null) {
    return (
      <main className="alone">
        <SignIn />
      </main>
    );
  }
  return (
    <main className="alone">
      {session.error ? <Trouble error={session.error} onAgain={() => void session.refetch()} /> : <p className="quiet" role="status">Opening …</p>}
    </main>
  );
}

/** Over everything, and hiding it: what was written beneath stays, for when the same person is back. */
function SignInAgain({ why }: { why: string }): ReactElement {
  const box = useRef<HTMLDialogElement>(null);
  const show = (): void => {
    if (box.current?.open === false) box.current.showModal();
  };
  useEffect(show, []);
  return (
    <dialog ref={box} className="sign-in-again" aria-label="Sign in to Pegboard" onCancel={(event) => event.preventDefault()} onClose={show}>
      <div className="alone">
        <SignIn why={why} />
      </div>
    </dialog>
  );
}

function SignIn({ why }: { why?: string }): ReactElement {
  const { signIn } = useSigning();
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
      setError(sentence(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <img src="/ui/icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Pegboard</h1>
        {why !== undefined && <Notice tone="wants">{why}</Notice>}
        <p className="quiet">
          Open the address that the gateway printed when it started: it signs you in. Or paste a token here: the start-up token, or
          one that an operator made for you.
        </p>
        <Field label="Token" type="password" mono value={token} onChange={setToken} error={error} autoFocus required />
        <Button look="main" type="submit" busy={busy} disabled={token.trim() === ""}>
          Sign in
        </Button>
        <details className="small">
          <summary>Where is the start-up token?</summary>
          <p className="quiet">On the machine that runs the gateway, this prints an address that signs you in:</p>
          <Code text="pegboard ui" />
        </details>
      </form>
  );
}
