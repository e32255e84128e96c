/** Response types of the search routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type SearchResponse = Schemas["SearchPlaygroundResponse"];
export type Hit = Schemas["SearchHitInfo"];
export type SavedQueries = Schemas["SavedQueriesResponse"];
export type SavedQuery = Schemas["SavedQueryInfo"];
export type Evaluation = Schemas["EvaluationResponse"];
export type JudgedQuery = Schemas["QueryResultInfo"];
