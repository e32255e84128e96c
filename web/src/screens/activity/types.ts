/** Response types of the activity routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type ActivityPage = Schemas["ActivityPage"];
export type ActivityRecord = Schemas["ActivityRecord"];
export type NewerPage = Schemas["Onward"];
export type ActivityRecordDetails = Schemas["RecordInFull"];
export type ActivitySummary = Schemas["SummaryShape"];
export type ToolCalls = Schemas["SharesShape"];
