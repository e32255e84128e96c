/** Response types of the approval and ticket routes. */
import type { ResponseOf } from "@/api/types";

export type Approvals = ResponseOf<"/approvals">;
export type WaitingTool = Approvals["pending"][number];
export type WaitingServer = Approvals["servers"][number];
export type ToolReviewResponse = ResponseOf<"/approvals/show">;
export type Finding = ToolReviewResponse["findings"][number];
export type Tickets = ResponseOf<"/tickets">;
export type Ticket = Tickets["tickets"][number];
export type TicketDetails = ResponseOf<"/tickets/{id}">;
