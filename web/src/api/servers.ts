/** Shapes of the API about servers and toolsets, and the pegs that belong to one of them. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useAnswer, useWhole } from "./answers";
import type { Problem } from "./problem";
import type { components } from "./schema";

type Shapes = components["schemas"];

export type Server = Shapes["ServerShape"];
export type ServerList = Shapes["ServersShape"];
export type ServerAdded = Shapes["AddedShape"];
export type Health = Shapes["HealthShape"];
export type Trust = Shapes["Trust"];
export type Flaw = Shapes["FlawShape"];
export type Share = Shapes["ShareShape"];
export type Shares = Shapes["SharesShape"];
export type Log = Shapes["Log"];
export type LogLevel = Shapes["LogLevel"];
export type SignIn = Shapes["SignInShape"];
export type SignInLink = Shapes["SignInLinkShape"];
export type Reviewed = Shapes["ReviewedServer"];
export type ReadServer = Shapes["ReadServer"];
export type ReadServers = Shapes["ReadServers"];
export type ReadProblem = Shapes["ReadProblem"];
export type ClientLists = Shapes["ClientLists"];
export type Tried = Shapes["Tried"];
export type TriedTool = Shapes["TriedTool"];
export type Toolset = Shapes["ToolsetShape"];
export type Toolsets = Shapes["ToolsetsShape"];
export type Imported = Shapes["ImportShape"];
export type ImportStep = Shapes["ImportStepShape"];
export type Exported = Shapes["ExportShape"];
export type Wall = Shapes["BoardShape"];
export type Hung = Shapes["PegShape"];

const DAY = 86_400;

export function useServers(): UseQueryResult<ServerList, Problem> {
  return useAnswer<ServerList>(["servers", "policy"], "/servers");
}

export function useToolsets(): UseQueryResult<Toolsets, Problem> {
  return useAnswer<Toolsets>(["toolsets", "servers", "policy"], "/toolsets");
}

/** How the calls of the last day went, by server. */
export function useShares(): UseQueryResult<Shares, Problem> {
  return useAnswer<Shares>(["activity"], "/activity/servers", { window: DAY, limit: 1000 });
}

/** The whole wall, asked for as the wall itself does. */
export function useWall(): UseQueryResult<Wall, Problem> {
  return useWhole<Wall>(["board", "servers", "toolsets", "approvals", "policy"], "/board", {}, (before, next) => ({
    ...next,
    policyVersion: before.policyVersion,
    pegs: [...before.pegs, ...next.pegs],
  }));
}
