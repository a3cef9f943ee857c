import { readFileSync } from "node:fs";

const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");

/** package.json's. */
export const VERSION = (JSON.parse(file) as { version: string }).version;
