/** Response types of the prompt routes. */
import type { components } from "@/api/schema";

type Schemas = components["schemas"];

export type Prompt = Schemas["PromptShape"];
export type PromptPart = Prompt["parts"][number];
export type ParsedAnswer = Schemas["ParsedAnswer"];
export type ParsedCall = Schemas["ParsedCall"];
