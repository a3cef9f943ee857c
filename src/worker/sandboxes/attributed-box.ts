import type { SandboxNetwork } from "../../egress/egress-thread.ts";
import type { AttachedBox, BoxReport, BoxStep, OnOutput } from "./engine.ts";

/** A connection to a sandbox with a network: says of each step in which cgroup it runs, and to which execution it belongs. */
export class AttributedBox implements AttachedBox {
  readonly #box: AttachedBox;
  readonly #network: SandboxNetwork;

  constructor(box: AttachedBox, network: SandboxNetwork) {
    this.#box = box;
    this.#network = network;
  }

  get alive(): boolean {
    return this.#box.alive;
  }

  async run(step: BoxStep, onOutput: OnOutput): Promise<BoxReport> {
    const told = this.#network.step(step.execution ?? null);
    try {
      return await this.#box.run(step, onOutput, (cgroupId) => told.begun(cgroupId));
    } finally {
      told.over();
    }
  }

  input(bytes: Buffer): Promise<void> {
    return this.#box.input(bytes);
  }

  signal(number: number): Promise<void> {
    return this.#box.signal(number);
  }

  resize(rows: number, cols: number): Promise<void> {
    return this.#box.resize(rows, cols);
  }

  kill(): void {
    this.#box.kill();
  }

  close(): void {
    this.#box.close();
  }
}
