import { useEffect, useId, useRef, type ReactElement, type ReactNode } from "react";
import { useGatewayUnreachable } from "@/api/connection-status";
import { UNREACHABLE_MESSAGE } from "@/api/problem";
import { IconButton } from "./Button";
import { Notice } from "./feedback";

/** The browser's own <dialog>: it traps and restores the focus, and Escape closes it. `drawer` makes it a drawer. */
export function Dialog({
  open,
  onClose,
  title,
  children,
  actions,
  drawer = false,
  wide = false,
}: {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  children: ReactNode;
  actions?: ReactNode;
  drawer?: boolean;
  wide?: boolean;
}): ReactElement | null {
  const container = useRef<HTMLDialogElement>(null);
  const id = useId();
  const gatewayUnreachable = useGatewayUnreachable();
  useEffect(() => {
    const dialog = container.current;
    if (dialog === null) return;
    if (open && !dialog.open) {
      dialog.showModal();
      // The browser focuses the first button, which is Close. Prefer the field that is marked as the first.
      dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={container}
      className={`dialog ${drawer ? "is-side" : ""} ${wide ? "is-wide" : ""}`}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === container.current) onClose();
      }}
    >
      <div className="dialog-content">
        <header className="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" name="Close" onClick={onClose} />
        </header>
        {gatewayUnreachable && (
          <div className="dialog-unreachable" role="alert">
            <Notice tone="broken">{UNREACHABLE_MESSAGE}</Notice>
          </div>
        )}
        <div className="dialog-body">{children}</div>
        {actions !== undefined && <footer className="dialog-foot">{actions}</footer>}
      </div>
    </dialog>
  );
}

export function Drawer(rest: Omit<Parameters<typeof Dialog>[0], "side">): ReactElement | null {
  return <Dialog drawer {...rest} />;
}
