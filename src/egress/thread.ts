import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { StreamOutcome } from "../domain/egress/outcomes.ts";
import type { NetworkPolicy } from "../domain/egress/policy.ts";
import { dnsResolve, resolvePublic } from "../network/resolve.ts";
import { Attribution } from "./attribution.ts";
import { ByteBudget, type ByteLender } from "./budget.ts";
import { DIAL_TIMES, dial } from "./dial.ts";
import { EgressLog } from "./log.ts";
import type { CallName, Calls, Direction, FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { EgressProxy } from "./proxy.ts";
import type { SandboxEgress } from "./sandbox-egress.ts";

/*
 * The program of the thread in which the proxy of sandboxes runs (egress-thread.ts). Programs of sandboxes decide how much work it has; in a thread of its own,
 * that delays other connections of sandboxes, but no request to the service.
 */

/** How often the process hears of traffic. */
const TRAFFIC_MS = 1_000;

interface Served {
  readonly sandbox: SandboxEgress;
  readonly attribution: Attribution;
}

const port = parentPort as MessagePort;
const { path, privateNetworks, nameServers } = workerData as ThreadSettings;
const resolve = nameServers === null ? resolvePublic : dnsResolve(nameServers);

const served = new Map<string, Served>();
/** Requests to the lender that have no answer yet. */
const asked = new Map<number, PromiseWithResolvers<{ readonly bytes: number; readonly day: string } | null>>();
let lastAsked = 0;
let over: Partial<Record<StreamOutcome, number>> = {};
let bytes = { up: 0, down: 0 };
let lastOpen = 0;

function send(message: FromThread): void {
  port.postMessage(message);
}

const observer = {
  over: (how: StreamOutcome) => {
    over[how] = (over[how] ?? 0) + 1;
  },
  moved: (up: number, down: number) => {
    bytes.up += up;
    bytes.down += down;
  },
};

function reportTraffic(): void {
  const { open } = proxy;
  if (bytes.up + bytes.down === 0 && open === lastOpen && Object.keys(over).length === 0) return;
  lastOpen = open;
  send({ kind: "traffic", over, bytes, open });
  [over, bytes] = [{}, { up: 0, down: 0 }];
}

/** Handles all messages that have arrived, now. */
function drain(): void {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) take(next.message as ToThread);
}

/** Asks the process for bytes, or gives it some back. @throws if the lender failed. */
function ask(
  message: { [Kind in "lease" | "giveBack"]: Omit<Extract<FromThread, { kind: Kind }>, "id"> }["lease" | "giveBack"],
) {
  const id = ++lastAsked;
  const answer = Promise.withResolvers<{ readonly bytes: number; readonly day: string } | null>();
  asked.set(id, answer);
  send({ ...message, id } as FromThread);
  return answer.promise;
}

function lenderOf(token: string, direction: Direction): ByteLender {
  return {
    lease: async (wanted) => {
      const lease = await ask({ kind: "lease", token, direction, wanted });
      if (!lease) throw new Error("the answer to a request for a lease is none");
      const { bytes: lent, day } = lease;
      return {
        bytes: lent,
        giveBack: async (unused) => void (await ask({ kind: "giveBack", token, direction, day, unused })),
      };
    },
  };
}

function register(token: string, { policy, used, steps }: Calls["register"]["args"]): null {
  const attribution = new Attribution(drain);
  for (const state of steps) attribution.step(state);
  const limits = limitsOf(policy.network, used);
  const budget = (direction: Direction) =>
    new ByteBudget(limits[direction], { lender: lenderOf(token, direction), used: used[direction] });
  const sandbox = proxy.register({
    token,
    policy,
    budgets: { up: budget("up"), down: budget("down") },
    log: new EgressLog(Date.now, observer),
    executionOf: (cgroupId) => attribution.executionOf(cgroupId),
  });
  served.set(token, { sandbox, attribution });
  return null;
}

/** The limits of a policy that allows no network any more are what was used. */
function limitsOf(policy: NetworkPolicy, used: Calls["register"]["args"]["used"]) {
  return policy === "none" ? used : { up: policy.bytesUp, down: policy.bytesDown };
}

function servedOf(token: string): Served {
  const one = served.get(token);
  if (!one) throw new Error("no network with this token is registered");
  return one;
}

const handlers: {
  readonly [Name in CallName]: (
    token: string,
    args: Calls[Name]["args"],
  ) => Calls[Name]["result"] | Promise<Calls[Name]["result"]>;
} = {
  register,
  policy: (token, { policy }) => {
    servedOf(token).sandbox.replacePolicy(policy);
    return null;
  },
  record: (token, { execution }) => servedOf(token).sandbox.record(execution),
  take: async (token, { execution, waitMs }) => {
    const { sandbox, attribution } = servedOf(token);
    const record = await sandbox.take(execution, waitMs);
    attribution.forget(execution);
    return record;
  },
  totals: (token) => servedOf(token).sandbox.totals,
  hosts: (token) => servedOf(token).sandbox.takeHosts(),
  close: async (token) => {
    const { sandbox } = servedOf(token);
    served.delete(token);
    await sandbox.unregister();
    return null;
  },
};

async function answer<Name extends CallName>(id: number, name: Name, token: string, args: Calls[Name]["args"]) {
  try {
    send({ kind: "answer", id, result: await handlers[name](token, args) });
  } catch (error) {
    send({ kind: "failed", id, message: error instanceof Error ? error.message : String(error) });
  }
}

function take(message: ToThread): void {
  switch (message.kind) {
    case "call":
      void answer(message.id, message.name, message.token, message.args as never);
      return;
    case "step":
      served.get(message.token)?.attribution.step(message.state);
      return;
    case "stepOver":
      served.get(message.token)?.attribution.over(message.step);
      return;
    case "stop":
      void stop();
      return;
    default: {
      const waiting = asked.get(message.id);
      asked.delete(message.id);
      if (message.kind === "lenderFailed") waiting?.reject(new Error("the database cannot be reached"));
      else waiting?.resolve(message.kind === "lent" ? message.lease : null);
    }
  }
}

async function stop(): Promise<void> {
  clearInterval(traffic);
  await proxy.close();
  port.close();
}

const proxy = await EgressProxy.listen(path, {
  dial: (host, to, signal) => dial(host, to, { resolve, privateNetworks, ...DIAL_TIMES }, signal),
  failed: (error) => send({ kind: "trouble", message: error.message }),
});
const traffic = setInterval(reportTraffic, TRAFFIC_MS);
port.on("message", take);
send({ kind: "listening" });
