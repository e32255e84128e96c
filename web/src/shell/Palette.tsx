/** The command palette (Ctrl-K): finds tools, servers and screens. */
import { useEffect, useId, useMemo, useRef, useState, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import type { Servers, ToolList } from "@/api/types";
import { searchRanked, buildTextIndex } from "@/lib/text-search";
import { navigate, type Query } from "@/lib/router";
import { Icon, type IconName } from "@/components";
import { ROUTES } from "@/routes";
import { UnknownTool } from "@/screens/board/UnknownTool";

type Target = { readonly id: string; readonly name: string; readonly detail: string; readonly icon: IconName; readonly to: string; readonly query: Query };

const MAX_RESULTS = 12;

export function Palette({ onClose }: { onClose: () => void }): ReactElement {
  const container = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState("");
  const [activeIndex, setActiveIndex] = useState(0);
  const tools = useApiQuery<ToolList>(["board"], "/tools").data;
  const servers = useApiQuery<Servers>(["servers"], "/servers").data;
  useEffect(() => container.current?.showModal(), []);
  const index = useMemo(() => {
    const screens: Target[] = ROUTES.map(({ path, name, icon }) => ({ id: `screen ${path}`, name, detail: "screen", icon, to: path, query: {} }));
    const all: Target[] = [
      ...screens,
      ...(servers?.servers ?? []).map((server): Target => ({ id: `server ${server.id}`, name: server.serverId ?? server.id, detail: `server · ${server.health.message}`, icon: "servers", to: "/servers", query: { id: server.id } })),
      ...(tools?.tools ?? []).map((tool): Target => ({ id: tool.id, name: tool.name, detail: tool.id, icon: "tool", to: "/tool", query: { id: tool.id } })),
    ];
    return buildTextIndex(all, (target) => `${target.name} ${target.detail}`);
  }, [tools, servers]);
  const hits = useMemo(() => searchRanked(index, text).slice(0, MAX_RESULTS), [index, text]);
  const activeTarget = hits[Math.min(activeIndex, hits.length - 1)];
  const open = (target: Target | undefined): void => {
    if (target === undefined) return;
    onClose();
    navigate(target.to, target.query);
  };
  return (
    <dialog
      ref={container}
      className="palette"
      aria-label="Find a tool, server or screen"
      onClose={onClose}
      onMouseDown={(event) => {
        if (event.target === container.current) onClose();
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
          aria-activedescendant={activeTarget === undefined ? undefined : `${id}-${hits.indexOf(activeTarget)}`}
          placeholder="A tool, a server, a screen"
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value);
            setActiveIndex(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setActiveIndex(Math.min(activeIndex + 1, hits.length - 1));
            else if (event.key === "ArrowUp") setActiveIndex(Math.max(activeIndex - 1, 0));
            else if (event.key === "Enter") open(activeTarget);
            else return;
            event.preventDefault();
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label="Found" className="palette-list">
        {hits.map((target, position) => (
          <li
            key={target.id}
            id={`${id}-${position}`}
            role="option"
            aria-selected={target === activeTarget}
            onMouseMove={() => setActiveIndex(position)}
            onClick={() => open(target)}
          >
            <Icon name={target.icon} />
            <span className="palette-name truncate">{target.name}</span>
            <span className="muted small truncate mono">{target.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && text.trim() !== "" && tools !== undefined && (
        <div className="palette-none">
          <UnknownTool text={text} view={{}} version={tools.policyVersion} onNavigate={onClose} />
        </div>
      )}
    </dialog>
  );
}
