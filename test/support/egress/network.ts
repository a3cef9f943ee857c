import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { parseCidrList } from "../../../src/domain/egress/cidr.ts";
import { type EgressPolicy, parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { ByteBudget, type ByteLender } from "../../../src/egress/budget.ts";
import { DIAL_TIMES, dial } from "../../../src/egress/dial.ts";
import { EgressLog } from "../../../src/egress/log.ts";
import { EgressProxy, type ProxyOptions } from "../../../src/egress/proxy.ts";
import type { SandboxEgress } from "../../../src/egress/sandbox-egress.ts";
import { dnsMessage, dnsQuery, TYPES } from "./dns.ts";
import { FakeRelay } from "./relay.ts";

export const TOKEN = "0123456789abcdefghijklmnopqrstuv";

/** A server on the loopback address, which stands for the internet in these tests. */
export async function localServer(
  t: TestContext,
  connected: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly server: Server; readonly sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    connected(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

export interface Network {
  readonly path: string;
  readonly proxy: EgressProxy;
  readonly relay: FakeRelay;
  readonly sandbox: SandboxEgress;
  readonly log: EgressLog;
  /** The names that were resolved to connect to them. */
  readonly resolved: string[];
  /** The IPv4 address that stands for a name, by a query. @throws if it has none. */
  addressOf(name: string): Promise<string>;
}

export interface NetworkOptions extends Partial<ProxyOptions> {
  readonly lender?: ByteLender;
  /** Addresses of names outside of the sandbox; by default that of this machine. */
  readonly addresses?: (name: string) => readonly string[];
  /** Ports on this machine, for ports that a test cannot listen on. */
  readonly ports?: Readonly<Record<number, number>>;
}

/** A proxy with one sandbox and its relay. The operator has named the loopback address as a network that sandboxes may reach. */
export async function network(t: TestContext, policy: unknown, options: NetworkOptions = {}): Promise<Network> {
  const directory = mkdtempSync(join(tmpdir(), "assay-egress-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const { lender = null, addresses = () => ["127.0.0.1"], ports = {}, ...times } = options;
  const privateNetworks = parseCidrList("127.0.0.0/8");
  if (typeof privateNetworks === "string") throw new Error(privateNetworks);
  const resolved: string[] = [];
  const resolve = async (name: string) => {
    resolved.push(name);
    return addresses(name);
  };
  const path = join(directory, "proxy");
  const proxy = await EgressProxy.listen(path, {
    dial: (host, port, signal) => dial(host, ports[port] ?? port, { resolve, privateNetworks, ...DIAL_TIMES }, signal),
    failed: (error) => {
      throw error;
    },
    ...times,
  });
  t.after(() => proxy.close());
  const parsed = parseNetworkPolicy(policy) as EgressPolicy;
  const log = new EgressLog();
  const sandbox = proxy.register({
    token: TOKEN,
    policy: { version: 1, network: parsed },
    budgets: { up: new ByteBudget(parsed.bytesUp, { lender }), down: new ByteBudget(parsed.bytesDown, { lender }) },
    log,
    executionOf: (cgroupId) => (cgroupId < 1_000n ? Number(cgroupId) : null),
  });
  const relay = await FakeRelay.connect(path, TOKEN);
  t.after(() => relay.close());
  const addressOf = async (name: string) => {
    const { answers } = dnsMessage(await relay.query(dnsQuery(name, TYPES.A)));
    const [answer] = answers;
    if (!answer) throw new Error(`${name} has no address`);
    return answer.data.join(".");
  };
  return { path, proxy, relay, sandbox, log, resolved, addressOf };
}

/** Waits until a condition holds. The test's own time limit ends a wait for something that never happens. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}
