import { Command } from "commander";
import {
  findPerson,
  firstLink,
  invite,
  type LinkView,
  listPeople,
  type PersonView,
  reset,
  updatePerson,
} from "../admin/people.ts";
import { type Config, ConfigError } from "../config.ts";
import { answer, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

interface LinkOptions extends StoreCommandOptions {
  readonly origin?: string;
}

interface InviteOptions extends LinkOptions {
  readonly account?: string;
  readonly administrator?: boolean;
}

const WHICH = "e-mail or id";

/** `assay members`: the people who use the dashboard. The command restores access if nobody can sign in any more. */
export function membersCommand(): Command {
  const members = new Command("members").description(
    "List and invite people who use the dashboard, disable them, and restore their access.",
  );

  listing(members, "List people and their permissions, newest first.").action((options: ListOptions) =>
    withStore(options, async (store) => {
      const all = await listPeople(store, options);
      noteMore(all, options.limit);
      answer(options.json, all, () =>
        table(["ID", "E-MAIL", "NAME", "MAY SEE", "SIGNS IN WITH", "SEEN", "STATE"], all.map(row)),
      );
    }),
  );

  linking(members, "link", "Print a one-time link that creates the first administrator. It replaces the previous link.")
    .option("--if-empty", "print nothing if a person can already sign in")
    .action((options: LinkOptions & { ifEmpty?: boolean }) =>
      withStore(options, async (store, config) => {
        if (options.ifEmpty && (await store.people.any())) return;
        print(options, await firstLink(store, asked(options, config)));
      }),
    );

  linking(members, "invite", "Print a one-time link that creates a person. Pass either --account or --administrator.")
    .argument("<email>", "e-mail address of the person")
    .option("--account <account>", "account, by name or id, that the person can read and change")
    .option("--administrator", "the person can read and change everything")
    .action((email: string, options: InviteOptions) =>
      withStore(options, async (store, config) => {
        const { account, administrator = false } = options;
        print(options, await invite(store, { email, account, administrator }, asked(options, config)));
      }),
    );

  linking(
    members,
    "reset",
    "Print a one-time link for a new password. Using it ends all existing sessions of the person.",
  )
    .argument("<person>", WHICH)
    .action((which: string, options: LinkOptions) =>
      withStore(options, async (store, config) => print(options, await reset(store, which, asked(options, config)))),
    );

  for (const [name, disabled, about] of [
    ["disable", true, "Sign a person out and block sign-in."],
    ["enable", false, "Allow a person to sign in again."],
  ] as const) {
    commandOnStore(members, name, about)
      .argument("<person>", WHICH)
      .action((which: string, options: StoreCommandOptions) =>
        withStore(options, async (store) => {
          const { id } = await findPerson(store, which);
          const { email } = await updatePerson(store, id, { disabled }, ACTOR);
          answer(options.json, { id, email, disabled }, () => `${email} is ${name}d`);
        }),
      );
  }
  return members;
}

function linking(parent: Command, name: string, about: string): Command {
  return commandOnStore(parent, name, about).option(
    "--origin <url>",
    "public address of the service (default: https:// and the listen address)",
  );
}

function asked({ origin }: LinkOptions, config: Config): { origin: string; actor: string } {
  if (origin === undefined) return { origin: originOf(config), actor: ACTOR };
  if (!/^https?:/.test(origin) || !URL.canParse(origin))
    throw new ConfigError("--origin must be like https://judge.example.com");
  return { origin: new URL(origin).origin, actor: ACTOR };
}

/** The address of the dashboard by the settings of this command. Behind a proxy, the public address can be another. */
function originOf({ listen, transport }: Config): string {
  if ("path" in listen)
    throw new ConfigError("the service listens on a socket file: pass its public address with --origin");
  const { host, port } = listen;
  const named = ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `${transport.kind === "loopback" ? "http" : "https"}://${named}:${port}`;
}

function print({ json }: StoreCommandOptions, link: LinkView): void {
  answer(json, link, () => link.url);
}

function row({ id, email, name, administrator, accounts, signsInWith, seenAt, disabledAt }: PersonView): string[] {
  const sees = administrator ? "everything" : accounts.join(", ") || "nothing";
  return [
    id,
    email,
    name,
    sees,
    signsInWith.join(", "),
    seenAt ?? "never",
    disabledAt === null ? "enabled" : "disabled",
  ];
}
