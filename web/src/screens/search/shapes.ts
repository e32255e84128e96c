/** What the routes about searching answer. */
import type { components } from "@/api/schema";

type Shapes = components["schemas"];

export type Playground = Shapes["Playground"];
export type Hit = Shapes["HitShape"];
export type SavedQueries = Shapes["SavedQueries"];
export type SavedQuery = Shapes["SavedQueryShape"];
export type Evaluation = Shapes["Evaluation"];
export type Judged = Shapes["JudgedQuery"];
