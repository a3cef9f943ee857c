import type { Argument, Command, Option } from "commander";
import { benchCommand } from "../../bench/command.ts";
import { program } from "../../src/cli/program.ts";
import { DATA, DATABASE, JSON_LINE } from "../../src/cli/with-store.ts";
import { code } from "./table.ts";

const PROGRAM = await program();

/** Options that many commands have. The top of docs/cli.md describes them. */
const COMMON: ReadonlySet<string> = new Set([DATA, DATABASE, JSON_LINE].map(([flags, text]) => `${flags} ${text}`));

/** Every command of src/cli/, and `bench`, with its usage. `--help` describes arguments and options. */
export function commands(): string {
  return [...PROGRAM.commands, benchCommand()].map(topLevel).join("\n\n");
}

/**
 * The part about a command. If it has verbs, they are listed; its own description is added only if the command can be run without
 * a verb.
 */
function topLevel(command: Command): string {
  const verbs = command.commands.flatMap((verb) => verbLines(command.name(), verb));
  const isAlone = verbs.length === 0 || usage("", command) !== "";
  const own = isAlone ? [code(usage(command.name(), command)), `${command.description()}${settings(command)}`] : [];
  return [`### ${command.name()}`, ...own, verbs.join("\n")].filter((part) => part !== "").join("\n\n");
}

/** A line for a verb, or a line for each verb of a verb that cannot be run without one. */
function verbLines(before: string, verb: Command): string[] {
  if (verb.commands.length > 0) return verb.commands.flatMap((inner) => verbLines(`${before} ${verb.name()}`, inner));
  const names = [verb.name(), ...verb.aliases()].join("|");
  return [`- ${code(`${before} ${usage(names, verb)}`)}: ${verb.summary() || verb.description()}`];
}

function usage(name: string, command: Command): string {
  const options = optionsOf(command).filter((one) => !isSetting(one));
  const parts = [name, ...command.registeredArguments.map(argument), ...options.map(option)];
  return parts.filter((part) => part !== "").join(" ");
}

/** A sentence with the flags that docs/configuration.md describes, because each of them sets a setting. */
function settings(command: Command): string {
  const flags = optionsOf(command).filter(isSetting);
  const names = flags.map(({ long, flags }) => code(long ?? flags));
  return names.length === 0
    ? ""
    : ` It also takes the flags of these [settings](configuration.md): ${names.join(", ")}.`;
}

function optionsOf(command: Command): Option[] {
  return command.options.filter(({ hidden, flags, description }) => !hidden && !COMMON.has(`${flags} ${description}`));
}

function isSetting({ description }: Option): boolean {
  return /\(ASSAY_[A-Z_]+\)/.test(description);
}

function argument(one: Argument): string {
  const name = one.argChoices?.join("|") ?? one.name();
  return one.required ? `<${name}>` : `[${name}]`;
}

function option({ flags, argChoices, mandatory }: Option): string {
  const text = argChoices === undefined ? flags : flags.replace(/<.*>/, argChoices.join("|"));
  return mandatory ? text : `[${text}]`;
}
