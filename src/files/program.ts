/**
 * A running file program (image/files) in a sandbox. The client treats every byte of `output` as hostile: a program of the sandbox may have
 * written it.
 */
export interface FileProgram {
  /**
   * What the program writes to its standard output, in chunks that stay valid. It must be read only as fast as it is iterated, and end
   * when the program ends or is killed.
   */
  readonly output: AsyncIterable<Buffer>;
  /** Writes to its standard input. Resolves when more may be written, and the bytes may change; rejects if the program has ended. */
  write(bytes: Buffer): Promise<void>;
  /** Kills the program, and frees what it occupies. May be called again. */
  kill(): void;
  /** Resolves when it has ended: whether it has never begun, because the sandbox was being stopped at that moment. A request to it had no effect. */
  wasRefused?(): Promise<boolean>;
}

/** Starts the file program. What it rejects with is passed on to the caller of the request. */
export type StartFileProgram = () => Promise<FileProgram>;
