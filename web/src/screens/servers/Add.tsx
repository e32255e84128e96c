/** A new server in three steps: where it is, what it would bring, how far it is trusted. Nothing is saved before the last. */
import { useRef, useState, type ReactElement } from "react";
import { queries } from "@/api/answers";
import { ask } from "@/api/client";
import { Problem, sentence } from "@/api/problem";
import { useServers, type ServerAdded, type Tried, type Trust } from "@/api/servers";
import { useMay } from "@/api/session";
import { useStand } from "@/api/standing";
import { go } from "@/lib/place";
import { command, count } from "@/lib/words";
import { Button, EmptyState, Link, Meanwhile, Screen, toast } from "@/parts";
import { AddTrust } from "./AddTrust";
import { AddTry } from "./AddTry";
import { AddWhere } from "./AddWhere";
import { bodyOf, wanted, type Picked } from "./picking";

type Step = "where" | "try" | "trust";
const STEPS: readonly { readonly id: Step; readonly name: string }[] = [
  { id: "where", name: "Where it is" },
  { id: "try", name: "What it would bring" },
  { id: "trust", name: "Trust and toolset" },
];
const AT_ONCE = 2;

export function Add(): ReactElement {
  const may = useMay("operate");
  const servers = useServers();
  const [step, setStep] = useState<Step>("where");
  const [text, setText] = useState("");
  const [picked, setPicked] = useState<readonly Picked[]>([]);
  const [trust, setTrust] = useState<Trust>("baseline");
  const [busy, setBusy] = useState(false);
  const round = useRef(0);
  // From the first look at what it would bring until the first is added: the others follow from that.
  const stand = useStand(servers.data?.policyVersion, step !== "where" && !picked.some((pick) => pick.added));

  const amend = (key: string, change: Partial<Picked>): void =>
    setPicked((before) => before.map((each) => (each.key === key ? { ...each, ...change } : each)));

  const attempt = async (pick: Picked, turn: number): Promise<void> => {
    amend(pick.key, { trying: true, tried: null, error: null });
    try {
      const tried = await ask<Tried>("/servers/try", { method: "POST", body: bodyOf(pick) });
      if (turn === round.current) amend(pick.key, { trying: false, tried, wanted: tried.state !== "failed" });
    } catch (error) {
      if (turn === round.current) amend(pick.key, { trying: false, error, wanted: false });
    }
  };

  /** Two at a time: each is a program that starts. */
  const tryAll = (all: readonly Picked[]): void => {
    const turn = ++round.current;
    setPicked(all.map((each) => ({ ...each, trying: true })));
    setStep("try");
    const left = [...all];
    const next = async (): Promise<void> => {
      const pick = left.shift();
      if (pick === undefined || turn !== round.current) return;
      await attempt(pick, turn);
      await next();
    };
    for (let at = 0; at < AT_ONCE; at += 1) void next();
  };

  const addAll = async (): Promise<void> => {
    setBusy(true);
    const added: string[] = [];
    let version: number | undefined = picked.some((pick) => pick.added) ? undefined : stand.version;
    try {
      for (const pick of picked.filter(wanted)) {
        if (pick.added) continue;
        const asking = { method: "POST", body: bodyOf(pick, trust), ...(version === undefined ? {} : { version }) } as const;
        const answer = await ask<ServerAdded>("/servers", asking).catch((error: unknown) => {
          amend(pick.key, { error });
          throw error;
        });
        // Only the first stands on what the page showed: the others follow from it.
        version = undefined;
        amend(pick.key, { added: true, error: null });
        added.push(answer.id);
        for (const warning of answer.warnings) toast(warning, "wants");
      }
      toast(added.length === 1 ? `${added[0]} is added` : `${count(added.length, "server")} are added`);
      go("/servers", added.length === 1 ? { id: added[0] } : {});
    } catch (error) {
      if (error instanceof Problem && error.isStale) stand.refuse(error);
      else toast(sentence(error), "broken");
    } finally {
      setBusy(false);
      void queries.invalidateQueries();
    }
  };

  const chosen = picked.filter(wanted);
  const at = STEPS.findIndex((each) => each.id === step);
  return (
    <Screen
      title="Add a server"
      lead={<Link to="/servers">All servers</Link>}
      json={{ path: "/clients" }}
      command={command("pegboard", "servers", "add", "NAME", "--", "COMMAND")}
    >
      {!may ? (
        <EmptyState icon="servers" title="Your token may look, not add">
          Sign in with one that may operate.
        </EmptyState>
      ) : (
        <>
          <ol className="steps">
            {STEPS.map((each, number) => (
              <li key={each.id} className={number < at ? "is-done" : ""} aria-current={each.id === step ? "step" : undefined}>
                <span className="step-number">{number + 1}</span> {each.name}
              </li>
            ))}
          </ol>
          <Meanwhile of={stand} kept="Nothing was added yet, and what you wrote is kept." />
          {step === "where" && <AddWhere text={text} setText={setText} onPick={tryAll} />}
          {step === "try" && (
            <AddTry
              picked={picked}
              amend={amend}
              again={(pick) => void attempt(pick, round.current)}
              actions={
                <>
                  <Button
                    onClick={() => {
                      round.current += 1;
                      setStep("where");
                    }}
                  >
                    Back
                  </Button>
                  <Button look="main" disabled={chosen.length === 0 || chosen.some((each) => each.trying)} onClick={() => setStep("trust")}>
                    {chosen.length > 1 ? `Go on with ${chosen.length} servers` : "Go on"}
                  </Button>
                </>
              }
            />
          )}
          {step === "trust" && (
            <AddTrust
              picked={chosen}
              amend={amend}
              trust={trust}
              setTrust={setTrust}
              actions={
                <>
                  <Button onClick={() => setStep("try")}>Back</Button>
                  <Button look="main" busy={busy} onClick={() => void addAll()}>
                    {chosen.length > 1 ? `Add ${chosen.length} servers` : `Add ${chosen[0]?.id ?? "it"}`}
                  </Button>
                </>
              }
            />
          )}
        </>
      )}
    </Screen>
  );
}
