import { parentPort, workerData } from "node:worker_threads";
import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common";

/** Input of the thread. */
export interface Guessed {
  readonly password: string;
  /** Words about the person that an attacker knows. */
  readonly known: readonly string[];
}

const { password, known } = workerData as Guessed;
const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
parentPort?.postMessage(zxcvbn.check(password, [...known]).guesses);
