import { readFileSync, writeFileSync } from "node:fs";
import { type PeerRow, peerCells } from "./peers/measure.ts";

/**
 * node bench/fill-peers.ts PEERS.JSON: writes the results of `assay bench peers --json` into bench/peers.tsv, and their ratios
 * into the table of bench/README.md.
 */
const [path] = process.argv.slice(2);
if (!path) throw new Error("usage: node bench/fill-peers.ts PEERS.JSON");
const rows = JSON.parse(readFileSync(path, "utf8")) as PeerRow[];
const lines = peerCells(rows).map((cells) => cells.join("\t"));
writeFileSync(new URL("./peers.tsv", import.meta.url), `${lines.join("\n")}\n`);

const KINDS = ["hello", "again", "mid", "tests", "hundred"];
const languages = [...new Set(rows.map(({ program }) => program.replace(/^[a-z]+_/, "")))];
const clients = [...new Set(rows.map((row) => row.clients))];
const ratios = (kind: string, language: string) =>
  clients
    .map((amount) => rows.find((row) => row.program === `${kind}_${language}` && row.clients === amount)?.ratio ?? "–")
    .join(" / ");
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
