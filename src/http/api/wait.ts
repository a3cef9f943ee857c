import { clientError, echo } from "../../domain/error.ts";

/** The query parameter `wait`. @throws ClientError badWait. */
export function readWait(query: unknown): boolean {
  const { wait } = query as Record<string, unknown>;
  if (wait === undefined || wait === "false") return false;
  if (wait === "true") return true;
  throw clientError("badWait", [echo(String(wait))]);
}
