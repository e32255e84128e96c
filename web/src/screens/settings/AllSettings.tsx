/** All settings by group, with the origin of each value. */
import type { ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { useListParam, useParam } from "@/lib/router";
import { formatCount } from "@/lib/format";
import { QueryResult, Button, ChipGroup, EmptyState, SearchField, Skeleton } from "@/components";
import { SettingRow, formatSetting, type SettingLine, type SettingsAnswer } from "./SettingRow";

const ORIGINS = ["file", "environment", "default"] as const;

export function AllSettings(): ReactElement {
  const [filterText, setFilterText] = useParam("q");
  const [origins, setOrigins] = useListParam("from");
  const settings = useApiQuery<SettingsAnswer>(["settings", "policy"], "/settings");
  const searchWords = filterText.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (each: SettingLine): boolean => {
    const text = `${each.key} ${each.description} ${formatSetting(each.value)}`.toLowerCase();
    return (origins.length === 0 || origins.includes(each.origin)) && searchWords.every((word) => text.includes(word));
  };
  return (
    <QueryResult query={settings} placeholder={<Skeleton lines={12} height={56} />}>
      {(response) => {
        const matching = response.settings.filter(matches);
        const counts = Object.fromEntries(ORIGINS.map((origin) => [origin, response.settings.filter((each) => each.origin === origin).length]));
        const groups = [...new Set(matching.map(settingGroup))];
        return (
          <div className="stack">
            <div className="row">
              <SearchField label="Find a setting" value={filterText} onChange={setFilterText} />
              <ChipGroup name="Where from" options={ORIGINS} selected={origins} onChange={setOrigins} counts={counts} />
            </div>
            <p className="muted small" role="status">
              {formatCount(matching.length, "setting")}. The file stays the truth: what is changed here is written into it, and a setting that nobody wrote has its default.
            </p>
            {matching.length === 0 ? (
              <EmptyState
                icon="settings"
                title="No setting fits"
                action={
                  <Button
                    onClick={() => {
                      setFilterText("");
                      setOrigins([]);
                    }}
                  >
                    Clear the filters
                  </Button>
                }
              />
            ) : (
              groups.map((group) => (
                <section key={group} className="sheet settings-part" aria-label={group}>
                  <h2>{group}</h2>
                  <ul>
                    {matching
                      .filter((each) => settingGroup(each) === group)
                      .map((each) => (
                        <SettingRow key={each.key} setting={each} response={response} />
                      ))}
                  </ul>
                </section>
              ))
            )}
          </div>
        );
      }}
    </QueryResult>
  );
}

function settingGroup({ key }: SettingLine): string {
  return key.includes(".") ? key.slice(0, key.indexOf(".")) : "board";
}
