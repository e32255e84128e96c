/** Line icons in the colour of the text. They are hidden from screen readers. */
import type { ReactElement } from "react";

const ICON_PATHS = {
  board: "M2.5 3.5h11M2.5 8h11M2.5 12.5h11M5 2v3M10.5 6.5v3M6.5 11v3",
  tool: "M10.2 2.3a3.4 3.4 0 0 0-3.9 4.6L2.2 11a1.6 1.6 0 1 0 2.3 2.3L8.6 9.2a3.4 3.4 0 0 0 4.6-3.9L11 7.5 8.5 7 8 4.5z",
  servers: "M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.8h.01M5 11.2h.01M8 4.8h3M8 11.2h3",
  toolsets: "M2.5 5.5h11v8h-11zM5.5 5.5v-3h5v3M2.5 9h11M7 9v1.5h2V9",
  approvals: "M8 1.8l5 2v4c0 3.2-2.1 5.3-5 6.4-2.9-1.1-5-3.2-5-6.4v-4zM5.6 7.9l1.8 1.8 3.1-3.4",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3l3.4 3.4",
  activity: "M1.8 8.5h2.7l2-5.5 3 10 2-4.5h2.7",
  prompt: "M2.5 3h11v8h-6l-3 2.6V11h-2zM5 6h6M5 8.3h4",
  settings: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  plug: "M6 2v3M10 2v3M4.5 5h7v2.5a3.5 3.5 0 0 1-7 0zM8 11v3",
  python: "M5.5 4.5L2.5 8l3 3.5M10.5 4.5l3 3.5-3 3.5",
  box: "M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6",
  builtin: "M8.8 1.8L3.5 9H8l-.8 5.2L12.5 7H8z",
  database: "M8 2.2c3 0 5 .8 5 1.9S11 6 8 6 3 5.200 3 4.100s2-1.900 5-1.900zM3 4.200v7.700c0 1.100 2 1.900 5 1.900s5-.8 5-1.900V4.200M3 8c0 1.100 2 1.900 5 1.900S13 9.100 13 8",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  check: "M3 8.500l3.300 3.300L13 4.800",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  plus: "M8 3v10M3 8h10",
  sun: "M8 5.300a2.700 2.700 0 1 1 0 5.400 2.700 2.700 0 0 1 0-5.400zM8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.9M11.700 11.700l.9.9M3.400 12.600l.9-.9M11.700 4.300l.9-.9",
  moon: "M13 9.600A5.500 5.500 0 0 1 6.400 3 5.500 5.500 0 1 0 13 9.600z",
  "system-theme": "M8 2.500a5.500 5.500 0 1 0 0 11zM8 2.500a5.500 5.500 0 0 1 0 11",
  refresh: "M13 8a5 5 0 1 1-1.500-3.600M13 2.500v2.700h-2.700",
  "sign-out": "M6.500 2.500h-4v11h4M6 8h7.500M10.800 5.200L13.500 8l-2.700 2.800",
  json: "M6 2.500c-1.800 0-2 .8-2 2.200S3.600 7.500 2.500 8C3.600 8.500 4 9.200 4 10.800s.2 2.700 2 2.700M10 2.500c1.800 0 2 .8 2 2.200s.4 2.800 1.500 3.300c-1.100.5-1.500 1.200-1.500 2.800s-.2 2.700-2 2.700",
  terminal: "M2.500 3h11v10h-11zM5 6l2 2-2 2M8.500 10.200H11",
  pencil: "M3 13l.6-2.800L10.800 3a1.400 1.400 0 0 1 2 0l.2.2a1.400 1.400 0 0 1 0 2L5.800 12.400z",
  filter: "M2.500 3.500h11L9.500 8.500v4l-3 1.500V8.500z",
  eye: "M1.800 8S4 3.800 8 3.800 14.200 8 14.200 8 12 12.200 8 12.200 1.800 8 1.800 8zM8 6.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600z",
  upload: "M8 10.500V2.800M4.800 5.800L8 2.600l3.200 3.200M2.500 10.500v3h11v-3",
  download: "M8 2.500v7.700M4.800 7.200L8 10.400l3.200-3.200M2.500 10.500v3h11v-3",
  lock: "M3.500 7.500h9v6h-9zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
  warning: "M8 2.200L14.300 13.300H1.700zM8 6.300v3.400M8 11.500h.01",
} as const;

export type IconName = keyof typeof ICON_PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): ReactElement {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={ICON_PATHS[name]} />
    </svg>
  );
}

/** The icon of a provider, by its kind. */
export function providerIcon(kind: string): IconName {
  if (kind.startsWith("mcp") || kind === "server") return "plug";
  if (kind.startsWith("python")) return "python";
  if (kind.startsWith("docker") || kind.startsWith("container")) return "box";
  if (kind.startsWith("database")) return "database";
  return "builtin";
}
