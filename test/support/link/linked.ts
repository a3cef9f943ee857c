import type { TestContext } from "node:test";
import pino from "pino";
import { Link, type LinkOptions } from "../../../src/link/link.ts";
import { LinkedSandboxes, type LinkedSandboxesOptions } from "../../../src/link/linked-sandboxes.ts";
import type { Store } from "../../../src/store/store.ts";
import { type Temporary, temporaryPostgres } from "../store/temporary.ts";

export const SILENT = pino({ level: "silent" });
/** How a service and a process with sandboxes find each other: the service dials, or it is dialled. */
export const DIRECTIONS = ["dialled", "reverse"] as const;
export type LinkDirection = (typeof DIRECTIONS)[number];

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** A database that several processes share, whose clock goes on. */
export async function sharedDatabase(t: TestContext): Promise<Temporary> {
  const temporary = await temporaryPostgres(t);
  const tick = () => {
    temporary.clock.nowMs = Date.now();
  };
  tick();
  const timer = setInterval(tick, 20);
  t.after(() => clearInterval(timer));
  return temporary;
}

type Changes = Partial<LinkOptions> & { readonly store: Store };

/** Starts a link, which is stopped after the test. */
export async function startLink(t: TestContext, changes: Changes & Pick<LinkOptions, "id">): Promise<Link> {
  const link = await Link.start({
    isService: false,
    capacity: null,
    snapshotStore: null,
    host: null,
    listen: null,
    address: null,
    leaseMs: 60_000,
    log: SILENT,
    ...changes,
  });
  t.after(() => link.stop());
  return link;
}

/** The link of a process that has sandboxes. It listens if services dial it. */
export function startWorkerLink(
  t: TestContext,
  direction: LinkDirection,
  changes: Changes & Pick<LinkOptions, "id" | "host">,
) {
  const listen = direction === "dialled" ? LOOPBACK : null;
  return startLink(t, {
    capacity: { sandboxes: 8, memoryBytes: 2 ** 33, cpus: 2, diskBytes: 0, network: false },
    snapshotStore: "memory",
    listen,
    ...changes,
  });
}

/** The link of a service, and the sandboxes of all processes. It listens if workers dial it. */
export async function startServiceLink(
  t: TestContext,
  direction: LinkDirection,
  { waitMs, local = null, ...changes }: Changes & Partial<Pick<LinkedSandboxesOptions, "waitMs" | "local">>,
) {
  const listen = direction === "reverse" ? LOOPBACK : null;
  const link = await startLink(t, { id: "service", isService: true, listen, ...changes });
  const sandboxes = new LinkedSandboxes({
    store: changes.store,
    link,
    local,
    snapshotStore: changes.snapshotStore ?? null,
    ...(waitMs !== undefined && { waitMs }),
  });
  t.after(() => sandboxes.stop());
  return { link, sandboxes };
}

/** Resolves when the condition holds, which is looked at after each change of the link. */
export async function untilLinked(link: Link, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const changed = Promise.withResolvers<void>();
    const unsubscribe = link.onChange(() => changed.resolve());
    if (!isDone()) await changed.promise;
    unsubscribe();
  }
}
