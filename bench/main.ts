import { Command } from "commander";
import { runProgram } from "../src/cli/run-program.ts";

/** `./assay bench` starts this program instead of src/main.ts: benchmarks import the service, and nothing of it imports them. */
await runProgram(async () => new Command("assay").addCommand((await import("./command.ts")).benchCommand()));
