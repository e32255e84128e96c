/** What the routes about activity answer. */
import type { components } from "@/api/schema";

type Shapes = components["schemas"];

export type ActivityPage = Shapes["ActivityPage"];
export type ActivityRecord = Shapes["ActivityRecord"];
export type Onward = Shapes["Onward"];
export type RecordInFull = Shapes["RecordInFull"];
export type Summary = Shapes["SummaryShape"];
export type Shares = Shapes["SharesShape"];
