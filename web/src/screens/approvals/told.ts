/** What the routes about approvals and tickets answer. */
import type { Answer } from "@/api/types";

export type Approvals = Answer<"/approvals">;
export type Waiting = Approvals["waiting"][number];
export type WaitingServer = Approvals["servers"][number];
export type Reviewed = Answer<"/approvals/show">;
export type Finding = Reviewed["notes"][number];
export type Tickets = Answer<"/tickets">;
export type Ticket = Tickets["tickets"][number];
export type OneTicket = Answer<"/tickets/{id}">;
