import { Command, Option } from "commander";
import { findAccount } from "../admin/accounts.ts";
import {
  clearNetwork,
  type HostsWanted,
  listHosts,
  listNetworks,
  type NetworkView,
  setNetwork,
  showNetwork,
  type WhoseNetwork,
} from "../admin/network.ts";
import type { NetworkBoundJson } from "../domain/egress/bound.ts";
import { answer, table } from "./answer.ts";
import { boundOf, withBound } from "./network-options.ts";
import { wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

type Whose = StoreCommandOptions & WhoseNetwork;

/** `assay network`: what sandboxes may reach over the network. */
export function networkCommand(): Command {
  const network = new Command("network").description(
    "Set what sandboxes of accounts and projects may reach over the network, and read what they reached.",
  );

  commandOnStore(network, "list", "List the accounts and projects with a network bound.")
    .option("--account <account>", "only this account, by name or id")
    .action((options: StoreCommandOptions & { readonly account?: string }) =>
      withStore(options, async (store) => {
        const ids = options.account === undefined ? null : [(await findAccount(store, options.account)).id];
        const all = await listNetworks(store, ids);
        const rows = all.map(({ account, project, bound }) => [
          account,
          project ?? "-",
          String(bound.version),
          ...cells(bound),
        ]);
        answer(options.json, all, () =>
          table(["ACCOUNT", "PROJECT", "VERSION", "UP", "DOWN", "UP A DAY", "DOWN A DAY", "ALLOWED"], rows),
        );
      }),
    );

  whose(
    commandOnStore(
      network,
      "show",
      "Show the network bound of an account or project. Also shows what its sandboxes may reach at most, and what is left of the day.",
    ),
  ).action((options: Whose) =>
    withStore(options, async (store) => {
      const view = await showNetwork(store, options);
      answer(options.json, view, () => shown(view));
    }),
  );

  whose(
    withBound(
      commandOnStore(
        network,
        "set",
        "Set what sandboxes of an account or project may reach at most. A request can only narrow it. An account without a bound has no network; a project without one has that of its account. " +
          "Living sandboxes that are beyond the new bound are narrowed: their workers end the connections when they next renew their leases.",
      ),
    ),
  ).action((options: Whose) => {
    const bound = boundOf(options as Readonly<Record<string, unknown>>);
    return withStore(options, async (store) => {
      const { narrowed } = await setNetwork(store, options, bound, ACTOR);
      answer(options.json, { narrowed }, () => changed("set", narrowed));
    });
  });

  whose(
    commandOnStore(
      network,
      "clear",
      "Remove the network bound of an account or project. Sandboxes of the account, also those that live, then have no network; those of the project have that of its account.",
    ),
  ).action((options: Whose) =>
    withStore(options, async (store) => {
      const { narrowed } = await clearNetwork(store, options, ACTOR);
      answer(options.json, { narrowed }, () => changed("removed", narrowed));
    }),
  );

  whose(
    commandOnStore(
      network,
      "hosts",
      "List what sandboxes of an account or project have reached, or tried to, by day and name. The newest day is first; by default, the last seven days.",
    ),
  )
    .addOption(new Option("--decision <decision>", "only what was allowed, or denied").choices(["allowed", "denied"]))
    .option("--from <day>", "first day, such as 2026-11-30 (UTC)")
    .option("--to <day>", "last day")
    .option("--limit <number>", "number of rows, up to 1000", wholeNumber, 100)
    .option("--after <place>", "continue after this place, which the note of the last page names")
    .action((options: Whose & Omit<HostsWanted, "max"> & { readonly limit: number }) =>
      withStore(options, async (store) => {
        const { hosts, next } = await listHosts(store, { ...options, max: options.limit }, Date.now());
        if (next !== null) process.stderr.write(`note: there may be more: --after ${JSON.stringify(next)}\n`);
        const rows = hosts.map((host) => [
          ...[host.day, host.decision, host.name ?? "(others)"],
          ...[host.connections, host.bytes_up, host.bytes_down].map(String),
        ]);
        answer(options.json, hosts, () => table(["DAY", "DECISION", "NAME", "CONNECTIONS", "UP", "DOWN"], rows));
      }),
    );

  return network;
}

function whose(command: Command): Command {
  return command
    .option("--account <account>", "the account, by name or id")
    .option("--project <project>", "the project, by name or id; with --account, a project of it");
}

function changed(what: string, narrowed: number): string {
  return narrowed === 0 ? what : `${what}; ${narrowed} living sandboxes were narrowed`;
}

function cells({ policy, bytes_up_per_day: up, bytes_down_per_day: down }: NetworkBoundJson): string[] {
  const ofDay = [up, down].map((bytes) => (bytes === null ? "-" : String(bytes)));
  if (policy === "none") return ["-", "-", ...ofDay, "none"];
  return [String(policy.bytes_up), String(policy.bytes_down), ...ofDay, `${policy.allow.length} rules`];
}

function shown({ account, project, bound, effective, today }: NetworkView): string {
  const rules =
    effective === "none"
      ? [["none", ""]]
      : effective.allow.map(({ host, cidr, ports }) => [host ?? cidr ?? "", ports.join(",")]);
  const left = (bytes: number | null) => (bytes === null ? "without bound" : `${bytes} bytes`);
  const whoseBound = bound === null ? "none of its own" : `version ${bound.version} of ${bound.changed_at}`;
  const facts = [
    ["account", account],
    ...(project === null ? [] : [["project", project]]),
    ["bound", whoseBound],
    ...(effective === "none"
      ? []
      : [
          ["of each sandbox", `${effective.bytes_up} bytes up, ${effective.bytes_down} bytes down`],
          ["connections", `${effective.connections}, ${effective.connections_per_minute} in a minute`],
        ]),
    [`left of ${today.date}`, `${left(today.bytes_up_left)} up, ${left(today.bytes_down_left)} down`],
  ];
  return `${table(["WHAT", "VALUE"], facts)}\n\n${table(["ALLOWED", "PORTS"], rules)}`;
}
