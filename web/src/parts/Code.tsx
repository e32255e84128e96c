import { useEffect, useState, type ReactElement } from "react";
import { copied } from "@/lib/copying";
import { Button } from "./Button";
import { toast } from "./toast";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): ReactElement {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const later = setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(later);
  }, [done]);
  return (
    <Button
      small
      icon={done ? "check" : "copy"}
      onClick={() =>
        void copied(text).then((went) => (went ? setDone(true) : toast("The browser does not let this page copy: mark the text and copy it yourself", "wants")))
      }
    >
      {done ? "Copied" : label}
    </Button>
  );
}

/** Text to the letter, with a button that copies it. */
export function Code({ text, copies = true, wraps = true }: { text: string; copies?: boolean; wraps?: boolean }): ReactElement {
  return (
    <div className="code-around">
      <pre className={`code ${wraps ? "wraps" : ""} ${copies && !text.includes("\n") ? "is-line" : ""}`} tabIndex={0}>
        {text}
      </pre>
      {copies && (
        <div className="code-copy">
          <CopyButton text={text} />
        </div>
      )}
    </div>
  );
}
