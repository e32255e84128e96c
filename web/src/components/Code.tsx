import { useEffect, useState, type ReactElement } from "react";
import { copyText } from "@/lib/clipboard";
import { Button } from "./Button";
import { toast } from "./toast";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): ReactElement {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button
      small
      icon={copied ? "check" : "copy"}
      onClick={() =>
        void copyText(text).then((succeeded) => (succeeded ? setCopied(true) : toast("The browser does not let this page copy: mark the text and copy it yourself", "needs_action")))
      }
    >
      {copied ? "Copied" : label}
    </Button>
  );
}

/** Verbatim text, with a copy button. */
export function Code({ text, copyable = true, wrap = true }: { text: string; copyable?: boolean; wrap?: boolean }): ReactElement {
  return (
    <div className="code-container">
      <pre className={`code ${wrap ? "wraps" : ""} ${copyable && !text.includes("\n") ? "is-line" : ""}`} tabIndex={0}>
        {text}
      </pre>
      {copyable && (
        <div className="code-copy">
          <CopyButton text={text} />
        </div>
      )}
    </div>
  );
}
