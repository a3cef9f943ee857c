import { parentPort, workerData } from "node:worker_threads";
import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common";

/** What the thread is started with. */
export interface Guessed {
  readonly password: string;
  /** What a guesser knows of the person. */
  readonly known: readonly string[];
}

const { password, known } = workerData as Guessed;
const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
parentPort?.postMessage(zxcvbn.check(password, [...known]).guesses);
