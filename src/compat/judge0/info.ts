import type { FastifyInstance, FastifyRequest } from "fastify";
import { ATTEMPT_DELAYS_MS, ATTEMPT_TIMEOUT_MS } from "../../domain/delivery.ts";
import { clientError } from "../../domain/error.ts";
import { MAX_FILES_BYTES } from "../../domain/program-options.ts";
import { callerOf } from "../../http/access/caller.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { JUDGE0, JUDGE0_NAME } from "./conventions.ts";
import { nameOfNumber, numbered } from "./numbers.ts";
import { familyOf } from "./request.ts";
import { inJudge0, LIMIT_NAMES, MAX_CPU_EXTRA_SECS, MAX_NUMBER_OF_RUNS } from "./settings.ts";
import { JUDGE0_STATUSES, type Judge0Status, presentStatus } from "./status.ts";

/** The release of Judge0 CE that has these routes. Clients choose the numbers of languages by the release. */
const RELEASE = "1.13.1";
/** The most submissions of a batch. */
export const MAX_BATCH = 20;
/** The days of the statistics, without today. */
const DAYS = 30;
const DAY_MS = 86_400_000;

/** Judge0's routes that are not about submissions, but about the service, its languages and its load. */
export function infoRoutes(server: FastifyInstance, dependencies: Dependencies): void {
  const { store, workers, languages } = dependencies;

  server.get(`${JUDGE0}/languages`, async () =>
    numbered(dependencies).map(({ id, language: { label: name } }) => ({ id, name })),
  );
  server.get(`${JUDGE0}/languages/all`, async () =>
    numbered(dependencies).map(({ id, language: { label: name } }) => ({ id, name, is_archived: false })),
  );
  server.get(`${JUDGE0}/languages/:id`, async (request) => {
    const { id } = request.params as { id: string };
    const found = numbered(dependencies).find((one) => String(one.id) === id);
    if (!found) throw clientError("notFound", []);
    const { label, source, compile, execute } = found.language;
    return {
      id: found.id,
      name: label,
      is_archived: false,
      source_file: source,
      compile_cmd: compile?.command.join(" ") ?? null,
      run_cmd: execute.command.join(" "),
    };
  });
  server.get(`${JUDGE0}/statuses`, async () =>
    Object.entries(JUDGE0_STATUSES).map(([id, description]) => ({ id: Number(id), description })),
  );
  server.get(`${JUDGE0}/config_info`, async (request) => configOf(request, dependencies));
  server.get(`${JUDGE0}/system_info`, async () => ({ Architecture: process.arch, "Byte Order": "Little Endian" }));
  server.get(`${JUDGE0}/about`, async () => ({
    version: RELEASE,
    homepage: "/docs/judge0",
    source_code: "",
    maintainer: "",
  }));
  server.get(`${JUDGE0}/isolate`, async (_, reply) =>
    reply.type("text/plain").send("Assay has a sandbox of its own, and does not use isolate.\n"),
  );
  server.get(`${JUDGE0}/version`, async (_, reply) => reply.type("text/plain").send(RELEASE));
  server.get(`${JUDGE0}/license`, async (_, reply) =>
    reply.type("text/plain").send("Assay has the routes of Judge0, and none of its code.\n"),
  );
  server.get(`${JUDGE0}/workers`, async () => {
    const { pending, running } = await store.backlog();
    const available = workers.capacity();
    const working = Math.min(
      available,
      Object.values(running).reduce((sum, amount) => sum + amount, 0),
    );
    const idle = available - working;
    return [{ queue: "default", size: pending, available, idle, working, paused: 0, failed: 0 }];
  });
  server.get(`${JUDGE0}/statistics`, async (request) => {
    const rows = await store.foreign.counts(callerOf(request).accountId, JUDGE0_NAME);
    const nowMs = Date.now();
    const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const sum = (some: typeof rows) => some.reduce((all, { amount }) => all + amount, 0);
    const grouped = <K>(key: (row: (typeof rows)[number]) => K) =>
      [...Map.groupBy(rows, key)].map(([one, some]) => ({ one, count: sum(some) })).sort((a, b) => b.count - a.count);
    const days = Array.from({ length: DAYS }, (_, at) => today - (at + 1) * DAY_MS);
    const now = new Date(nowMs).toISOString();
    return {
      created_at: now,
      cached_until: now,
      submissions: {
        total: sum(rows),
        today: sum(rows.filter(({ dayMs }) => dayMs === today)),
        last_30_days: Object.fromEntries(
          days.map((day) => [new Date(day).toISOString().slice(0, 10), sum(rows.filter(({ dayMs }) => dayMs === day))]),
        ),
      },
      languages: grouped(({ category }) => category).map(({ one: id, count }) => ({
        language: { id, name: nameOfNumber({ languages }, id) },
        count,
      })),
      statuses: grouped(statusIn).map(({ one, count }) => ({
        status: { id: one, name: JUDGE0_STATUSES[one] },
        count,
      })),
    };
  });
  for (const path of ["authenticate", "authorize"])
    server.post(`/judge0/${path}`, { config: { bodyless: true } }, async (_, reply) => reply.code(200).send());
}

function statusIn({ progress, note }: { readonly progress: string; readonly note: number | null }): Judge0Status {
  return presentStatus({ status: progress === "ended" ? "completed" : (progress as "pending" | "running") }, note);
}

/**
 * The settings of the service, as Judge0's `config_info` has them. A limit without `max_` is the lowest limit of any language in the
 * default profile of the key, and one with `max_` is the highest.
 */
function configOf(request: FastifyRequest, dependencies: Dependencies) {
  const { languages, maxPending } = dependencies;
  const { defaultProfile } = callerOf(request);
  const all = numbered(dependencies).map(({ language }) => language);
  const limits = all.map((language) => languages.limitsFor(language, defaultProfile).execute);
  const values = LIMIT_NAMES.flatMap((name) => {
    const each = limits.map((one) => inJudge0(one, name));
    return [
      [name, Math.min(...each)],
      [`max_${name}`, Math.max(...each)],
    ];
  });
  return {
    maintenance_mode: false,
    enable_wait_result: true,
    enable_compiler_options: true,
    allowed_languages_for_compile_options: [
      ...new Set(all.filter(({ compilerOptions }) => compilerOptions).map(familyOf)),
    ],
    enable_command_line_arguments: true,
    enable_submission_delete: false,
    enable_callbacks: true,
    callbacks_max_tries: ATTEMPT_DELAYS_MS.length,
    callbacks_timeout: ATTEMPT_TIMEOUT_MS / 1000,
    enable_additional_files: true,
    max_queue_size: maxPending,
    ...Object.fromEntries(values),
    cpu_extra_time: 0,
    max_cpu_extra_time: MAX_CPU_EXTRA_SECS,
    enable_per_process_and_thread_time_limit: false,
    allow_enable_per_process_and_thread_time_limit: false,
    enable_per_process_and_thread_memory_limit: false,
    allow_enable_per_process_and_thread_memory_limit: false,
    number_of_runs: 1,
    max_number_of_runs: MAX_NUMBER_OF_RUNS,
    redirect_stderr_to_stdout: false,
    max_extract_size: MAX_FILES_BYTES / 1024,
    enable_batched_submissions: true,
    max_submission_batch_size: MAX_BATCH,
    submission_cache_duration: 0,
    use_docs_as_homepage: false,
    allow_enable_network: false,
    enable_network: false,
  };
}
