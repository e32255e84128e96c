/** Ctrl-K: any tool, server or screen by a few letters. */
import { useEffect, useId, useMemo, useRef, useState, type ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import type { Servers, ToolLines } from "@/api/types";
import { found, indexed } from "@/lib/finding";
import { go, type Query } from "@/lib/place";
import { Icon, type IconName } from "@/parts";
import { ROUTES } from "@/routes";
import { InVain } from "@/screens/wall/InVain";

type Target = { readonly id: string; readonly name: string; readonly more: string; readonly icon: IconName; readonly to: string; readonly query: Query };

const MOST = 12;

export function Palette({ onClose }: { onClose: () => void }): ReactElement {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const tools = useAnswer<ToolLines>(["board"], "/tools").data;
  const servers = useAnswer<Servers>(["servers"], "/servers").data;
  useEffect(() => box.current?.showModal(), []);
  const index = useMemo(() => {
    const screens: Target[] = ROUTES.map(({ path, name, icon }) => ({ id: `screen ${path}`, name, more: "screen", icon, to: path, query: {} }));
    const all: Target[] = [
      ...screens,
      ...(servers?.servers ?? []).map((server): Target => ({ id: `server ${server.id}`, name: server.serverId ?? server.id, more: `server · ${server.health.sentence}`, icon: "servers", to: "/servers", query: { id: server.id } })),
      ...(tools?.tools ?? []).map((tool): Target => ({ id: tool.id, name: tool.name, more: tool.id, icon: "tool", to: "/tool", query: { id: tool.id } })),
    ];
    return indexed(all, (target) => `${target.name} ${target.more}`);
  }, [tools, servers]);
  const hits = useMemo(() => found(index, text).slice(0, MOST), [index, text]);
  const chosen = hits[Math.min(at, hits.length - 1)];
  const open = (target: Target | undefined): void => {
    if (target === undefined) return;
    onClose();
    go(target.to, target.query);
  };
  return (
    <dialog
      ref={box}
      className="palette"
      aria-label="Find a tool, server or screen"
      onClose={onClose}
      onMouseDown={(event) => {
        if (event.target === box.current) onClose();
      }}
    >
      <div className="palette-field">
        <Icon name="search" />
        <input
          autoFocus
          role="combobox"
          aria-label="Find a tool, server or screen"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={chosen === undefined ? undefined : `${id}-${hits.indexOf(chosen)}`}
          placeholder="A tool, a server, a screen"
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
            else if (event.key === "Enter") open(chosen);
            else return;
            event.preventDefault();
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label="Found" className="palette-list">
        {hits.map((target, place) => (
          <li
            key={target.id}
            id={`${id}-${place}`}
            role="option"
            aria-selected={target === chosen}
            onMouseMove={() => setAt(place)}
            onClick={() => open(target)}
          >
            <Icon name={target.icon} />
            <span className="palette-name cut">{target.name}</span>
            <span className="quiet small cut mono">{target.more}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && text.trim() !== "" && tools !== undefined && (
        <div className="palette-none">
          <InVain text={text} view={{}} version={tools.policyVersion} onGo={onClose} />
        </div>
      )}
    </dialog>
  );
}
