import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { jsonPieces } from "../../domain/json-pieces.ts";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import { SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import type { Store } from "../../store/store.ts";
import {
  checking,
  endedExecution,
  type Followed,
  recordBytes,
  runningExecution,
  sendTexts,
} from "../api/sandboxes/execution-events.ts";
import { OutputDecoder, type OutputText } from "../api/sandboxes/output-text.ts";
import { sendChanges } from "../responses/sse-state.ts";
import { type DashboardRoute, type DashboardServices, dashboardRoute } from "./route.ts";
import { executionDetailOf, readExecution, readOwn, watchOf } from "./sandboxes.ts";
import { maySee } from "./session.ts";

/** How often a sandbox is read for a stream: what it uses changes all the time. */
const READ_MS = 2_000;
/** The most bytes of output in an event. As JSON, they can be six times as long. */
const SLICE = 8_192;

/** /dashboard/api/sandboxes/:id/live and …/executions/:number/live: stream a sandbox, and the output of an execution. */
export const sandboxLiveRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/live",
    session: "member",
    handler: (services) => {
      const { dependencies, answers, streams, stopping } = services;
      const { store } = dependencies;
      return async ({ request, reply, person }) => {
        const { sandbox, account } = await readOwn(store, request);
        streams.open(person.id, reply);
        let sent = "";
        return sendChanges(answers, request, reply, stopping, {
          heartbeat: "event: alive\ndata: {}\n\n",
          subscribe: (listener) => {
            const timer = setInterval(listener, READ_MS);
            return () => clearInterval(timer);
          },
          isAllowed: () => mayStillSee(store, request, account.id),
          read: async () => {
            const found = await store.sandboxSearch.get(sandbox.id, [account.id]);
            if (!found) return undefined;
            const value = await watchOf(services).read(found);
            const text = JSON.stringify(value);
            if (text === sent) return { isLast: false, value: null };
            sent = text;
            return { isLast: value.row.state === "ended", value };
          },
        });
      };
    },
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/executions/{number}/live",
    session: "member",
    handler:
      (services) =>
      async ({ request, reply, person, owner }) => {
        const { dependencies, answers, streams } = services;
        const { store } = dependencies;
        const stored = await readExecution(services, request, reply);
        const followed = await followedOf(services, stored);
        streams.open(person.id, reply);
        const isAllowed = () => mayStillSee(store, request, stored.accountId);
        return sendTexts(services, request, reply, async function* (over) {
          const decoders = { stdout: new OutputDecoder(), stderr: new OutputDecoder() };
          const from = { stdout: 0, stderr: 0 };
          for await (const event of checking(followed.follow(from, over), isAllowed, over)) {
            if (event === null) yield ": alive\n\n";
            else if (event.type === "output") {
              const { stream, at, bytes } = event;
              for (let offset = 0; offset < bytes.length; offset += SLICE) {
                yield* eventsOf(stream, decoders[stream].texts(at + offset, bytes.subarray(offset, offset + SLICE)));
              }
            } else {
              for (const stream of ["stdout", "stderr"] as const) yield* eventsOf(stream, decoders[stream].end());
              await answers.admitFor(owner, request, reply)(recordBytes(event.execution));
              yield "event: ended\ndata: ";
              yield* jsonPieces(await executionDetailOf(store, event.execution));
              yield "\n\n";
              return;
            }
          }
        });
      },
  }),
];

function* eventsOf(stream: "stdout" | "stderr", texts: Iterable<OutputText>): Generator<string> {
  for (const { at, text } of texts) yield `event: ${stream}\ndata: ${JSON.stringify({ at, text })}\n\n`;
}

/** An execution of the store, for readers. @throws ClientError sandboxElsewhere if it runs in a process without a link. */
export async function followedOf(services: DashboardServices, stored: Execution): Promise<Followed> {
  if (stored.status !== "running") return endedExecution(stored);
  return (await runningOf(services, stored)) ?? (await endedMeanwhile(services, stored));
}

/** The execution, if it runs in a process that can be asked. Watching is not a use of the sandbox: a page that is left open does not keep it alive. */
async function runningOf(
  { dependencies: { sandboxes } }: DashboardServices,
  { sandboxId, accountId, number }: Execution,
): Promise<Followed | null> {
  try {
    const running = await (await sandboxes.find(sandboxId, accountId)).execution(number);
    return running && runningExecution(running);
  } catch (error) {
    if (error instanceof SandboxRefused) return null;
    throw error;
  }
}

/** An execution that ended after it was read. @throws ClientError sandboxElsewhere if another process has it. */
async function endedMeanwhile({ dependencies: { store } }: DashboardServices, execution: Execution): Promise<Followed> {
  const { sandboxId, accountId, number } = execution;
  const found = await store.sandboxes.execution(sandboxId, accountId, number);
  if (!found || found.status === "running") throw clientError("sandboxElsewhere", []);
  return endedExecution(found);
}

/** A session can end, and a person can lose an account, while a stream is open. */
export async function mayStillSee(store: Store, request: FastifyRequest, accountId: string): Promise<boolean> {
  const person = await store.sessions.find(request.sessionHash ?? "");
  return person !== undefined && maySee(person, accountId);
}
