import { readFileSync, writeFileSync } from "node:fs";
import { type PeerRow, peerCells } from "./peers/measure.ts";

/**
 * node bench/fill-peers.ts PEERS.JSON: writes the results of `assay bench peers --json` into bench/peers.tsv, where they replace results
 * of the same program with the same number of clients. Then writes the ratios of all results there into the table of bench/README.md.
 */
const [path] = process.argv.slice(2);
if (!path) throw new Error("usage: node bench/fill-peers.ts PEERS.JSON");
const measured = peerCells(JSON.parse(readFileSync(path, "utf8")) as PeerRow[]);
const file = new URL("./peers.tsv", import.meta.url);
const known = readFileSync(file, "utf8").trimEnd().split("\n");
const lines = new Map<string, string[]>();
for (const cells of [...known.map((line) => line.split("\t")), ...measured])
  lines.set(cells.slice(0, 2).join(" "), cells);
writeFileSync(file, `${[...lines.values()].map((cells) => cells.join("\t")).join("\n")}\n`);

const KINDS = ["hello", "again", "mid", "tests", "hundred"];
const [, ...rows] = lines.values();
const languages = [...new Set(rows.map(([program = ""]) => program.replace(/^[a-z]+_/, "")))];
const clients = [...new Set(rows.map(([, amount]) => amount))];
const ratios = (kind: string, language: string) =>
  clients.map((amount) => lines.get(`${kind}_${language} ${amount}`)?.at(-1) ?? "–").join(" / ");
const table = [
  ["", ...KINDS],
  ["---", ...KINDS.map(() => "---")],
  ...languages.map((language) => [language, ...KINDS.map((kind) => ratios(kind, language))]),
].map((cells) => `| ${cells.join(" | ")} |`);
const document = new URL("./README.md", import.meta.url);
const filled = readFileSync(document, "utf8").replace(
  /(<!-- measured: peers -->\n)[\s\S]*?(<!-- end -->)/,
  (_, begin: string, end: string) => `${begin}\n${table.join("\n")}\n\n${end}`,
);
writeFileSync(document, filled);
