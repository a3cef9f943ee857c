import { Command } from "commander";
import { runProgram } from "../src/cli/run-program.ts";

/** `./assay bench` starts this program instead of src/main.ts, so that benchmarks import the service, and the service no benchmark. */
await runProgram(async () => new Command("assay").addCommand((await import("./command.ts")).benchCommand()));
