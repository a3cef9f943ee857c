import { readFileSync } from "node:fs";
import process from "node:process";

const text = await new Promise((resolve) => setTimeout(resolve, 1, readFileSync(0, "utf8")));
console.log(import.meta.url, import.meta.dirname, import.meta.main, text.trim(), process.argv);
process.exitCode = 3;
