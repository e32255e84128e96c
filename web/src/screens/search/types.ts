/** Response types of the search routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type SearchResponse = Schemas["Playground"];
export type Hit = Schemas["HitShape"];
export type SavedQueries = Schemas["SavedQueries"];
export type SavedQuery = Schemas["SavedQueryShape"];
export type Evaluation = Schemas["Evaluation"];
export type JudgedQuery = Schemas["JudgedQuery"];
