/** Differences as the gateway computed them; this only displays them. */
import type { ReactElement } from "react";
import type { DiffChange, DiffPiece, DiffSection } from "@/api/types";
import { VisibleText } from "./VisibleText";

/** A text difference: removed parts are struck, added ones underlined. */
export function TextDiff({ pieces }: { pieces: readonly DiffPiece[] }): ReactElement {
  return (
    <p className="diff-text prewrap wrap-any">
      {pieces.map((piece, index) => {
        if (piece.kind === "removed") return <del key={index}><VisibleText text={piece.text} /></del>;
        if (piece.kind === "added") return <ins key={index}><VisibleText text={piece.text} /></ins>;
        return <VisibleText key={index} text={piece.text} />;
      })}
    </p>
  );
}

/** A schema difference: the lines before and after. */
export function LineDiff({ before, after }: { before: string | null; after: string | null }): ReactElement {
  const lines = (text: string | null): readonly string[] => (text === null || text === "" ? [] : text.split("\n"));
  return (
    <pre className="diff-lines" tabIndex={0}>
      {lines(before).map((line, index) => (
        <del key={`-${index}`}><VisibleText text={line} /></del>
      ))}
      {lines(after).map((line, index) => (
        <ins key={`+${index}`}><VisibleText text={line} /></ins>
      ))}
    </pre>
  );
}

/** A patch, whose lines are marked already. */
export function PatchDiff({ patch }: { patch: string }): ReactElement {
  return (
    <pre className="diff-lines is-patch" tabIndex={0}>
      {patch.split("\n").map((line, index) => {
        if (line.startsWith("+") && !line.startsWith("+++")) return <ins key={index}><VisibleText text={line.slice(1)} /></ins>;
        if (line.startsWith("-") && !line.startsWith("---")) return <del key={index}><VisibleText text={line.slice(1)} /></del>;
        return (
          <span key={index} className={line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---") ? "muted" : ""}>
            <VisibleText text={line} />
          </span>
        );
      })}
    </pre>
  );
}

const SECTION_TITLES: Readonly<Record<string, string>> = { inputSchema: "Input", outputSchema: "Output", annotations: "Claims" };

export function SectionDiff({ section }: { section: DiffSection }): ReactElement {
  return (
    <section className="diff-section">
      <h3>{SECTION_TITLES[section.section] ?? section.section}</h3>
      {section.pieces.length > 0 && <TextDiff pieces={section.pieces} />}
      <ul className="stack">
        {section.changes.map((change) => (
          <li key={`${change.path} ${change.message}`}>
            <ChangeDiff change={change} />
          </li>
        ))}
      </ul>
      {section.omitted > 0 && <p className="muted">and {section.omitted} more</p>}
    </section>
  );
}

function ChangeDiff({ change }: { change: DiffChange }): ReactElement {
  return (
    <>
      <p>
        <VisibleText text={change.message} />
      </p>
      <p className="mono muted small wrap-any">
        <VisibleText text={change.path} />
      </p>
      {change.pieces.length > 0 ? (
        <TextDiff pieces={change.pieces} />
      ) : (
        (change.before !== null || change.after !== null) && <LineDiff before={change.before} after={change.after} />
      )}
    </>
  );
}
