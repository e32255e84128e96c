import { useState, type FormEvent, type ReactElement } from "react";
import { sentence } from "@/api/problem";
import { useSession, useSigning } from "@/api/session";
import { usePath } from "@/lib/place";
import { Button, Code, Field, Trouble } from "@/parts";
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
  if (session.data !== undefined) return <Shell session={session.data} />;
  if (session.error?.isSignedOut) return <SignIn />;
  return (
    <main className="alone">
      {session.error ? <Trouble error={session.error} onAgain={() => void session.refetch()} /> : <p className="quiet" role="status">Opening …</p>}
    </main>
  );
}

function SignIn(): ReactElement {
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
    <main className="alone">
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <img src="/ui/icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Pegboard</h1>
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
    </main>
  );
}
