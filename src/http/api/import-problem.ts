import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AuditActor } from "../../domain/audit.ts";
import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import { PackageError } from "../../problems/files.ts";
import { PROBLEM_NAME } from "../../problems/import.ts";
import { importInThread, type ThreadImport } from "../../problems/import-in-thread.ts";
import { statedBytes } from "../../problems/zip.ts";
import type { ProblemBounds, PutProblem } from "../../store/problems/types.ts";
import { ownerOf } from "../access/caller.ts";
import { countRequests } from "../access/rate-limit.ts";
import { wrongMedia } from "../body/body.ts";
import type { Verification } from "../dashboard/api/problems.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { keepOpenMeanwhile } from "../responses/keep-open.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { verifySubmissions } from "./verify-problem.ts";

/** How many problems, and bytes of their versions, an account may have by imports of requests. The command `assay problems import` has no bounds. */
export const PROBLEM_BOUNDS: ProblemBounds = { problems: 500, bytes: 4_294_967_296 };
/** The most bytes of all files of a package that a request imports, when unpacked. The archive itself is bounded like any large body. */
export const MAX_IMPORT_BYTES = 268_435_456;
/**
 * How many bytes count against the rate limit like one request. The size of all files is counted before any file is unpacked. The
 * size of all tests can be larger, because several tests can use the same file; then the difference is counted as well.
 */
const BYTES_PER_REQUEST = 16_777_216;
/** The most imports that run at the same time, in total and for each account. */
const AT_ONCE = 2;
const PER_ACCOUNT = 1;
/** The most imports of an account that wait; a further one is refused. */
const WAITING = 16;
/** How many bytes of a package are imported in a millisecond, to estimate the duration of an import. */
const BYTES_PER_MS = 12_000;
/** A purge can delete the new version, which is still unused, before the problem refers to it. */
const MAX_TRIES = 3;
/** The most characters of a message about a fault of the package. */
const MAX_FAULT = 500;

/** Query parameters of an import. */
export const PACKAGE_NAME = z.string().regex(PROBLEM_NAME, "must be 1 to 64 letters, digits and . _ -");
export const TIME_LIMIT = z.codec(
  z.string().regex(/^\d{1,5}(\.\d{1,3})?$/, "must be a number of seconds"),
  z.number(),
  {
    decode: Number,
    encode: String,
  },
);

export const ALLOW_FAULTS = z.enum(["true", "false"]);

type Stored = Extract<PutProblem, { kind: "stored" }>;
type Imported = Stored & { readonly verification: Verification | null };

export interface ProblemImportOptions {
  /** Name of the problem; undefined for the name of the directory in the archive that contains all files. */
  readonly name: string | undefined;
  /** Replaces the time limit of the package. */
  readonly timeLimitSecs: number | undefined;
  /** Whether the submissions of the package are judged after the import. */
  readonly verify: boolean;
  /** Whether a package whose programs have faults becomes a faulty version of the problem. */
  readonly allowFaults: boolean;
}

export interface ImportFor {
  readonly options: ProblemImportOptions;
  /** Finds the key that is charged. The problem is stored in the account of the key. */
  readonly caller: () => Promise<Caller>;
  /** The person who imports, for the audit entry; null for a request with a key. */
  readonly actor: AuditActor | null;
}

/** Imports the archives that API clients and the dashboard send. Both share AT_ONCE, PER_ACCOUNT and WAITING. */
export class ProblemImports {
  readonly #dependencies: Dependencies;
  readonly #answers: LongAnswers;
  readonly #stopping: AbortSignal;
  readonly #imports = new WorkTurns({
    atOnce: { total: AT_ONCE, perOwner: PER_ACCOUNT },
    queue: { perOwner: WAITING, full: "queueFull" },
  });

  /** @param stopping aborted when the service stops; this ends all imports. */
  constructor(dependencies: Dependencies, answers: LongAnswers, stopping: AbortSignal) {
    this.#dependencies = dependencies;
    this.#answers = answers;
    this.#stopping = stopping;
  }

  /** Imports the body of the request as a problem. @throws ClientError */
  async run(
    request: FastifyRequest,
    reply: FastifyReply,
    { options, caller: find, actor }: ImportFor,
  ): Promise<Imported> {
    request.holdsBody = true;
    const disconnection = disconnected(reply);
    const signal = AbortSignal.any([disconnection, this.#stopping]);
    // The import can wait for other imports, and the largest package takes 20 s by itself.
    const answered = keepOpenMeanwhile(request);
    try {
      const { name, timeLimitSecs, verify, allowFaults } = options;
      const archive = request.body;
      if (!Buffer.isBuffer(archive)) throw wrongMedia(request);
      const expectedMs = Math.min(statedBytes(archive), MAX_IMPORT_BYTES) / BYTES_PER_MS;
      request.body = null;
      const caller = await find();
      const owner = ownerOf({ caller, person: null, ip: request.ip });
      const { languages } = this.#dependencies;
      const limited = timeLimitSecs !== undefined && { timeLimitSecs };
      let counted = 1; // the request itself
      const count = async (bytes: number) => {
        const amount = Math.ceil(bytes / BYTES_PER_REQUEST) - counted;
        await countRequests(caller, this.#dependencies, { amount, counted });
        counted += Math.max(0, amount);
      };
      const importing = { name, ...limited, verify, allowFaults, languages, signal, admit: count };
      const pause = async () => {
        signal.throwIfAborted();
        await this.#answers.eventLoop.turn(owner);
      };
      const judging = { caller, owner, revoked: "playgroundClosed" } as const;
      const within = { dependencies: this.#dependencies, answers: this.#answers, pause };
      const importIt = () =>
        importInThread(archive, MAX_IMPORT_BYTES, importing, async (opened) => {
          const stored = await store(opened, this.#dependencies, { caller, actor, pause, count });
          const { submissions } = opened.importable;
          // The judgements are added before the next import begins, so that few packages have their programs in memory at a time.
          const verification = submissions && (await verifySubmissions(submissions, stored, judging, within));
          return { ...stored, verification };
        });
      return await this.#imports.run(owner, importIt, { expectedMs, signal });
    } catch (error) {
      if (disconnection.aborted) throw clientError("requestTimeout", []); // only counted: the client has gone
      if (this.#stopping.aborted) throw clientError("shuttingDown", [], { headers: { "retry-after": "5" } });
      if (error instanceof PackageError) throw clientError("invalidPackage", [error.message.slice(0, MAX_FAULT)]);
      throw error;
    } finally {
      answered();
      request.forgetBody?.();
    }
  }
}

/** Stores the tests of a package, then the version of the problem. `by.pause` throws if the client disconnects. */
async function store(
  { importable, read }: ThreadImport,
  dependencies: Dependencies,
  by: Pick<ImportFor, "actor"> & {
    readonly caller: Caller;
    readonly pause: () => Promise<void>;
    readonly count: (bytes: number) => Promise<void>;
  },
): Promise<Stored> {
  const { name, title, definition, checker, grader, harness, cpuSecs, memoryBytes } = importable;
  const { judgements, problems } = dependencies.store;
  const { accountId } = by.caller;
  const tests = importable.contents.length;
  const bytes = importable.contents.flat().reduce((sum, one) => sum + one.bytes, 0);
  await by.count(bytes);
  const contents = importable.contents.map((parts, test) =>
    parts.map(({ hash, bytes }, place) => ({ hash, bytes, read: () => read(test, place) })),
  );
  for (let tries = 1; ; tries++) {
    const version = { accountId, definition, checker, grader, harness, contents };
    const versionSeq = await judgements.putVersion(version, by.pause);
    const problem = { accountId, name, title, versionSeq, tests, bytes, cpuSecs, memoryBytes };
    const put = await problems.put(problem, PROBLEM_BOUNDS, by.actor);
    if (put.kind === "stored") return put;
    if (put.kind === "full") throw clientError("problemsFull", [PROBLEM_BOUNDS.problems, PROBLEM_BOUNDS.bytes]);
    if (tries === MAX_TRIES) throw new Error("the version of a problem was deleted while it was imported");
  }
}
