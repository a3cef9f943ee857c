/** GET /languages → Language[]: the configured languages, available or not. */
export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: string;
  readonly available: boolean;
  readonly detail: string;
  /** The command lines. */
  readonly compile: string | null;
  readonly execute: string;
  readonly limits: Readonly<
    Record<"judge" | "agent", { readonly compile: StepLimits | null; readonly execute: StepLimits }>
  >;
  /** Example programs: hello, and one for each verdict, including hostile programs. */
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
