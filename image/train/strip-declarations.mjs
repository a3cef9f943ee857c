// Removes comments from each *.d.ts below a directory, except directives such as `/// <reference`, and
// removes the `inspector` modules from @types/node.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function withoutComments(text) {
  let out = "";
  let at = 0;
  while (at < text.length) {
    const two = text.slice(at, at + 2);
    if (two === "//") {
      const end = text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at);
      const line = text.slice(at, end);
      if (/^\/\/\/\s*</.test(line)) out += line;
      at = end;
    } else if (two === "/*") {
      at = text.indexOf("*/", at + 2) + 2;
      out += " ";
    } else if ("\"'`".includes(text[at])) {
      let end = at + 1;
      while (text[end] !== text[at]) end += text[end] === "\\" ? 2 : 1;
      out += text.slice(at, end + 1);
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out.replace(/[ \t]*\n\s*/g, "\n").trimStart();
}

const root = process.argv[2];
const nodeTypes = join(root, "node_modules/@types/node");

for (const entry of readdirSync(nodeTypes)) {
  if (entry.startsWith("inspector")) rmSync(join(nodeTypes, entry), { recursive: true });
}
for (const entry of readdirSync(root, { recursive: true })) {
  if (!entry.endsWith(".d.ts")) continue;
  const file = join(root, entry);
  const text = withoutComments(readFileSync(file, "utf8"));
  writeFileSync(file, text.replace(/^\/\/\/ <reference path="inspector[^\n]*\n/gm, ""));
}
