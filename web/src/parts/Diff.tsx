/** Differences as the gateway tells them: what changed is its decision, this only shows it. */
import type { ReactElement } from "react";
import type { Altered, Piece, Section } from "@/api/types";
import { Plain } from "./Plain";

/** Prose: what went is struck, what came is underlined. */
export function WordDiff({ words }: { words: readonly Piece[] }): ReactElement {
  return (
    <p className="diff-words prewrap wrap-any">
      {words.map((piece, at) => {
        if (piece.how === "removed") return <del key={at}><Plain text={piece.text} /></del>;
        if (piece.how === "added") return <ins key={at}><Plain text={piece.text} /></ins>;
        return <Plain key={at} text={piece.text} />;
      })}
    </p>
  );
}

/** A schema: one block a change, with the lines before and after. */
export function LineDiff({ before, after }: { before: string | null; after: string | null }): ReactElement {
  const lines = (text: string | null): readonly string[] => (text === null || text === "" ? [] : text.split("\n"));
  return (
    <pre className="diff-lines" tabIndex={0}>
      {lines(before).map((line, at) => (
        <del key={`-${at}`}><Plain text={line} /></del>
      ))}
      {lines(after).map((line, at) => (
        <ins key={`+${at}`}><Plain text={line} /></ins>
      ))}
    </pre>
  );
}

/** Lines that are marked already: a patch. */
export function PatchDiff({ patch }: { patch: string }): ReactElement {
  return (
    <pre className="diff-lines is-patch" tabIndex={0}>
      {patch.split("\n").map((line, at) => {
        if (line.startsWith("+") && !line.startsWith("+++")) return <ins key={at}><Plain text={line.slice(1)} /></ins>;
        if (line.startsWith("-") && !line.startsWith("---")) return <del key={at}><Plain text={line.slice(1)} /></del>;
        return (
          <span key={at} className={line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---") ? "quiet" : ""}>
            <Plain text={line} />
          </span>
        );
      })}
    </pre>
  );
}

const HEADS: Readonly<Record<string, string>> = { inputSchema: "Input", outputSchema: "Output", annotations: "Claims" };

export function SectionDiff({ section }: { section: Section }): ReactElement {
  return (
    <section className="diff-section">
      <h3>{HEADS[section.section] ?? section.section}</h3>
      {section.words.length > 0 && <WordDiff words={section.words} />}
      <ul className="stack">
        {section.changes.map((change) => (
          <li key={`${change.path} ${change.sentence}`}>
            <Change change={change} />
          </li>
        ))}
      </ul>
      {section.more > 0 && <p className="quiet">and {section.more} more</p>}
    </section>
  );
}

function Change({ change }: { change: Altered }): ReactElement {
  return (
    <>
      <p>
        <Plain text={change.sentence} />
      </p>
      <p className="mono quiet small wrap-any">
        <Plain text={change.path} />
      </p>
      {change.words.length > 0 ? (
        <WordDiff words={change.words} />
      ) : (
        (change.before !== null || change.after !== null) && <LineDiff before={change.before} after={change.after} />
      )}
    </>
  );
}
