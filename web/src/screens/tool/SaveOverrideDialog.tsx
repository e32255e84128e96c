/** The last step before an override is saved. It is sent with the version at which this dialog was opened. */
import { useState, type ReactElement, type ReactNode } from "react";
import { useMutation } from "@tanstack/react-query";
import { queryClient, invalidate } from "@/api/queries";
import { request } from "@/api/client";
import type { Problem } from "@/api/problem";
import type { ToolCard } from "@/api/types";
import { Button, Dialog, Notice, toast, ErrorMessage } from "@/components";
import type { OverrideChanges } from "./override-edit";
import type { BaseState, FieldConflict } from "./edit-conflict";

export function SaveOverrideDialog({
  tool,
  changes,
  version: currentVersion,
  conflicts,
  onRefresh,
  onClose,
  onSaved,
  children,
}: {
  tool: ToolCard;
  changes: OverrideChanges;
  version: number;
  conflicts: readonly FieldConflict[];
  onRefresh: () => Promise<BaseState | null>;
  onClose: () => void;
  /** Resolves when the saved state has been fetched. */
  onSaved: () => Promise<void>;
  children: ReactNode;
}): ReactElement {
  const [version, setVersion] = useState(currentVersion);
  const [saveAgain, setSaveAgain] = useState(false);
  const mutation = useMutation<unknown, Problem>({
    mutationFn: () => request("/overrides", { method: "POST", body: { target: tool.id, ...changes }, version }),
    onSuccess: async () => {
      await onSaved();
      toast(`${tool.name} is overridden`, "open");
      void queryClient.invalidateQueries();
    },
    onError: async (problem) => {
      if (problem.isSignedOut) invalidate();
      if (!problem.isStale) return;
      const latest = await onRefresh();
      if (latest === null) return;
      setVersion(latest.version);
      setSaveAgain(true);
    },
  });
  const hasConflicts = conflicts.length > 0;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Override ${tool.name}`}
      wide
      actions={
        hasConflicts ? (
          <Button variant="primary" onClick={onClose}>
            Look at what changed
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Not yet</Button>
            <Button variant="primary" busy={mutation.isPending} onClick={() => mutation.mutate()}>
              Save
            </Button>
          </>
        )
      }
    >
      <div className="stack">
        {hasConflicts && <Notice tone="needs_action">Somebody else saved another override of this tool meanwhile. Yours is not saved, and nothing of it is lost.</Notice>}
        {saveAgain && !hasConflicts && (
          <Notice tone="needs_action">Something else on the board was decided meanwhile, so this was not saved. This tool&apos;s override is as it was: save again.</Notice>
        )}
        {children}
        {mutation.error && !(mutation.error.isStale && saveAgain) && <ErrorMessage error={mutation.error} />}
      </div>
    </Dialog>
  );
}
