import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { clientError } from "../../domain/error.ts";

const MAX_REASON = 200;

/** The validated body. @throws ClientError invalidRequest, which names the field. */
export function bodyOf<Schema extends z.ZodType>(request: FastifyRequest, schema: Schema): z.output<Schema> {
  return parse(schema, request.body, "the body");
}

/** The validated query. @throws ClientError invalidRequest, which names the parameter. */
export function queryOf<Schema extends z.ZodType>(request: FastifyRequest, schema: Schema): z.output<Schema> {
  return parse(schema, request.query, "the query");
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, whole: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  // With a strict schema, the path contains no client input, but the message can contain the name of an unknown field.
  const reason = (issue?.message ?? "not valid").slice(0, MAX_REASON);
  throw clientError("invalidRequest", [issue?.path.join(".") || whole, reason]);
}
