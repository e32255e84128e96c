/** Response types of the approval and ticket routes. */
import type { ResponseOf } from "@/api/types";

export type Approvals = ResponseOf<"/approvals">;
export type WaitingTool = Approvals["waiting"][number];
export type WaitingServer = Approvals["servers"][number];
export type ToolReviewResponse = ResponseOf<"/approvals/show">;
export type Finding = ToolReviewResponse["notes"][number];
export type Tickets = ResponseOf<"/tickets">;
export type Ticket = Tickets["tickets"][number];
export type TicketDetails = ResponseOf<"/tickets/{id}">;
