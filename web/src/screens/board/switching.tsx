/** Enables and disables tools, one or several. Disabling asks for a note, which the next person reads. */
import { useState, type ReactElement } from "react";
import { useApiMutation } from "@/api/queries";
import type { VersionGuard } from "@/api/version-guard";
import type { ToolCard } from "@/api/types";
import { formatCount } from "@/lib/format";
import { Button, Dialog, ConcurrentChangeNotice, TextArea } from "@/components";

/** The state of a tool that matters to somebody who disables it. Decisions about other tools do not change it. */
export function switchSnapshot(tool: ToolCard): string {
  return JSON.stringify([tool.id, tool.state, tool.verdict, tool.status, tool.message, tool.enabled]);
}

export type SwitchRequest = { readonly tools: readonly ToolCard[]; readonly enabled: boolean };

/** `setToolsEnabled` changes all of the tools or none, based on the version that the person saw. */
export function useToolSwitch(guard: VersionGuard): { readonly setToolsEnabled: (request: SwitchRequest, note?: string) => Promise<boolean>; readonly busy: boolean } {
  const mutation = useApiMutation({ guard });
  const setToolsEnabled = async ({ tools, enabled }: SwitchRequest, note = ""): Promise<boolean> => {
    const [first] = tools;
    if (first === undefined) return true;
    const isSingle = tools.length === 1;
    try {
      await mutation.mutateAsync({
        path: isSingle ? "/tools/switch" : "/tools/switches",
        body: isSingle ? { tool: first.id, enabled, note } : { tools: tools.map((tool) => tool.id), enabled, note },
        successMessage: `${isSingle ? first.name : formatCount(tools.length, "tool")} switched ${enabled ? "on" : "off"}`,
      });
      return true;
    } catch {
      // The error has been shown.
      return false;
    }
  };
  return { setToolsEnabled, busy: mutation.isPending };
}

export function DisableToolsDialog({
  tools,
  guard,
  busy,
  onClose,
  onConfirm,
}: {
  tools: readonly ToolCard[];
  guard: VersionGuard;
  busy: boolean;
  onClose: () => void;
  onConfirm: (note: string) => void;
}): ReactElement {
  const [note, setNote] = useState("");
  const singleTool = tools.length === 1 ? tools[0] : undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={singleTool ? `Turn off ${singleTool.name}` : `Turn off ${formatCount(tools.length, "tool")}`}
      actions={
        <>
          <Button onClick={onClose}>Leave on</Button>
          <Button variant="primary" busy={busy} onClick={() => onConfirm(note)}>
            Turn off
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm(note);
        }}
      >
        <ConcurrentChangeNotice guard={guard} unchanged="Your note is kept." />
        {singleTool?.message && <p className="muted">It is locked already: {singleTool.message}</p>}
        <TextArea
          label="Note"
          hint="Whoever asks why it is off reads this."
          value={note}
          onChange={setNote}
          rows={2}
          maxLength={500}
          data-first=""
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              onConfirm(note);
            }
          }}
        />
      </form>
    </Dialog>
  );
}
