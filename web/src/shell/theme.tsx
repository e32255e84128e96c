import { useState, type ReactElement } from "react";
import { IconButton, type IconName } from "@/parts";

type Theme = "system" | "light" | "dark";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const ICONS: Readonly<Record<Theme, IconName>> = { system: "half", light: "sun", dark: "moon" };
const KEY = "pegboard.theme";

function chosen(): Theme {
  const theme = document.documentElement.dataset["theme"];
  return theme === "light" || theme === "dark" ? theme : "system";
}

function choose(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // It holds for this page then.
  }
}

/** The theme of the system, or light, or dark: one after the other. */
export function ThemeButton(): ReactElement {
  const [theme, setTheme] = useState(chosen);
  return (
    <IconButton
      icon={ICONS[theme]}
      name={`Theme: ${theme}. Change to ${NEXT[theme]}`}
      onClick={() => {
        choose(NEXT[theme]);
        setTheme(NEXT[theme]);
      }}
    />
  );
}
