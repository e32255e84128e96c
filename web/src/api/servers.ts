/** Types and queries for servers and toolsets, and the tool cards that belong to them. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useApiQuery, useAllPages } from "./queries";
import type { Problem } from "./problem";
import type { components } from "./schema";
import type { Board } from "./types";

type Schemas = components["schemas"];

export type Server = Schemas["ServerInfo"];
export type ServerList = Schemas["ServersResponse"];
export type ServerAdded = Schemas["ServerAddedResponse"];
export type Trust = Schemas["Trust"];
export type ListingProblem = Schemas["ListingProblemInfo"];
export type ServerCalls = Schemas["ActivityShareInfo"];
export type ServerCallsList = Schemas["ActivitySharesResponse"];
export type Log = Schemas["ServerLogResponse"];
export type LogLevel = Schemas["LogLevelParam"];
export type SignIn = Schemas["SignInResponse"];
export type SignInLink = Schemas["SignInLinkResponse"];
export type ServerReview = Schemas["ServerReviewResponse"];
export type ParsedServer = Schemas["SourceServerInfo"];
export type ParsedServers = Schemas["ReadServersResponse"];
export type ParseProblem = Schemas["SourceProblemInfo"];
export type ClientLists = Schemas["ClientsResponse"];
export type ServerTrial = Schemas["ServerTrialResponse"];
export type ServerTrialTool = Schemas["TrialToolInfo"];
export type Toolset = Schemas["ToolsetInfo"];
export type Toolsets = Schemas["ToolsetsResponse"];
export type ToolsetImport = Schemas["ImportResponse"];
export type ToolsetExport = Schemas["ExportResponse"];

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
    tools: [...previous.tools, ...next.tools],
  }));
}
