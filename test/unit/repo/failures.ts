/** The tests that show each failure and planned operation of docs/operations.md: file, and a part of the title as the file has it. */
export const SHOWN_BY: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  service: [
    ["test/system/faults/nothing-lost.test.ts", "each has ended exactly once and is delivered"],
    [
      "test/integration/webhooks/deliverer.test.ts",
      "a delivery whose process is killed during an attempt is repeated after its lease with the same id",
    ],
  ],
  worker: [
    [
      "test/system/programs/processes.test.ts",
      "when services and workers are killed, no submission is lost or duplicated, and limits hold",
    ],
    ["test/system/faults/nothing-lost.test.ts", "each has ended exactly once and is delivered"],
  ],
  slot: [["test/system/worker/worker.test.ts", "is repeated, and ends as an internal error after the third attempt"]],
  launcher: [
    [
      "test/system/worker/worker.test.ts",
      "after the launcher is killed and restarted, the worker becomes ready again and no submission is lost",
    ],
    ["test/system/faults/storm.test.ts", "every accepted submission ends with the correct result"],
  ],
  "init of a box": [
    ["test/system/worker/worker.test.ts", "is repeated, and ends as an internal error after the third attempt"],
  ],
  PostgreSQL: [
    [
      "test/system/faults/away.test.ts",
      "a running service reports that PostgreSQL is unavailable, and resumes all work when it is back",
    ],
    ["test/system/worker/outage.test.ts", "a restart of the database loses no result, repeats no run"],
  ],
  "a paused process (PostgreSQL)": [
    ["test/integration/store/outage.test.ts", "a paused process delays others until the server ends its transaction"],
  ],
  "disk space": [
    ["test/system/faults/away.test.ts", "a full disk, and then a read-only disk, lose no accepted submission"],
    ["test/integration/store/full-disk.test.ts", "a full disk makes the store unavailable"],
  ],
  "disk is read-only": [
    ["test/system/faults/away.test.ts", "a full disk, and then a read-only disk, lose no accepted submission"],
    ["test/integration/store/full-disk.test.ts", "opening a database on a read-only disk fails with its path"],
  ],
  "network to the database": [
    [
      "test/system/worker/cut-off.test.ts",
      "ends its runs, affects no other worker, and resumes when packets arrive again",
    ],
  ],
  "webhook receiver": [
    ["test/integration/webhooks/deliverer.test.ts", "5xx: three attempts after delays of one and five seconds"],
    ["test/integration/webhooks/deliverer.test.ts", "receivers that never answer do not delay other receivers"],
  ],
  "flush fails (SQLite)": [["test/integration/store/power-cut.test.ts", "a failed flush ends the process"]],
  "machine, or SIGKILL of assay": [
    ["test/integration/store/power-cut.test.ts", "loses nothing that was confirmed"],
    ["test/system/setup/set-up.test.ts", "the remains of a dead instance are swept"],
  ],
  "clock is set or differs": [
    ["test/integration/store/lease.test.ts", "changes neither renewed nor expired leases"],
    ["test/system/worker/worker-registry.test.ts", "is registered, ready and removed like any other"],
    ["test/integration/store/deliveries.test.ts", "does not delay attempts by an hour"],
    ["test/integration/store/quota.test.ts", "a backward clock step neither blocks a key for over a minute"],
    ["test/system/worker/self-test.test.ts", "a clock that is set back does not renew an old proof"],
  ],
  "upgrade, PostgreSQL": [
    ["test/system/faults/upgrade.test.ts", "migrates under load, and no request fails"],
    ["test/integration/store/migrate.test.ts", "each migration only adds"],
  ],
  "upgrade, SQLite": [["test/integration/store/migrate.test.ts", "each migration only adds"]],
  "back up, restore elsewhere": [
    ["test/system/faults/live-backup.test.ts", "finished records are unchanged, and the rest ends there"],
  ],
  "delete old records": [["test/system/faults/purge.test.ts", "are removed under load without delaying clients"]],
};
