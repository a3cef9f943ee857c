/** GET /languages → Language[]: all configured languages. */
export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: string;
  /** Whether a worker offers the language now. */
  readonly available: boolean;
  /** The result of the last smoke test of the language. */
  readonly detail: string;
  /** The command lines; null without a compile step. */
  readonly compile: string | null;
  readonly execute: string;
  readonly limits: Readonly<
    Record<"judge" | "agent", { readonly compile: StepLimits | null; readonly execute: StepLimits }>
  >;
  /** Example programs. They show the verdicts, and some of them are hostile. */
  readonly examples: readonly Example[];
}

export interface StepLimits {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
}

export interface Example {
  readonly title: string;
  readonly verdict: string;
  readonly code: string;
  readonly stdin: string;
}
