/** Settings: principals, tokens, storage, the policy as a file, and where every value comes from. */
import { useState, type ReactElement } from "react";
import type { ResponseOf } from "@/api/types";
import { useParam } from "@/lib/router";
import { Screen, Tabs, type ApiSource } from "@/components";
import { AllSettings } from "./AllSettings";
import { People } from "./People";
import { Policy } from "./Policy";
import { Storage } from "./Storage";
import { Tokens } from "./Tokens";
import "./settings.css";

type TabName = "people" | "tokens" | "storage" | "policy" | "all";
export type TokenCreated = ResponseOf<"/tokens", "post">;

const TABS: readonly { id: TabName; label: string; json: ApiSource; command: string }[] = [
  { id: "people", label: "People", json: { path: "/principals" }, command: "pegboard grants list" },
  { id: "tokens", label: "Tokens", json: { path: "/tokens" }, command: "pegboard tokens list" },
  { id: "storage", label: "Storage", json: { path: "/settings" }, command: "pegboard settings audit" },
  { id: "policy", label: "Policy", json: { path: "/policy/export" }, command: "pegboard policy export" },
  { id: "all", label: "All settings", json: { path: "/settings" }, command: "pegboard settings" },
];

export default function SettingsScreen(): ReactElement {
  const [tabId, setTab] = useParam("tab", "people");
  // Here and not in its tab: the token is shown only once and must survive a change of the tab.
  const [createdToken, setCreatedToken] = useState<TokenCreated | null>(null);
  const tab = TABS.find(({ id }) => id === tabId) ?? TABS[0]!;
  return (
    <Screen title="Settings" lead="Who may do what, what is kept, and where every value comes from." json={tab.json} command={tab.command}>
      <Tabs name="Settings" tabs={TABS} selected={tab.id} onChange={setTab}>
        {tab.id === "people" && <People />}
        {tab.id === "tokens" && <Tokens created={createdToken} onCreated={setCreatedToken} />}
        {tab.id === "storage" && <Storage />}
        {tab.id === "policy" && <Policy />}
        {tab.id === "all" && <AllSettings />}
      </Tabs>
    </Screen>
  );
}
