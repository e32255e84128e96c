/** What can be done to a server: start it anew, stop it, sign in, take it away. */
import { useState, type ReactElement } from "react";
import { useDeed } from "@/api/answers";
import type { Server, SignInLink } from "@/api/servers";
import { useStand } from "@/api/standing";
import { go } from "@/lib/place";
import { Button, Dialog, Field, IconButton, Meanwhile, Trouble } from "@/parts";

export function serverPath(id: string, rest = ""): string {
  return `/servers/${encodeURIComponent(id)}${rest}`;
}

export function RestartIcon({ server }: { server: Server }): ReactElement {
  const deed = useDeed();
  const name = server.serverId ?? server.id;
  return (
    <IconButton
      icon="again"
      name={`Restart ${name}`}
      disabled={deed.isPending}
      onClick={() => deed.mutate({ path: serverPath(server.id, "/restart"), done: `${name} starts again` })}
    />
  );
}

export function Restart({ server }: { server: Server }): ReactElement {
  const deed = useDeed();
  return (
    <Button
      icon="again"
      busy={deed.isPending}
      onClick={() => deed.mutate({ path: serverPath(server.id, "/restart"), done: `${server.serverId ?? server.id} starts again` })}
    >
      Restart
    </Button>
  );
}

/** Stopping asks why, because somebody will want to know; starting does not. */
export function StopOrStart({ server, version }: { server: Server; version: number }): ReactElement {
  const [asking, ask] = useState(false);
  const [note, setNote] = useState("");
  const stand = useStand(version, asking);
  const deed = useDeed({ silent: true, stand });
  const name = server.serverId ?? server.id;
  const path = serverPath(server.id, "/switch");
  // Whoever is asked whether to stop it is told when somebody else did.
  if (!server.on && !asking) {
    return (
      <>
        <Button look="main" busy={deed.isPending} onClick={() => deed.mutate({ path, body: { on: true }, done: `${name} is on` })}>
          Start
        </Button>
        {deed.error !== null && !deed.error.isStale && (
          <Dialog open onClose={() => deed.reset()} title={`${name} stays off`}>
            <Trouble error={deed.error} />
          </Dialog>
        )}
      </>
    );
  }
  const stop = (): void =>
    deed.mutate({ path, body: { on: false, note }, done: `${name} is off` }, { onSuccess: () => ask(false) });
  return (
    <>
      <Button onClick={() => ask(true)}>Stop</Button>
      <Dialog
        open={asking}
        onClose={() => ask(false)}
        title={`Stop ${name}?`}
        actions={
          <>
            <Button onClick={() => ask(false)}>Leave it on</Button>
            <Button look="bad" busy={deed.isPending} onClick={stop}>
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
          <Meanwhile of={stand} kept="Your note is kept." />
          {!server.on && <p>It is off already.</p>}
          <p>Its tools are locked for everybody until it is started again. Calls that are under way end with an error.</p>
          <Field label="Why (others read this)" value={note} onChange={setNote} maxLength={500} />
          {deed.error !== null && !deed.error.isStale && <Trouble error={deed.error} />}
        </form>
      </Dialog>
    </>
  );
}

/** The link works once and for a few minutes: it is asked for when it is wanted. */
export function SignInButton({ id, small = false }: { id: string; small?: boolean }): ReactElement {
  const deed = useDeed<SignInLink>();
  const link = deed.data?.url;
  return (
    <>
      <Button
        look="main"
        small={small}
        busy={deed.isPending}
        onClick={() => deed.mutate({ path: serverPath(id, "/sign-in") }, { onSuccess: ({ url }) => void window.open(url, "_blank", "noopener") })}
      >
        Sign in
      </Button>
      <Dialog open={link !== undefined} onClose={() => deed.reset()} title={`Sign in to ${id}`}>
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

export function Remove({ server, version }: { server: Server; version: number }): ReactElement {
  const [asking, ask] = useState(false);
  const stand = useStand(version, asking);
  const deed = useDeed({ silent: true, stand });
  const name = server.serverId ?? server.id;
  return (
    <>
      <Button look="bad" onClick={() => ask(true)}>
        Remove
      </Button>
      <Dialog
        open={asking}
        onClose={() => ask(false)}
        title={`Remove ${name}?`}
        actions={
          <>
            <Button onClick={() => ask(false)}>Keep it</Button>
            <Button
              look="bad"
              busy={deed.isPending}
              onClick={() =>
                // A promise, because this button is gone with the server.
                void deed.mutateAsync({ method: "DELETE", path: serverPath(server.id), done: `${name} is removed` }).then(
                  () => go("/servers"),
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
          <Meanwhile of={stand} kept="It is still there." />
          <p>Its tools leave the board, with their switches, approvals and its sign-in.</p>
          {deed.error !== null && !deed.error.isStale && <Trouble error={deed.error} />}
        </div>
      </Dialog>
    </>
  );
}
