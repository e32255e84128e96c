/** Adds a server in three steps: its address, its tools, its trust level. Nothing is saved before the last. */
import { useRef, useState, type ReactElement } from "react";
import { queryClient } from "@/api/queries";
import { request } from "@/api/client";
import { Problem, errorMessage } from "@/api/problem";
import { useServers, type ServerAdded, type ServerTrial, type Trust } from "@/api/servers";
import { useHasScope } from "@/api/session";
import { useVersionGuard } from "@/api/version-guard";
import { navigate } from "@/lib/router";
import { shellCommand, formatCount } from "@/lib/format";
import { Button, EmptyState, Link, ConcurrentChangeNotice, Screen, toast } from "@/components";
import { TrustStep } from "./TrustStep";
import { TrialStep } from "./TrialStep";
import { SourceStep } from "./SourceStep";
import { requestBody, isSelected, type Candidate } from "./candidates";

type Step = "where" | "try" | "trust";
const STEPS: readonly { readonly id: Step; readonly name: string }[] = [
  { id: "where", name: "Where it is" },
  { id: "try", name: "What it would bring" },
  { id: "trust", name: "Trust and toolset" },
];
const MAX_PARALLEL_TRIALS = 2;

export function AddServer(): ReactElement {
  const canOperate = useHasScope("operate");
  const servers = useServers();
  const [step, setStep] = useState<Step>("where");
  const [text, setText] = useState("");
  const [candidates, setCandidates] = useState<readonly Candidate[]>([]);
  const [trust, setTrust] = useState<Trust>("baseline");
  const [busy, setBusy] = useState(false);
  const currentRun = useRef(0);
  // Active from the first trial until the first server is added: further versions are our own.
  const guard = useVersionGuard(servers.data?.policyVersion, step !== "where" && !candidates.some((candidate) => candidate.isAdded));

  const updateCandidate = (key: string, change: Partial<Candidate>): void =>
    setCandidates((previous) => previous.map((each) => (each.key === key ? { ...each, ...change } : each)));

  const tryCandidate = async (candidate: Candidate, run: number): Promise<void> => {
    updateCandidate(candidate.key, { isTrying: true, trial: null, error: null });
    try {
      const trial = await request<ServerTrial>("/servers/try", { method: "POST", body: requestBody(candidate) });
      if (run === currentRun.current) updateCandidate(candidate.key, { isTrying: false, trial, isSelected: trial.state !== "failed" });
    } catch (error) {
      if (run === currentRun.current) updateCandidate(candidate.key, { isTrying: false, error, isSelected: false });
    }
  };

  /** Two at a time, because each starts a process. */
  const tryAll = (all: readonly Candidate[]): void => {
    const run = ++currentRun.current;
    setCandidates(all.map((each) => ({ ...each, trying: true })));
    setStep("try");
    const remaining = [...all];
    const tryNext = async (): Promise<void> => {
      const candidate = remaining.shift();
      if (candidate === undefined || run !== currentRun.current) return;
      await tryCandidate(candidate, run);
      await tryNext();
    };
    for (let started = 0; started < MAX_PARALLEL_TRIALS; started += 1) void tryNext();
  };

  const addAll = async (): Promise<void> => {
    setBusy(true);
    const added: string[] = [];
    let version: number | undefined = candidates.some((candidate) => candidate.isAdded) ? undefined : guard.version;
    try {
      for (const candidate of candidates.filter(isSelected)) {
        if (candidate.isAdded) continue;
        const options = { method: "POST", body: requestBody(candidate, trust), ...(version === undefined ? {} : { version }) } as const;
        const response = await request<ServerAdded>("/servers", options).catch((error: unknown) => {
          updateCandidate(candidate.key, { error });
          throw error;
        });
        // Only the first is based on the version the person saw: the others follow from it.
        version = undefined;
        updateCandidate(candidate.key, { isAdded: true, error: null });
        added.push(response.id);
        for (const warning of response.warnings) toast(warning, "needs_action");
      }
      toast(added.length === 1 ? `${added[0]} is added` : `${formatCount(added.length, "server")} are added`);
      navigate("/servers", added.length === 1 ? { id: added[0] } : {});
    } catch (error) {
      if (error instanceof Problem && error.isStale) guard.reject(error);
      else toast(errorMessage(error), "broken");
    } finally {
      setBusy(false);
      void queryClient.invalidateQueries();
    }
  };

  const wantedCandidates = candidates.filter(isSelected);
  const stepIndex = STEPS.findIndex((each) => each.id === step);
  return (
    <Screen
      title="Add a server"
      lead={<Link to="/servers">All servers</Link>}
      json={{ path: "/clients" }}
      command={shellCommand("pegboard", "servers", "add", "NAME", "--", "COMMAND")}
    >
      {!canOperate ? (
        <EmptyState icon="servers" title="Your token may look, not add">
          Sign in with one that may operate.
        </EmptyState>
      ) : (
        <>
          <ol className="steps">
            {STEPS.map((each, number) => (
              <li key={each.id} className={number < stepIndex ? "is-done" : ""} aria-current={each.id === step ? "step" : undefined}>
                <span className="step-number">{number + 1}</span> {each.name}
              </li>
            ))}
          </ol>
          <ConcurrentChangeNotice guard={guard} unchanged="Nothing was added yet, and what you wrote is kept." />
          {step === "where" && <SourceStep text={text} setText={setText} onPick={tryAll} />}
          {step === "try" && (
            <TrialStep
              candidates={candidates}
              updateCandidate={updateCandidate}
              onRetry={(candidate) => void tryCandidate(candidate, currentRun.current)}
              actions={
                <>
                  <Button
                    onClick={() => {
                      currentRun.current += 1;
                      setStep("where");
                    }}
                  >
                    Back
                  </Button>
                  <Button variant="primary" disabled={wantedCandidates.length === 0 || wantedCandidates.some((each) => each.isTrying)} onClick={() => setStep("trust")}>
                    {wantedCandidates.length > 1 ? `Go on with ${wantedCandidates.length} servers` : "Go on"}
                  </Button>
                </>
              }
            />
          )}
          {step === "trust" && (
            <TrustStep
              candidates={wantedCandidates}
              updateCandidate={updateCandidate}
              trust={trust}
              setTrust={setTrust}
              actions={
                <>
                  <Button onClick={() => setStep("try")}>Back</Button>
                  <Button variant="primary" busy={busy} onClick={() => void addAll()}>
                    {wantedCandidates.length > 1 ? `Add ${wantedCandidates.length} servers` : `Add ${wantedCandidates[0]?.id ?? "it"}`}
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
