/** Actions on a server: restart, stop, sign in, remove. */
import { useState, type ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import type { Server, SignInLink } from "@/api/servers";
import { useVersionGuard } from "@/api/version-guard";
import { navigate } from "@/lib/router";
import { Button, Dialog, Field, IconButton, ConcurrentChangeNotice, ErrorMessage } from "@/components";

export function serverPath(id: string, rest = ""): string {
  return `/servers/${encodeURIComponent(id)}${rest}`;
}

export function RestartIconButton({ server }: { server: Server }): ReactElement {
  const mutation = useApiMutation();
  const name = server.serverId ?? server.id;
  return (
    <IconButton
      icon="refresh"
      name={`Restart ${name}`}
      disabled={mutation.isPending}
      onClick={() => mutation.mutate({ path: serverPath(server.id, "/restart"), successMessage: `${name} starts again` })}
    />
  );
}

export function RestartButton({ server }: { server: Server }): ReactElement {
  const mutation = useApiMutation();
  return (
    <Button
      icon="refresh"
      busy={mutation.isPending}
      onClick={() => mutation.mutate({ path: serverPath(server.id, "/restart"), successMessage: `${server.serverId ?? server.id} starts again` })}
    >
      Restart
    </Button>
  );
}

/** Stopping asks for a note that others read; starting does not. */
export function StartStopButton({ server, version }: { server: Server; version: number }): ReactElement {
  const [confirmOpen, setConfirmOpen] = useState(false);
  const [note, setNote] = useState("");
  const guard = useVersionGuard(version, confirmOpen);
  const mutation = useApiMutation({ silent: true, guard });
  const name = server.serverId ?? server.id;
  const path = serverPath(server.id, "/switch");
  // The open dialog stays and says that someone else stopped it.
  if (!server.active && !confirmOpen) {
    return (
      <>
        <Button variant="primary" busy={mutation.isPending} onClick={() => mutation.mutate({ path, body: { enabled: true }, successMessage: `${name} is on` })}>
          Start
        </Button>
        {mutation.error !== null && !mutation.error.isStale && (
          <Dialog open onClose={() => mutation.reset()} title={`${name} stays off`}>
            <ErrorMessage error={mutation.error} />
          </Dialog>
        )}
      </>
    );
  }
  const stop = (): void =>
    mutation.mutate({ path, body: { enabled: false, note }, successMessage: `${name} is off` }, { onSuccess: () => setConfirmOpen(false) });
  return (
    <>
      <Button onClick={() => setConfirmOpen(true)}>Stop</Button>
      <Dialog
        open={confirmOpen}
        onClose={() => setConfirmOpen(false)}
        title={`Stop ${name}?`}
        actions={
          <>
            <Button onClick={() => setConfirmOpen(false)}>Leave it on</Button>
            <Button variant="danger" busy={mutation.isPending} onClick={stop}>
              Stop {name}
            </Button>
          </>
        }
      >
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            stop();
          }}
        >
          <ConcurrentChangeNotice guard={guard} unchanged="Your note is kept." />
          {!server.active && <p>It is off already.</p>}
          <p>Its tools are locked for everybody until it is started again. Calls that are under way end with an error.</p>
          <Field label="Why (others read this)" value={note} onChange={setNote} maxLength={500} />
          {mutation.error !== null && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
        </form>
      </Dialog>
    </>
  );
}

/** The link works once and for a few minutes, so it is requested on demand. */
export function SignInButton({ id, small = false }: { id: string; small?: boolean }): ReactElement {
  const mutation = useApiMutation<SignInLink>();
  const link = mutation.data?.url;
  return (
    <>
      <Button
        variant="primary"
        small={small}
        busy={mutation.isPending}
        onClick={() => mutation.mutate({ path: serverPath(id, "/sign-in") }, { onSuccess: ({ url }) => void window.open(url, "_blank", "noopener") })}
      >
        Sign in
      </Button>
      <Dialog open={link !== undefined} onClose={() => mutation.reset()} title={`Sign in to ${id}`}>
        <div className="stack">
          <p>A page of the server opens in another tab. Sign in there; this screen follows by itself.</p>
          <p>
            If no tab opened,{" "}
            <a href={link} target="_blank" rel="noreferrer noopener">
              open the sign-in page
            </a>
            . The link works once, for a few minutes.
          </p>
        </div>
      </Dialog>
    </>
  );
}

export function RemoveServerButton({ server, version }: { server: Server; version: number }): ReactElement {
  const [confirmOpen, setConfirmOpen] = useState(false);
  const guard = useVersionGuard(version, confirmOpen);
  const mutation = useApiMutation({ silent: true, guard });
  const name = server.serverId ?? server.id;
  return (
    <>
      <Button variant="danger" onClick={() => setConfirmOpen(true)}>
        Remove
      </Button>
      <Dialog
        open={confirmOpen}
        onClose={() => setConfirmOpen(false)}
        title={`Remove ${name}?`}
        actions={
          <>
            <Button onClick={() => setConfirmOpen(false)}>Keep it</Button>
            <Button
              variant="danger"
              busy={mutation.isPending}
              onClick={() =>
                // A promise, because this button is unmounted with the server.
                void mutation.mutateAsync({ method: "DELETE", path: serverPath(server.id), successMessage: `${name} is removed` }).then(
                  () => navigate("/servers"),
                  () => undefined,
                )
              }
            >
              Remove {name}
            </Button>
          </>
        }
      >
        <div className="stack">
          <ConcurrentChangeNotice guard={guard} unchanged="It is still there." />
          <p>Its tools leave the board, with their switches, approvals and its sign-in.</p>
          {mutation.error !== null && !mutation.error.isStale && <ErrorMessage error={mutation.error} />}
        </div>
      </Dialog>
    </>
  );
}
