/** A program to judge: it is compiled once, if its language has a compiler, and run once for each input. */
export interface Work {
  readonly language: string;
  readonly code: string;
  /** Each run must print `stdout`, or the measurement ends with an error. */
  readonly runs: readonly { readonly stdin: string; readonly stdout: string }[];
}

/** A running service that judges programs. */
export interface Judge {
  readonly name: string;
  /** A client has one persistent connection and one open request at a time. */
  readonly client: () => Promise<Client>;
  /** CPU time of all processes of the service and of the programs since its start, in milliseconds; null if it is not measured. */
  readonly cpuMs: () => number | null;
  readonly stop: () => Promise<void>;
}

export interface Client {
  /** @throws if a run does not print what it should. */
  readonly judge: (work: Work) => Promise<void>;
  readonly close: () => void;
}

export function expectOutput(name: string, printed: string | undefined, wanted: string, answer: string): void {
  if (printed !== wanted) throw new Error(`${name} did not run the program: ${answer.slice(0, 500)}`);
}
