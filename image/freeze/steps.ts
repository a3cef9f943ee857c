import { loadLanguages } from "../../src/languages/load.ts";
import { plan } from "../../src/worker/plan.ts";

/**
 * Prints the steps as lines for `image/build --freeze`, separated by tabs: program, stack limit in bytes, the point at which it is
 * frozen (freeze.c), the options that let it wait or "-", environment, and arguments; lists are separated by blanks.
 */
const languages = loadLanguages(new URL("../../languages", import.meta.url).pathname);
const nothing = { code: Buffer.alloc(0), stdin: Buffer.alloc(0) };
for (const language of languages.list()) {
  const { compile, execute } = plan(language, languages.limitsFor(language, "judge"), nothing);
  for (const { command, limits } of compile ? [compile, execute] : [execute]) {
    const [program, ...words] = command.command;
    const environment = Object.entries(command.env).map(([name, value]) => `${name}=${value}`);
    const lists = [command.park ?? ["-"], environment, words];
    if (lists.flat().some((word) => /\s/.test(word))) throw new Error(`${language.name}: a blank in its command`);
    const point = command.park ? "waiting" : language.source;
    console.log([program, limits.stackBytes, point, ...lists.map((list) => list.join(" "))].join("\t"));
  }
}
