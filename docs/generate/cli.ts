import type { Argument, Command, Option } from "commander";
import { program } from "../../src/cli/program.ts";
import { DATA, DATABASE, JSON_LINE } from "../../src/cli/with-store.ts";
import { code } from "./table.ts";

/** Described at the top of docs/cli.md. */
const COMMON: ReadonlySet<string> = new Set([DATA, DATABASE, JSON_LINE].map(([flags, text]) => `${flags} ${text}`));

/** Every command of src/cli/, with its arguments and options. */
export function commands(): string {
  return program().commands.map(topLevel).join("\n\n");
}

/** Options with the same text in several commands. The commands name their flags only. */
export function sharedOptions(): string {
  return [...shared()].map((line) => `- ${line}`).join("\n");
}

function shared(): ReadonlySet<string> {
  const lines = program()
    .commands.flatMap((command) => [command, ...command.commands])
    .flatMap(optionsOf)
    .filter((one) => !isSetting(one))
    .map(optionLine);
  return new Set(lines.filter((line, at) => lines.indexOf(line) !== at));
}

/** A command with verbs has no description of its own, and a verb its first sentence: `--help` has the rest. */
function topLevel(command: Command): string {
  const repeated = shared();
  const own = command.commands.length === 0 || optionsOf(command).length > 0;
  const parts = own ? [command.description(), usage(command, repeated)] : [];
  const verbs = command.commands.map((verb) => {
    const values = verb.registeredArguments.map((one) => ` ${written(one)}`).join("");
    const names = [verb.name(), ...verb.aliases()].map((name) => code(`${command.name()} ${name}${values}`));
    return `- ${names.join(", ")}: ${verb.summary() || verb.description()}\n${usage(verb, repeated, "  ")}`.trimEnd();
  });
  return [`### ${command.name()}`, ...parts, verbs.join("\n")].filter((part) => part !== "").join("\n\n");
}

/** Arguments that their name explains: the top of docs/cli.md says how each is given. */
const PLAIN_ARGUMENTS: ReadonlySet<string> = new Set([
  "name or id",
  "new name",
  "id, as listed",
  "id or visible prefix",
  "e-mail or id",
  "e-mail address of the person",
]);

function usage(command: Command, repeated: ReadonlySet<string>, indent = ""): string {
  const explained = command.registeredArguments.filter(({ description }) => !PLAIN_ARGUMENTS.has(description));
  const options = optionsOf(command);
  const settings = options.filter(isSetting).map(flag);
  const also = options.filter((one) => !isSetting(one) && repeated.has(optionLine(one))).map(flag);
  const lines = [
    ...explained.map((one) => `${code(written(one))}: ${one.description || choices(one.argChoices)}`),
    ...options
      .filter((one) => !isSetting(one))
      .map(optionLine)
      .filter((line) => !repeated.has(line)),
    ...(also.length > 0 ? [also.join(", ")] : []),
    ...(settings.length > 0 ? [`[settings](configuration.md): ${settings.join(", ")}`] : []),
  ];
  return lines.map((line) => `${indent}- ${line}`).join("\n");
}

function optionsOf(command: Command): Option[] {
  return command.options.filter(({ hidden, flags, description }) => !hidden && !COMMON.has(`${flags} ${description}`));
}

/** An option that names its setting is described in docs/configuration.md. */
function isSetting({ description }: Option): boolean {
  return /\(ASSAY_[A-Z_]+\)/.test(description);
}

function flag(one: Option): string {
  return code(one.long ?? one.flags);
}

function written(one: Argument): string {
  return one.required ? `<${one.name()}>` : `[${one.name()}]`;
}

function optionLine(one: Option): string {
  const required = one.mandatory ? " (required)" : "";
  const notes = [choices(one.argChoices), standard(one.defaultValue)].filter((note) => note !== "");
  return `${code(one.flags)}${required}: ${one.description}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`;
}

function choices(values: readonly string[] | undefined): string {
  return values ? values.map(code).join(" or ") : "";
}

function standard(value: unknown): string {
  if (value === undefined || value === true || (Array.isArray(value) && value.length === 0)) return "";
  return `default: ${code(String(value))}`;
}
