import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cpuOf } from "../load/processes.ts";
import { quantile } from "../row.ts";
import type { Bench, SandboxRow } from "../sandboxes.ts";
import { unmeasured } from "../sandboxes.ts";
import { timed } from "../service.ts";

const MIB = 1_048_576;
/** The record of the execution has all of them, and the client of the benchmark reads no long records. */
const MOST_CONNECTIONS = 60;

/** A server that sandboxes may reach: one on an address of this machine, which the service's `ASSAY_EGRESS_PRIVATE` has to name. */
export interface NetworkTarget {
  readonly address: string;
  readonly port: number;
  /** The directory of the proxy's socket. */
  readonly directory: string;
  readonly stop: () => void;
}

/** @returns null if this machine has no address but those of its loopback interface, or its launcher gives sandboxes no network. */
export async function startNetworkTarget(directory: string | undefined): Promise<NetworkTarget | null> {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const address = all.find(({ internal, family }) => !internal && family === "IPv4")?.address;
  if (directory === undefined || address === undefined) return null;
  const child: ChildProcess = fork(fileURLToPath(new URL("./network-server.ts", import.meta.url)), [address]);
  const [port] = (await once(child, "message")) as [number];
  return { address, port, directory, stop: () => child.kill() };
}

/** The policy of the sandboxes that are measured, which is also the bound of their account. */
export function policyFor({ address, port }: NetworkTarget) {
  return { allow: [{ cidr: `${address}/32`, ports: [port] }], bytes_up: 64 * MIB, bytes_down: 64 * 1_024 * MIB };
}

/**
 * The client, which runs in a sandbox, and for the floor without one. Its arguments are an address, an allowed port, one that is refused, how many connections
 * it makes to each of them, and the bytes that it then downloads. It prints milliseconds as JSON, of the connections the median and the 99th percentile.
 */
const CLIENT = `
const { connect } = require("node:net");
const [address, port, refusedPort, times, bytes] = process.argv.slice(1).map((one, at) => (at === 0 ? one : Number(one)));
const firstByte = () => new Promise((resolve, reject) => {
  const begin = performance.now();
  const socket = connect({ host: address, port, noDelay: true }, () => socket.write("p"));
  socket.once("error", reject);
  socket.once("data", () => { socket.destroy(); resolve(performance.now() - begin); });
});
const refusal = () => new Promise((resolve) => {
  const begin = performance.now();
  const socket = connect({ host: address, port: refusedPort, noDelay: true });
  socket.once("error", () => {});
  socket.once("close", () => resolve(performance.now() - begin));
});
const download = () => new Promise((resolve, reject) => {
  const begin = performance.now();
  let left = bytes;
  const socket = connect({ host: address, port, onread: { buffer: Buffer.alloc(1048576), callback: (read) => {
    left -= read;
    return true;
  } } }, () => socket.write("d" + bytes + "\\n"));
  socket.once("error", reject);
  socket.once("close", () => (left === 0 ? resolve(performance.now() - begin) : reject(new Error(left + " bytes are missing"))));
});
(async () => {
  const spread = async (work) => {
    const all = [];
    for (let at = 0; at < times; at++) all.push(await work());
    all.sort((a, b) => a - b);
    return [0.5, 0.99].map((share) => all[Math.floor(share * (all.length - 1))]);
  };
  console.log(JSON.stringify({ firstByte: await spread(firstByte), refusal: await spread(refusal), download: await download() }));
})();
`;

interface Measured {
  readonly firstByte: readonly [p50: number, p99: number];
  readonly refusal: readonly [p50: number, p99: number];
  readonly download: number;
}

/** The rows of `network`: what the network of a sandbox costs at its creation, at the beginning of a connection, and for its bytes. */
export async function networks({ agent, times, network: target, servicePid }: Bench): Promise<SandboxRow[]> {
  if (!target) return [unmeasured("network", "no address of this machine can be reached from sandboxes")];
  const limits = { memory_bytes: 256 * MIB, disk_bytes: 16 * MIB };
  const bodies = [{ limits }, { limits, network: policyFor(target) }];
  const created: number[][] = [[], []];
  for (let at = 0; at < times(200, 5); at++)
    for (const [which, body] of bodies.entries()) {
      let made = "";
      const ms = await timed(async () => {
        made = await agent.create(body);
      });
      if (at > 0) created[which]?.push(ms);
      await agent.end(made);
    }
  const [without = 0, withNetwork = 0] = created.map((some) => quantile(some, 0.5));

  const bytes = times(2_048, 64) * MIB;
  const refusedPort = target.port === 9 ? 10 : 9;
  const args = [target.address, target.port, refusedPort, times(MOST_CONNECTIONS / 2, 10), bytes].map(String);
  const bare = await promisify(execFile)(process.execPath, ["-e", CLIENT, ...args]);
  const floor = JSON.parse(bare.stdout) as Measured;
  const sandbox = await agent.create(bodies[1]);
  const before = cpuOf([servicePid]).ownMs;
  const argv = ["node", "-e", CLIENT, ...args];
  const ours = JSON.parse(await agent.execute(sandbox, { argv })) as Measured;
  const cpuSeconds = (cpuOf([servicePid]).ownMs - before) / 1_000;

  const rate = (ms: number) => bytes / 1e6 / (ms / 1_000);
  const [median, p99] = ours.firstByte;
  const bareByte = { value: floor.firstByte[0], p99: floor.firstByte[1] };
  const [refused, refusedP99] = ours.refusal;
  const perCpuSecond = bytes / 1e6 / cpuSeconds;
  const none = { floor: null, note: null } as const;
  return [
    {
      ...none,
      name: "network_create",
      unit: "ms",
      value: withNetwork - without,
      p99: null,
      target: "at most 1 ms",
      reached: withNetwork - without <= 1,
      note: `more than without a network, at the median: ${withNetwork.toFixed(1)} and ${without.toFixed(1)} ms`,
    },
    {
      ...none,
      name: "network_first_byte",
      unit: "ms",
      value: median,
      p99,
      target: "at most 1 ms more",
      reached: median - bareByte.value <= 1,
      floor: { name: "the same client without a sandbox", ...bareByte },
      note: "a connection, a byte and its echo",
    },
    {
      ...none,
      name: "network_refusal",
      unit: "ms",
      value: refused,
      p99: refusedP99,
      target: "at most 1 ms",
      reached: refused <= 1,
      note: "until the connection is reset",
    },
    {
      ...none,
      name: "network_stream",
      unit: "MB/s",
      value: rate(ours.download),
      p99: null,
      target: "500 MB for each CPU second of the service",
      reached: perCpuSecond >= 500,
      floor: { name: "the same client without a sandbox", value: rate(floor.download), p99: null },
      note: `${bytes / MIB} MiB; ${Math.round(perCpuSecond)} MB for each CPU second of the service, connections included`,
    },
  ];
}
