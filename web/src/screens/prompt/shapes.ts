/** What the routes about prompts answer. */
import type { components } from "@/api/schema";

type Shapes = components["schemas"];

export type Prompt = Shapes["PromptShape"];
export type Part = Prompt["parts"][number];
export type ParsedAnswer = Shapes["ParsedAnswer"];
export type ParsedCall = Shapes["ParsedCall"];
