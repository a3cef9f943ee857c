import { program } from "./cli/program.ts";
import { runProgram } from "./cli/run-program.ts";

await runProgram(() => program(process.argv[2]));
