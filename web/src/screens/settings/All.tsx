/** Every setting there is, by part, with where its value comes from. */
import type { ReactElement } from "react";
import { useAnswer } from "@/api/answers";
import { useListParam, useParam } from "@/lib/place";
import { count } from "@/lib/words";
import { Answered, Button, Chips, EmptyState, SearchField, Skeleton } from "@/parts";
import { SettingRow, shown, type SettingLine, type SettingsAnswer } from "./Setting";

const ORIGINS = ["file", "environment", "default"] as const;

export function All(): ReactElement {
  const [typed, setTyped] = useParam("q");
  const [origins, setOrigins] = useListParam("from");
  const settings = useAnswer<SettingsAnswer>(["settings", "policy"], "/settings");
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (each: SettingLine): boolean => {
    const text = `${each.key} ${each.description} ${shown(each.value)}`.toLowerCase();
    return (origins.length === 0 || origins.includes(each.origin)) && words.every((word) => text.includes(word));
  };
  return (
    <Answered of={settings} waiting={<Skeleton lines={12} height={56} />}>
      {(answer) => {
        const found = answer.settings.filter(fits);
        const counts = Object.fromEntries(ORIGINS.map((origin) => [origin, answer.settings.filter((each) => each.origin === origin).length]));
        const parts = [...new Set(found.map(partOf))];
        return (
          <div className="stack">
            <div className="row">
              <SearchField label="Find a setting" value={typed} onChange={setTyped} />
              <Chips name="Where from" among={ORIGINS} chosen={origins} onChange={setOrigins} counts={counts} />
            </div>
            <p className="quiet small" role="status">
              {count(found.length, "setting")}. The file stays the truth: what is changed here is written into it, and a setting that nobody wrote has its default.
            </p>
            {found.length === 0 ? (
              <EmptyState
                icon="settings"
                title="No setting fits"
                action={
                  <Button
                    onClick={() => {
                      setTyped("");
                      setOrigins([]);
                    }}
                  >
                    Clear the filters
                  </Button>
                }
              />
            ) : (
              parts.map((part) => (
                <section key={part} className="sheet settings-part" aria-label={part}>
                  <h2>{part}</h2>
                  <ul>
                    {found
                      .filter((each) => partOf(each) === part)
                      .map((each) => (
                        <SettingRow key={each.key} setting={each} of={answer} />
                      ))}
                  </ul>
                </section>
              ))
            )}
          </div>
        );
      }}
    </Answered>
  );
}

function partOf({ key }: SettingLine): string {
  return key.includes(".") ? key.slice(0, key.indexOf(".")) : "board";
}
