import { Command, Option } from "commander";
import { ON_TIMEOUT, type OnTimeout } from "../domain/sandboxes/sandbox.ts";
import { escaped, toJson } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { answered, connection } from "./sandbox-connection.ts";
import { copy } from "./sandbox-copy.ts";
import { runIn, shellIn } from "./sandbox-execution.ts";

interface Made {
  readonly lifetime?: number;
  readonly idle?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly from?: string;
  readonly onTimeout?: string;
}

/** `assay sandbox`: sandboxes of a service, which can be on another machine. */
export function sandboxCommand(): Command {
  const sandbox = new Command("sandbox")
    .enablePositionalOptions()
    .description(
      "Use sandboxes of the service ASSAY_URL with the API key ASSAY_KEY, which needs the profile agent. If the service has its own certificate authority, ASSAY_CA is the file with it. These commands need no root.",
    );
  made(sandbox.command("create").description("Create a sandbox and print its id."))
    .option("--metadata <name=value>", "metadata, by which a list finds it; can be repeated", pair, {})
    .action(async (options: Made & { metadata: Readonly<Record<string, string>> }) => {
      const { id } = await answered(
        connection().client.createSandbox({ ...requestOf(options), metadata: options.metadata }),
      );
      process.stdout.write(`${id}\n`);
    });
  made(sandbox.command("run"))
    .description(
      "Execute a program, with this standard input if it is no terminal, and print its output. Without --sandbox, it has a new sandbox, which ends with it. The exit code is that of the program, or 128 and the number of the signal that ended it.",
    )
    .argument("<command...>", "program and arguments; a single argument with spaces is a command for bash")
    .option("--sandbox <id>", "an existing sandbox")
    .option("--cwd <directory>", "directory in the sandbox (default: /home/user)")
    .option("--env <name=value>", "environment variable; can be repeated", pair, {})
    .passThroughOptions()
    .action(async (words: string[], { sandbox: id, cwd, env, ...options }) => {
      const request = {
        ...(words.length === 1 && /\s/.test(words[0] ?? "") ? { shell: words[0] ?? "" } : { argv: words }),
        env,
      };
      await within(id, options, (known) => runIn(connection(), known, { ...request, ...(cwd && { cwd }) }));
    });
  made(sandbox.command("shell"))
    .description(
      "Open a shell in a terminal. Without an id, it has a new sandbox, which ends with the shell unless --keep is given. The exit code is that of the shell.",
    )
    .argument("[id]", "an existing sandbox")
    .option("--keep", "let the new sandbox live, and print its id")
    .action(async (id: string | undefined, { keep, ...options }: Made & { keep?: boolean }) => {
      await within(id, options, (known) => shellIn(connection(), known), keep);
    });
  sandbox
    .command("cp")
    .description(
      "Copy a file, or a directory with everything in it, to or from a sandbox. One of the two is ID:PATH, where a relative path begins at /home/user. " +
        "A directory of a sandbox is copied into one that does not exist or is empty, without links that lead elsewhere.",
    )
    .argument("<from>")
    .argument("<to>")
    .action((from: string, to: string) => copy(connection().client, from, to));
  sandbox
    .command("list")
    .description("List sandboxes, newest first: id, state, reason of the end, creation and metadata.")
    .option("--all", "also those that have ended")
    .option("--json", "print one line of JSON for each sandbox")
    .action(list);
  sandbox
    .command("snapshot")
    .description("Store the files of a sandbox, and print the id of the snapshot. Use it with --from.")
    .argument("<id>")
    .option("--name <name>", "a name for people")
    .action(async (id: string, { name }: { name?: string }) => {
      const { id: taken } = await answered(connection().client.takeSnapshot(id, name === undefined ? {} : { name }));
      process.stdout.write(`${taken}\n`);
    });
  const snapshots = sandbox.command("snapshots").description("List and delete snapshots of sandboxes.");
  snapshots
    .command("list")
    .description("List snapshots, newest first: id, bytes, files, creation, sandbox and name.")
    .option("--json", "print one line of JSON for each snapshot")
    .action(listSnapshots);
  snapshots
    .command("delete")
    .description("Delete snapshots. Sandboxes that began with them keep their files.")
    .argument("<id...>")
    .action(async (ids: string[]) => {
      for (const id of ids) await answered(connection().client.deleteSnapshot(id));
    });
  sandbox
    .command("end")
    .description("End sandboxes: kill their programs and remove their files.")
    .argument("<id...>")
    .action(async (ids: string[]) => {
      for (const id of ids) await answered(connection().client.endSandbox(id));
    });
  return sandbox;
}

function made(command: Command): Command {
  return command
    .option("--lifetime <seconds>", "longest life of a new sandbox", wholeNumber)
    .option("--idle <seconds>", "how long a new sandbox lives without use", wholeNumber)
    .option("--memory <MiB>", "memory of a new sandbox", wholeNumber)
    .option("--disk <GiB>", "give a new sandbox a disk of this size; without it, its files are in memory", wholeNumber)
    .option("--from <snapshot>", "snapshot whose files a new sandbox begins with")
    .addOption(
      new Option("--on-timeout <what>", "what happens when the time of a new sandbox is over").choices([...ON_TIMEOUT]),
    );
}

function requestOf({ lifetime, idle, memory, disk, from, onTimeout }: Made) {
  const limits = {
    ...(memory !== undefined && { memory_bytes: memory * 1_048_576 }),
    ...(disk !== undefined && { storage: "disk" as const, disk_bytes: disk * 1_073_741_824 }),
  };
  return {
    ...(lifetime !== undefined && { lifetime_secs: lifetime }),
    ...(idle !== undefined && { idle_secs: idle }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(from !== undefined && { from }),
    ...(onTimeout !== undefined && { on_timeout: onTimeout as OnTimeout }),
  };
}

/** Uses an existing sandbox, or a new one that ends afterwards. The result becomes the exit code of this process. */
async function within(
  id: string | undefined,
  options: Made,
  use: (id: string) => Promise<number>,
  keep = false,
): Promise<void> {
  if (id !== undefined) {
    process.exitCode = await use(id);
    return;
  }
  const { client } = connection();
  const { id: created } = await answered(client.createSandbox(requestOf(options)));
  if (keep) process.stderr.write(`sandbox ${created}\n`);
  try {
    process.exitCode = await use(created);
  } finally {
    if (!keep) await answered(client.endSandbox(created));
  }
}

function pair(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  return at < 1 ? { ...before, [text]: "" } : { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

async function list({ all, json }: { readonly all?: boolean; readonly json?: boolean }): Promise<void> {
  const { client } = connection();
  let before: string | null | undefined;
  do {
    const page = await answered(client.sandboxes(before ? { before, limit: 100 } : { limit: 100 }));
    for (const one of page.sandboxes) {
      if (one.state === "ended" && !all) continue;
      const { id, state, end_reason: reason, timestamps, metadata } = one;
      const words = Object.entries(metadata).map(([name, value]) => escaped(`${name}=${value}`));
      const line = [id, state, reason ?? "-", timestamps.created_at, ...words].join("  ");
      process.stdout.write(`${json ? toJson(one) : line}\n`);
    }
    before = page.next;
  } while (before !== null);
}

async function listSnapshots({ json }: { readonly json?: boolean }): Promise<void> {
  const { client } = connection();
  let before: string | null | undefined;
  do {
    const page = await answered(client.snapshots(before ? { before, limit: 100 } : { limit: 100 }));
    for (const one of page.snapshots) {
      const { id, bytes, files, created_at: createdAt, sandbox_id: sandboxId, name } = one;
      const line = [id, bytes, files, createdAt, sandboxId, ...(name === null ? [] : [escaped(name)])].join("  ");
      process.stdout.write(`${json ? toJson(one) : line}\n`);
    }
    before = page.next;
  } while (before !== null);
}
