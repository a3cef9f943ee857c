import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import pino from "pino";
import { parseNetworkBound } from "../../../src/domain/egress/bound.ts";
import { NO_METER } from "../../../src/domain/meter.ts";
import { EGRESS_SOCKET, Egress, type EgressOptions } from "../../../src/egress/egress-thread.ts";
import type { Store } from "../../../src/store/store.ts";
import { fakeNameServer } from "../egress/name-server.ts";
import { loopback } from "../egress/thread.ts";

/** A directory for the socket of a proxy, as set-up makes it. */
export function egressDirectory(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), "assay-egress-"));
  chmodSync(directory, 0o711);
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A proxy that reaches only servers of the test, on the loopback address: they stand for the internet. It is stopped after the test. */
export async function egressOf(
  t: Pick<TestContext, "after">,
  directory: string,
  store: Pick<Store, "egress">,
  options: Partial<EgressOptions> = {},
): Promise<Egress> {
  const egress = await Egress.start({
    path: join(directory, EGRESS_SOCKET),
    privateNetworks: loopback(),
    nameServers: [await fakeNameServer(t)],
    ledger: store.egress,
    worker: "here",
    log: pino({ level: process.env.ASSAY_TEST_LOG ?? "silent" }),
    meter: NO_METER,
    ...options,
  });
  t.after(() => egress.stop());
  return egress;
}

/** Lets an operator open a network for an account. @param bound JSON; absent: every host of example.com and example.org, on these ports. */
export async function openNetwork(
  store: Pick<Store, "egress">,
  accountId: string,
  bound: { readonly ports: readonly number[] } | { readonly policy: unknown; readonly bytes_up_per_day?: number },
): Promise<void> {
  const hosts = ["*.example.com", "*.example.org"];
  const most = { bytes_up: 2 ** 40, bytes_down: 2 ** 40 };
  const json =
    "ports" in bound ? { policy: { allow: hosts.map((host) => ({ host, ports: bound.ports })), ...most } } : bound;
  const changed = await store.egress.setBound({ accountId, projectId: null }, parseNetworkBound(json), "test");
  if (changed.kind !== "changed") throw new Error(`the bound is ${changed.kind}`);
}
