import { type Command, InvalidArgumentError, Option } from "commander";
import type { NetworkPolicy, SandboxRequest } from "../../client/typescript/src/types.ts";
import { OperatorError } from "../domain/operator-error.ts";
import { ON_TIMEOUT } from "../domain/sandboxes/sandbox.ts";
import { ALLOW_FORM, allowRule, readJson } from "./network-options.ts";
import { wholeNumber } from "./option-values.ts";

const [MIB, GIB] = [1_048_576, 1_073_741_824];

/** The values of options, by their names in camel case. */
export type Given = Readonly<Record<string, unknown>>;

/** An option of every command that can create a sandbox, and what it means in the request. */
interface CreationOption {
  readonly option: Option;
  readonly put: (request: SandboxRequest, value: never) => void;
}

function creation<T>(option: Option, put: (request: SandboxRequest, value: T) => void): CreationOption {
  return { option, put };
}

/** An option with a whole number. */
function number(flags: string, description: string, put: (request: SandboxRequest, value: number) => void) {
  return creation(new Option(flags, description).argParser(wholeNumber), put);
}

/** An option that becomes a part of `limits`. */
function limit(flags: string, description: string, of: (value: number) => SandboxRequest["limits"]) {
  return number(flags, description, (request, value) => {
    request.limits = { ...request.limits, ...of(value) };
  });
}

const disk = limit(
  "--disk <GiB>",
  "give a new sandbox a disk of this size; without it, its files are in memory",
  (value) => ({ storage: "disk", disk_bytes: value * GIB }),
);
// The size and the number of files on a disk follow from its size.
for (const other of ["files", "inodes"]) disk.option.conflicts(other);

/** Options for what programs may reach: rules, or a file with a whole policy. */
const NETWORK_OPTIONS: readonly CreationOption[] = [
  creation(
    new Option(ALLOW_FORM, "a host or network that programs may reach, with its ports; can be repeated")
      .argParser(allowRule)
      .conflicts("network"),
    (request, allow: ReturnType<typeof allowRule>) => {
      request.network = { allow: [...allow] };
    },
  ),
  creation(
    new Option("--network <file>", "JSON of what programs may reach over the network; - for standard input"),
    (request, file: string) => {
      request.network = readJson(file) as NetworkPolicy;
    },
  ),
];

const CREATION_OPTIONS: readonly CreationOption[] = [
  number("--lifetime <seconds>", "longest life of a new sandbox", (request, value) => {
    request.lifetime_secs = value;
  }),
  number("--idle <seconds>", "how long a new sandbox lives without use", (request, value) => {
    request.idle_secs = value;
  }),
  limit("--memory <MiB>", "memory of a new sandbox", (value) => ({ memory_bytes: value * MIB })),
  limit("--files <MiB>", "size of all files of a new sandbox in memory", (value) => ({ disk_bytes: value * MIB })),
  limit("--inodes <number>", "files and directories of a new sandbox in memory", (value) => ({ inodes: value })),
  disk,
  limit("--cpus <number>", "CPUs that each execution of a new sandbox can use", (value) => ({ cpus: value })),
  limit("--processes <number>", "processes and threads of a new sandbox", (value) => ({ processes: value })),
  creation(
    new Option("--from <snapshot>", "snapshot whose files a new sandbox begins with"),
    (request, value: string) => {
      request.from = value;
    },
  ),
  creation(
    new Option("--on-timeout <what>", "what happens when the time of a new sandbox is over").choices([...ON_TIMEOUT]),
    (request, value: (typeof ON_TIMEOUT)[number]) => {
      request.on_timeout = value;
    },
  ),
  ...NETWORK_OPTIONS,
];

/** Adds the options for a network policy to a command that replaces it. */
export function withNetwork(command: Command): Command {
  for (const { option } of NETWORK_OPTIONS) command.addOption(option);
  return command;
}

/** The policy of these options. @throws OperatorError if there is none. */
export function networkOf(given: Given): NetworkPolicy {
  const { network } = creationOf(given);
  if (network === undefined) throw new OperatorError("say what programs may reach: --allow or --network");
  return network;
}

/** Adds the options of a command that can create a sandbox. */
export function withCreation(command: Command): Command {
  for (const { option } of CREATION_OPTIONS) command.addOption(option);
  return command;
}

/** The request for a new sandbox. */
export function creationOf(given: Given): SandboxRequest {
  const request: SandboxRequest = {};
  for (const { option, put } of CREATION_OPTIONS) {
    const value = given[option.attributeName()];
    if (value !== undefined) put(request, value as never);
  }
  return request;
}

/** @throws OperatorError if an option is only for a new sandbox, and the command uses an existing one. */
export function checkNoCreation(given: Given): void {
  const [first] = CREATION_OPTIONS.filter(({ option }) => given[option.attributeName()] !== undefined);
  if (first) throw new OperatorError(`${first.option.long} is only for a new sandbox, not for an existing one`);
}

/** Collects the values of a repeatable option `NAME=VALUE`. */
export function pair(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be NAME=VALUE");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
