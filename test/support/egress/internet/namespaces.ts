import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

/*
 * Two network namespaces with a cable between them, and nothing else: one in which each address that exists is a host of the fake internet, and one for what
 * is tested, whose only route leads there. Neither has a way to the network of this machine.
 */

/** The ends of the cable. They are public addresses, so that nothing can be allowed or refused by mistake because of them. */
export const INTERNET = { v4: "44.0.0.1", v6: "2a0c:44::1" } as const;
export const TESTED = { v4: "44.0.0.2", v6: "2a0c:44::2" } as const;
/** The name server of the fake internet, which /etc/resolv.conf names. */
export const NAME_SERVER = "9.9.9.9";

export interface Namespaces {
  /** Prefixes that run a command in one of the namespaces. */
  readonly internet: readonly string[];
  readonly tested: readonly string[];
  /** What the kernel counted of packets that came from the tested namespace, by the names of /proc/net/snmp and /proc/net/snmp6. */
  readonly counters: () => ReadonlyMap<string, number>;
}

/** Makes both namespaces, which end with the test. @param directory for the file that becomes /etc/resolv.conf. */
export async function makeNamespaces(t: Pick<TestContext, "after">, directory: string): Promise<Namespaces> {
  const [internet, tested] = [await holder(t, "--net"), await holder(t, "--net", "--mount")];
  const inside = (pid: number | undefined, ...kinds: string[]) => [
    "nsenter",
    ...kinds.map((kind) => `--${kind === "mnt" ? "mount" : kind}=/proc/${pid}/ns/${kind}`),
  ];
  const [there, here] = [inside(internet.pid, "net"), inside(tested.pid, "net", "mnt")];
  const run = (...command: string[]) => execFileSync(command[0] ?? "", command.slice(1), { stdio: "pipe" });
  // Both ends are made in their namespaces: an interface that this machine has for a moment aborts requests of a browser.
  run(
    ...there,
    ...["ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", String(tested.pid)],
  );
  for (const [within, own] of [
    [there, INTERNET],
    [here, TESTED],
  ] as const) {
    run(...within, "ip", "address", "add", `${own.v4}/30`, "dev", "cable");
    run(...within, "ip", "address", "add", `${own.v6}/126`, "dev", "cable", "nodad");
    for (const link of ["lo", "cable"]) run(...within, "ip", "link", "set", link, "up");
  }
  run(...here, "ip", "route", "add", "default", "via", INTERNET.v4);
  run(...here, "ip", "-6", "route", "add", "default", "via", INTERNET.v6);
  // All addresses are local. The table must not be the first one, in which this route would also be that to the tested namespace.
  run(...there, "ip", "route", "add", "local", "default", "dev", "lo", "table", "main");
  run(...there, "ip", "-6", "route", "add", "local", "default", "dev", "lo", "table", "main");
  run(...there, "ip", "address", "add", `${NAME_SERVER}/32`, "dev", "lo");
  const resolv = join(directory, "resolv.conf");
  writeFileSync(resolv, `nameserver ${NAME_SERVER}\n`);
  run(...here, "mount", "--bind", resolv, "/etc/resolv.conf");
  const counters = () => {
    const text = run(...there, "cat", "/proc/net/snmp", "/proc/net/snmp6").toString();
    return new Map(parseCounters(text));
  };
  return { internet: there, tested: here, counters };
}

/** A process that holds new namespaces. */
async function holder(t: Pick<TestContext, "after">, ...kinds: string[]): Promise<ChildProcess> {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "unshare", ...kinds, "sleep", "infinity"], {
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const own = readlinkSync("/proc/self/ns/net");
  while (readlinkSync(`/proc/${child.pid}/ns/net`) === own) await sleep(5);
  return child;
}

/** `Tcp: A B` and `Tcp: 1 2`, or `Ip6A 1`, become TcpA and so on. */
function* parseCounters(text: string): Generator<[string, number]> {
  const lines = text.split("\n").map((line) => line.split(/[:\s]+/));
  for (const [at, [kind = "", ...values]] of lines.entries()) {
    const names = lines[at - 1];
    if (names?.[0] === kind && kind !== "")
      for (const [index, value] of values.entries()) yield [`${kind}${names[index + 1]}`, Number(value)];
    else if (/^(Ip6|Icmp6|Udp6)/.test(kind)) yield [kind, Number(values[0])];
  }
}
