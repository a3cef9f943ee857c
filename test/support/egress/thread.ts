import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import pino from "pino";
import { type Cidr, parseCidrList } from "../../../src/domain/egress/cidr.ts";
import type { EgressHost } from "../../../src/domain/egress/egress-record.ts";
import { type NetworkPolicy, parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import type { Meter } from "../../../src/domain/meter.ts";
import {
  Egress,
  type EgressLedger,
  type EgressOptions,
  type NetworkRegistration,
} from "../../../src/egress/egress-thread.ts";
import type { UpDown } from "../../../src/egress/messages.ts";
import { dnsMessage, dnsQuery, TYPES } from "./dns.ts";
import { fakeNameServer } from "./name-server.ts";
import { FakeRelay } from "./relay.ts";

export const TOKEN = "0123456789abcdef0123456789abcdef";

/** A database of leases in memory. */
export class MemoryLedger implements EgressLedger {
  readonly leased = { up: 0, down: 0 };
  readonly hosts: EgressHost[] = [];
  /** What each direction has. */
  limits: UpDown = { up: 2 ** 40, down: 2 ** 40 };
  isBroken = false;
  calls = 0;

  async lease({ direction, wanted }: Parameters<EgressLedger["lease"]>[0]) {
    this.#check();
    const bytes = Math.max(0, Math.min(wanted, this.limits[direction] - this.leased[direction]));
    this.leased[direction] += bytes;
    return { bytes, day: "2030-01-02" };
  }

  async giveBack({ direction, unused }: Parameters<EgressLedger["giveBack"]>[0]) {
    this.#check();
    this.leased[direction] -= unused;
  }

  async addHosts({ hosts }: Parameters<EgressLedger["addHosts"]>[0]) {
    this.#check();
    this.hosts.push(...hosts);
  }

  #check(): void {
    this.calls++;
    if (this.isBroken) throw new Error("the password of the database is wrong");
  }
}

/** The loopback address, as a network that the operator allows. */
export function loopback(): readonly Cidr[] {
  const parsed = parseCidrList("127.0.0.0/8");
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

/** Counts what a meter is told, as `NAME label…`. */
export function countingMeter(): { readonly meter: Meter; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const meter: Meter = {
    count: (name, labels, by = 1) => {
      const key = [name, ...Object.values(labels)].join(" ");
      counts.set(key, (counts.get(key) ?? 0) + by);
    },
    time: () => {},
  };
  return { meter, counts };
}

/** The threads that this process starts from now on. */
export function watchThreads(t: Pick<TestContext, "after">): Worker[] {
  const threads: Worker[] = [];
  const watch = (thread: Worker) => void threads.push(thread);
  process.on("worker", watch);
  t.after(() => void process.off("worker", watch));
  return threads;
}

export async function startEgress(t: TestContext, options: Partial<EgressOptions> = {}) {
  const threads = watchThreads(t);
  const directory = mkdtempSync(join(tmpdir(), "assay-egress-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "egress.sock");
  const ledger = new MemoryLedger();
  const { meter, counts } = countingMeter();
  const egress = await Egress.start({
    path,
    privateNetworks: loopback(),
    nameServers: [await fakeNameServer(t)],
    ledger,
    worker: "here",
    log: pino({ level: process.env.ASSAY_TEST_LOG ?? "silent" }),
    meter,
    ...options,
  });
  t.after(() => egress.stop());
  /** Ends the thread of the proxy, as a failure would. */
  const killThread = async () => void (await threads.at(-1)?.terminate());
  return { egress, path, ledger, counts, killThread };
}

/** @param policy JSON. */
export function registration(policy: unknown, changes: Partial<NetworkRegistration> = {}): NetworkRegistration {
  const network: NetworkPolicy = parseNetworkPolicy(policy);
  return {
    token: TOKEN,
    sandboxId: "sandbox",
    accountId: "account",
    projectId: null,
    policy: { version: 1, network },
    used: { up: 0, down: 0 },
    ...changes,
  };
}

/** Connects as the relay does, again and again until there is a proxy that knows the sandbox. The test's own time limit ends it. */
export async function connectAgain(path: string, token = TOKEN): Promise<FakeRelay> {
  for (;;)
    try {
      return await FakeRelay.connect(path, token);
    } catch {
      await sleep(20);
    }
}

/** The IPv4 address that stands for a name. @throws if it has none. */
export async function addressOf(relay: FakeRelay, name: string, cgroupId = 0n): Promise<string> {
  const { answers } = dnsMessage(await relay.query(dnsQuery(name, TYPES.A), cgroupId));
  const [answer] = answers;
  if (!answer) throw new Error(`${name} has no address`);
  return answer.data.join(".");
}
