import type { Argument, Command, Option } from "commander";
import { program } from "../../src/cli/program.ts";
import { DATA, DATABASE, JSON_LINE } from "../../src/cli/with-store.ts";
import { code } from "./table.ts";

/** Described once at the top of docs/cli.md. */
const COMMON: ReadonlySet<string> = new Set([DATA, DATABASE, JSON_LINE].map(([flags, text]) => `${flags} ${text}`));

/** Every command of src/cli/, with its arguments and options. */
export function commands(): string {
  return program().commands.map(topLevel).join("\n\n");
}

function topLevel(command: Command): string {
  return [`### ${command.name()}`, `${command.description()}`, usage(command, ""), ...command.commands.map(verb)]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Arguments that their name explains: docs/cli.md says at the top how each is given. */
const PLAIN_ARGUMENTS: ReadonlySet<string> = new Set([
  "name or id",
  "new name",
  "id, as listed",
  "id or visible prefix",
  "e-mail or id",
  "e-mail address of the person",
]);

/** A command of a command, such as `keys create`. */
function verb(command: Command): string {
  const values = command.registeredArguments.map((one) => ` ${written(one)}`).join("");
  const names = [command.name(), ...command.aliases()].map((name) => {
    return code(`${command.parent?.name()} ${name}${values}`);
  });
  return `**${names.join(", ")}**: ${command.description()}\n${usage(command, "\n")}`.trimEnd();
}

function usage(command: Command, before: string): string {
  const options = command.options.filter(({ hidden, flags, description }) => {
    return !hidden && !COMMON.has(`${flags} ${description}`);
  });
  const explained = command.registeredArguments.filter(({ description }) => !PLAIN_ARGUMENTS.has(description));
  const lines = [...explained.map(argument), ...options.map(option)];
  return lines.length === 0 ? "" : before + lines.join("\n");
}

function argument(one: Argument): string {
  return `- ${code(written(one))}: ${one.description || choices(one.argChoices)}`;
}

function written(one: Argument): string {
  return one.required ? `<${one.name()}>` : `[${one.name()}]`;
}

function option(one: Option): string {
  const required = one.mandatory ? " (required)" : "";
  const notes = [choices(one.argChoices), standard(one.defaultValue)].filter((note) => note !== "");
  return `- ${code(one.flags)}${required}: ${one.description}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`;
}

function choices(values: readonly string[] | undefined): string {
  return values ? values.map(code).join(" or ") : "";
}

function standard(value: unknown): string {
  if (value === undefined || value === true || (Array.isArray(value) && value.length === 0)) return "";
  return `default: ${code(String(value))}`;
}
