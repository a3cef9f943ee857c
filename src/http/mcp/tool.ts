import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Caller } from "../../domain/submission.ts";
import type { ReserveMemory } from "../../store/submissions/types.ts";
import type { Services } from "../route.ts";
import type { ToolResult } from "./results.ts";

/** One call of a tool. */
export interface ToolCall extends Pick<Services, "dependencies" | "answers"> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  /** The owner to whom the request is charged, see ownerOf(). */
  readonly owner: string;
  /** Awaited before a large output is read. */
  readonly admit: ReserveMemory;
  /** Aborts when the tool must wait no longer for the end of a run. The run continues. */
  readonly signal: AbortSignal;
  /** The tool calls it when the program is stored. It empties the tool's arguments. @param id the id of the run or judgement. */
  readonly onAccepted: (id: string) => void;
}

interface Declaration<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  /** Whether it changes nothing and starts no program. */
  readonly isReadOnly: boolean;
  /** Whether it can remove or replace what is there; no by default. */
  readonly isDestructive?: boolean;
  /** Whether it is only for callers that may have sandboxes. */
  readonly isOfSandboxes?: boolean;
  /** Runs the tool with valid arguments. @throws ClientError, whose text the model gets. */
  readonly handler: (given: z.output<Input>, call: ToolCall) => Promise<ToolResult<z.output<Output>>>;
}

/** A tool whose types of arguments and results are no longer known. */
export interface Tool extends Omit<Declaration<z.ZodObject, z.ZodObject>, "handler"> {
  readonly handler: (given: never, call: ToolCall) => Promise<ToolResult<object>>;
}

/** Declares a tool as route() declares a route: names, arguments, result and handler in one object. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Declaration<Input, Output>,
): Tool {
  return declaration;
}
