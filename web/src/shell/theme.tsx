import { useState, type ReactElement } from "react";
import { IconButton, type IconName } from "@/components";

type Theme = "system" | "light" | "dark";

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const THEME_ICONS: Readonly<Record<Theme, IconName>> = { system: "system-theme", light: "sun", dark: "moon" };
const STORAGE_KEY = "pegboard.theme";

function currentTheme(): Theme {
  const theme = document.documentElement.dataset["theme"];
  return theme === "light" || theme === "dark" ? theme : "system";
}

function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // Without local storage it applies to this page only.
  }
}

/** Cycles through system, light and dark. */
export function ThemeButton(): ReactElement {
  const [theme, setTheme] = useState(currentTheme);
  return (
    <IconButton
      icon={THEME_ICONS[theme]}
      name={`Theme: ${theme}. Change to ${NEXT_THEME[theme]}`}
      onClick={() => {
        applyTheme(NEXT_THEME[theme]);
        setTheme(NEXT_THEME[theme]);
      }}
    />
  );
}
