/** Response types of the prompt routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type Prompt = Schemas["PromptResponse"];
export type PromptPart = Prompt["parts"][number];
export type ParsedAnswer = Schemas["ParseAnswerResponse"];
export type ParsedCall = Schemas["ParsedCallInfo"];
