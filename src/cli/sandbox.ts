import { Command, Option } from "commander";
import type { Assay } from "../../client/typescript/src/assay.ts";
import type { ExecutionRequest, SandboxChange, Signal } from "../../client/typescript/src/types.ts";
import { OperatorError } from "../domain/operator-error.ts";
import { SIGNAL_NAMES } from "../domain/sandboxes/execution.ts";
import { SANDBOX_STATES } from "../domain/sandboxes/sandbox.ts";
import { answer } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { answered, connection } from "./sandbox-connection.ts";
import { copy } from "./sandbox-copy.ts";
import { follow, runIn, shellIn } from "./sandbox-execution.ts";
import {
  egressText,
  factsOf,
  listExecutions,
  listSandboxes,
  listSnapshots,
  type WhichSandboxes,
} from "./sandbox-lists.ts";
import {
  checkNoCreation,
  creationOf,
  type Given,
  networkOf,
  pair,
  withCreation,
  withNetwork,
} from "./sandbox-options.ts";

type Pairs = Readonly<Record<string, string>>;

/** A command that does the same to each of several sandboxes or snapshots, and prints nothing. */
interface Act {
  readonly name: string;
  readonly description: string;
  readonly act: (client: Assay, id: string) => Promise<unknown>;
}

const SANDBOX_ACTS: readonly Act[] = [
  {
    name: "pause",
    description:
      "Freeze all programs of sandboxes. Their clocks stand still; the lifetime of the sandbox goes on. It takes neither executions nor files until it is resumed.",
    act: (client, id) => client.pauseSandbox(id),
  },
  {
    name: "resume",
    description: "Continue all programs of paused sandboxes.",
    act: (client, id) => client.resumeSandbox(id),
  },
  {
    name: "end",
    description: "End sandboxes: kill their programs and remove their files.",
    act: (client, id) => client.endSandbox(id),
  },
];

const SNAPSHOT_ACTS: readonly Act[] = [
  {
    name: "delete",
    description: "Delete snapshots. Sandboxes that began with them keep their files.",
    act: (client, id) => client.deleteSnapshot(id),
  },
];

/** A command that prints a record of a sandbox. */
interface Report {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Option[];
  readonly read: (client: Assay, id: string, given: Given) => Promise<object>;
  /** The record for people; by default, a line for each of its fields. */
  readonly text?: (record: never) => string;
}

const REPORTS: readonly Report[] = [
  {
    name: "get",
    description: "Print the record of a sandbox, also after its end.",
    options: [],
    read: (client, id) => client.sandbox(id),
  },
  {
    name: "metrics",
    description: "Print the memory, CPU time, processes and files of a sandbox now. This is a use of the sandbox.",
    options: [new Option("--samples", "also what it used over its life")],
    read: (client, id, { samples }) => client.sandboxMetrics(id, { samples: samples === true }),
  },
  {
    name: "egress",
    description: "Print what a sandbox has reached over the network, or tried to, also after its end.",
    options: [],
    read: (client, id) => client.sandboxEgress(id),
    text: egressText,
  },
];

/** `assay sandbox`: sandboxes of a service, which can be on another machine. */
export function sandboxCommand(): Command {
  const sandbox = new Command("sandbox")
    .enablePositionalOptions()
    .description(
      "Use sandboxes of the service ASSAY_URL with the API key ASSAY_KEY, which needs the profile agent. If the service has its own certificate authority, ASSAY_CA is the file with it. These commands need no root.",
    );
  withCreation(sandbox.command("create").description("Create a sandbox and print its id."))
    .option("--env <name=value>", "environment variable of all executions; can be repeated", pair)
    .option("--metadata <name=value>", "metadata, by which a list finds it; can be repeated", pair)
    .action(async ({ env, metadata, ...options }: Given & { env?: Pairs; metadata?: Pairs }) => {
      const request = { ...creationOf(options), ...(env && { env }), ...(metadata && { metadata }) };
      const { id } = await answered(connection().client.createSandbox(request));
      process.stdout.write(`${id}\n`);
    });
  withProgram(withCreation(sandbox.command("run")))
    .description(
      "Execute a program, with this standard input if it is no terminal, and print its output. Without --sandbox, it has a new sandbox, which ends with it. The exit code is that of the program, or 128 and the number of the signal that ended it.",
    )
    .argument("<command...>", "program and arguments; a single argument with spaces is a command for bash")
    .option("--sandbox <id>", "an existing sandbox")
    .option("--background", "do not wait: print the number of the execution; processes that it leaves go on")
    .option("--wall-time <seconds>", "longest time", wholeNumber)
    .option("--cpu-time <seconds>", "longest CPU time", wholeNumber)
    .passThroughOptions()
    .action(run);
  withProgram(withCreation(sandbox.command("shell")))
    .description(
      "Open a shell in a terminal. Without an id, it has a new sandbox, which ends with the shell unless --keep is given. The exit code is that of the shell.",
    )
    .argument("[id]", "an existing sandbox")
    .option("--keep", "let the new sandbox live, and print its id")
    .action(async (id: string | undefined, { keep, cwd, env, ...options }: Given & Around & { keep?: boolean }) => {
      await within(id, options, (known) => shellIn(connection(), known, aroundOf({ cwd, env })), keep);
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
    .description("List sandboxes that live, newest first: id, state, reason of the end, creation and metadata.")
    .option("--all", "also those that have ended")
    .addOption(new Option("--state <state>", "only those in this state").choices([...SANDBOX_STATES]))
    .option("--metadata <name=value>", "only those with this metadata; can be repeated", pair)
    .option("--json", "print one line of JSON for each sandbox")
    .action((which: WhichSandboxes) => listSandboxes(which));
  for (const report of REPORTS) addReport(sandbox, report);
  sandbox
    .command("change")
    .description("Change the lifetime, the idle time or the metadata of a sandbox. What is not given stays.")
    .argument("<id>")
    .option("--lifetime <seconds>", "longest life, from the start of the sandbox", wholeNumber)
    .option("--idle <seconds>", "how long it lives without use", wholeNumber)
    .option("--metadata <name=value>", "metadata, which replaces all that it has; can be repeated", pair)
    .action(change);
  withNetwork(
    sandbox
      .command("network")
      .description(
        "Replace what the programs of a sandbox may reach, as a whole. Connections that the new policy does not allow are ended. A sandbox that was created without a network stays without.",
      )
      .argument("<id>"),
  )
    .addOption(new Option("--none", "nothing, until it is replaced again").conflicts(["allow", "network"]))
    .action(async (id: string, { none, ...options }: Given & { none?: boolean }) => {
      await answered(connection().client.replaceNetwork(id, none ? "none" : networkOf(options)));
    });
  sandbox
    .command("executions")
    .description("List executions of a sandbox, newest first: number, verdict, start, end, kind and program.")
    .argument("<id>")
    .option("--json", "print one line of JSON for each execution")
    .action((id: string, options: { readonly json?: boolean }) => listExecutions(id, options));
  sandbox
    .command("output")
    .description(
      "Print the output of an execution from its beginning, and follow it until the execution has ended. The exit code is that of the program.",
    )
    .argument("<id>")
    .argument("<number>", "number of the execution", wholeNumber)
    .action(async (id: string, execution: number) => {
      process.exitCode = await follow(connection(), id, execution);
    });
  sandbox
    .command("kill")
    .description("Kill all processes of executions. The sandbox and its other executions go on.")
    .argument("<id>")
    .argument("<number...>", "numbers of the executions", (text: string, before: readonly number[] = []) => [
      ...before,
      wholeNumber(text),
    ])
    .addOption(
      new Option("--signal <name>", "send this signal to the main programs instead").choices([...SIGNAL_NAMES]),
    )
    .action(async (id: string, numbers: readonly number[], { signal }: { readonly signal?: Signal }) => {
      const { client } = connection();
      for (const one of numbers)
        await answered<unknown>(signal ? client.signalExecution(id, one, signal) : client.killExecution(id, one));
    });
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
  for (const act of SNAPSHOT_ACTS) addAct(snapshots, act);
  for (const act of SANDBOX_ACTS) addAct(sandbox, act);
  return sandbox;
}

function addAct(parent: Command, { name, description, act }: Act): void {
  parent
    .command(name)
    .description(description)
    .argument("<id...>")
    .action(async (ids: readonly string[]) => {
      for (const id of ids) await answered(act(connection().client, id));
    });
}

function addReport(parent: Command, { name, description, options, read, text }: Report): void {
  const command = parent.command(name).description(description).argument("<id>");
  for (const option of options) command.addOption(option);
  command
    .option("--json", "print it as one line of JSON")
    .action(async (id: string, given: Given & { json?: boolean }) => {
      const record = await answered(read(connection().client, id, given));
      answer(given.json, record, () => text?.(record as never) ?? factsOf(record).join("\n"));
    });
}

/** What is around a program when it starts. */
interface Around {
  readonly cwd?: string;
  readonly env?: Pairs;
}

function withProgram(command: Command): Command {
  return command
    .option("--cwd <directory>", "directory in the sandbox (default: /home/user)")
    .option("--env <name=value>", "environment variable; can be repeated", pair);
}

function aroundOf({ cwd, env }: { readonly [Name in keyof Around]: Around[Name] | undefined }): Around {
  return { ...(cwd !== undefined && { cwd }), ...(env && { env }) };
}

interface Run extends Given, Around {
  readonly sandbox?: string;
  readonly background?: boolean;
  readonly wallTime?: number;
  readonly cpuTime?: number;
}

async function run(words: readonly string[], given: Run): Promise<void> {
  const { sandbox: id, background, wallTime, cpuTime, cwd, env, ...options } = given;
  const [first = ""] = words;
  const limits = {
    ...(wallTime !== undefined && { wall_time_secs: wallTime }),
    ...(cpuTime !== undefined && { cpu_time_secs: cpuTime }),
  };
  const request: ExecutionRequest = {
    ...(words.length === 1 && /\s/.test(first) ? { shell: first } : { argv: [...words] }),
    ...aroundOf({ cwd, env }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  if (!background) return await within(id, options, (known) => runIn(connection(), known, request));
  // A new sandbox would end with this command, and its program with it.
  if (id === undefined) throw new OperatorError("--background needs an existing sandbox (--sandbox)");
  checkNoCreation(options);
  const { number } = await answered(connection().client.startExecution(id, { ...request, background }));
  process.stdout.write(`${number}\n`);
}

async function change(
  id: string,
  { lifetime, idle, metadata }: { readonly lifetime?: number; readonly idle?: number; readonly metadata?: Pairs },
): Promise<void> {
  const wanted: SandboxChange = {
    ...(lifetime !== undefined && { lifetime_secs: lifetime }),
    ...(idle !== undefined && { idle_secs: idle }),
    ...(metadata && { metadata }),
  };
  if (Object.keys(wanted).length === 0) throw new OperatorError("name what to change; --help lists the options");
  await answered(connection().client.changeSandbox(id, wanted));
}

/** Uses an existing sandbox, or a new one that ends afterwards. The result becomes the exit code of this process. */
async function within(
  id: string | undefined,
  options: Given,
  use: (id: string) => Promise<number>,
  keep = false,
): Promise<void> {
  if (id !== undefined) {
    checkNoCreation(options);
    process.exitCode = await use(id);
    return;
  }
  const { client } = connection();
  const { id: created } = await answered(client.createSandbox(creationOf(options)));
  if (keep) process.stderr.write(`sandbox ${created}\n`);
  try {
    process.exitCode = await use(created);
  } finally {
    if (!keep) await answered(client.endSandbox(created));
  }
}
