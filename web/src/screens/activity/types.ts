/** Response types of the activity routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type ActivityPage = Schemas["ActivityResponse"];
export type ActivityRecord = Schemas["ActivityRecord"];
export type NewerPage = Schemas["ActivityAfterResponse"];
export type ActivityRecordDetails = Schemas["ActivityRecordDetail"];
export type ActivitySummary = Schemas["ActivitySummaryResponse"];
export type ToolCalls = Schemas["ActivitySharesResponse"];
