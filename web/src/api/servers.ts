/** Types and queries for servers and toolsets, and the tool cards that belong to them. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useApiQuery, useAllPages } from "./queries";
import type { Problem } from "./problem";
import type { components } from "./schema";
import type { Board } from "./types";

type Schemas = components["schemas"];

export type Server = Schemas["ServerShape"];
export type ServerList = Schemas["ServersShape"];
export type ServerAdded = Schemas["AddedShape"];
export type Trust = Schemas["Trust"];
export type ListingProblem = Schemas["FlawShape"];
export type ServerCalls = Schemas["ShareShape"];
export type ServerCallsList = Schemas["SharesShape"];
export type Log = Schemas["Log"];
export type LogLevel = Schemas["LogLevel"];
export type SignIn = Schemas["SignInShape"];
export type SignInLink = Schemas["SignInLinkShape"];
export type ServerReview = Schemas["ReviewedServer"];
export type ParsedServer = Schemas["ReadServer"];
export type ParsedServers = Schemas["ReadServers"];
export type ParseProblem = Schemas["ReadProblem"];
export type ClientLists = Schemas["ClientLists"];
export type ServerTrial = Schemas["Tried"];
export type ServerTrialTool = Schemas["TriedTool"];
export type Toolset = Schemas["ToolsetShape"];
export type Toolsets = Schemas["ToolsetsShape"];
export type ToolsetImport = Schemas["ImportShape"];
export type ToolsetExport = Schemas["ExportShape"];

const DAY_S = 86_400;

export function useServers(): UseQueryResult<ServerList, Problem> {
  return useApiQuery<ServerList>(["servers", "policy"], "/servers");
}

export function useToolsets(): UseQueryResult<Toolsets, Problem> {
  return useApiQuery<Toolsets>(["toolsets", "servers", "policy"], "/toolsets");
}

/** Call statistics of the last day, by server. */
export function useServerCalls(): UseQueryResult<ServerCallsList, Problem> {
  return useApiQuery<ServerCallsList>(["activity"], "/activity/servers", { window: DAY_S, limit: 1000 });
}

/** The whole board, with the same query as the board screen. */
export function useBoard(): UseQueryResult<Board, Problem> {
  return useAllPages<Board>(["board", "servers", "toolsets", "approvals", "policy"], "/board", {}, (previous, next) => ({
    ...next,
    policyVersion: previous.policyVersion,
    pegs: [...previous.pegs, ...next.pegs],
  }));
}
