import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readlinkSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

/** The benchmarking range of RFC 2544: packets for these addresses are never forwarded. */
const NETWORK = "198.18";
const NOBODYS = "02:00:00:00:00:01";

/** A network namespace with one route, to this machine, until it is cut. */
export interface OwnNetwork {
  /** This machine's address in that network. */
  readonly address: string;
  /** Prefix that runs a command in that network. */
  readonly within: readonly string[];
  /** From now on, packets are dropped in both directions, without a reset or an ICMP message. */
  readonly cut: () => void;
  readonly heal: () => void;
}

/** The network and its interfaces are removed after the test. */
export async function ownNetwork(t: TestContext): Promise<OwnNetwork> {
  const holder = spawn("setpriv", ["--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"], {
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => holder.once("exit", resolve));
  t.after(async () => {
    holder.kill("SIGKILL");
    await ended;
  });
  const inside = `/proc/${holder.pid}/ns/net`;
  const own = readlinkSync("/proc/self/ns/net");
  while (readlinkSync(inside) === own) await sleep(5);
  const number = randomInt(1, 255);
  const [here, there] = [`${NETWORK}.${number}.1`, `${NETWORK}.${number}.2`];
  const [outer, inner] = [`assay-out-${number}`, `assay-in-${number}`];
  const within = ["nsenter", `--net=${inside}`];
  const run = (...command: string[]) => execFileSync(command[0] ?? "", command.slice(1), { stdio: "pipe" });
  run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", String(holder.pid));
  run("ip", "address", "add", `${here}/24`, "dev", outer);
  run("ip", "link", "set", outer, "up");
  run(...within, "ip", "address", "add", `${there}/24`, "dev", inner);
  run(...within, "ip", "link", "set", inner, "up");
  return {
    address: here,
    within,
    // Each side sends to an unused MAC address: the link stays up, and neither kernel notices the loss.
    cut: () => {
      run("ip", "neighbour", "replace", there, "lladdr", NOBODYS, "dev", outer, "nud", "permanent");
      run(...within, "ip", "neighbour", "replace", here, "lladdr", NOBODYS, "dev", inner, "nud", "permanent");
    },
    heal: () => {
      run("ip", "neighbour", "del", there, "dev", outer);
      run(...within, "ip", "neighbour", "del", here, "dev", inner);
    },
  };
}
