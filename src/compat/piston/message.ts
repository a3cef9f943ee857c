import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { parseJson } from "../../http/body/json-body.ts";
import { checkShape } from "../../http/body/json-shape.ts";

/** Codes with which Piston closes a connection, with their texts. */
export const CLOSED = {
  initialized: [4000, "Already Initialized"],
  initTimeout: [4001, "Initialization Timeout"],
  notified: [4002, "Notified Error"],
  notInitialized: [4003, "Not yet initialized"],
  stdinOnly: [4004, "Can only write to stdin"],
  invalidSignal: [4005, "Invalid signal"],
  done: [4999, "Job Completed"],
} as const;

const message = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("init") }),
  z.object({ type: z.literal("data"), stream: z.string(), data: z.string() }),
  z.object({ type: z.literal("signal"), signal: z.string() }),
]);

/** Reads a message. Like the body of a request, hostile JSON is refused before it is parsed. @throws ClientError. */
export function readMessage(bytes: Buffer): z.infer<typeof message> {
  const given = message.safeParse(parseJson(bytes, checkShape(bytes))).data;
  if (!given) throw clientError("foreignRequest", ["a message must be JSON of the type init, data or signal"]);
  return given;
}
