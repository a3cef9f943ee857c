/** The tests that show each failure and planned operation of docs/operations.md: file, and a part of the title as the file has it. */
export const SHOWN_BY: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  service: [
    ["test/faults/nothing-lost.test.ts", "each ends once, for good, and is delivered"],
    ["test/webhooks/deliverer.test.ts", "a process that is killed in the middle of an attempt costs no delivery"],
  ],
  worker: [
    [
      "test/engine/processes.test.ts",
      "some services and workers are killed: nothing is lost, nothing is doubled, limits hold",
    ],
    ["test/faults/nothing-lost.test.ts", "each ends once, for good, and is delivered"],
  ],
  slot: [["test/worker/worker.test.ts", "is run again, and is an internal error at the third time"]],
  launcher: [
    [
      "test/worker/worker.test.ts",
      "a launcher that is killed and started again is all that happens: not ready, then ready, nothing lost",
    ],
    ["test/faults/storm.test.ts", "all that was accepted ends right"],
  ],
  "init of a box": [["test/worker/worker.test.ts", "is run again, and is an internal error at the third time"]],
  PostgreSQL: [
    [
      "test/faults/away.test.ts",
      "while PostgreSQL is gone a running service says so, and all of it goes on when it is back",
    ],
    ["test/worker/outage.test.ts", "a database that is restarted costs no result and no second run"],
  ],
  "disk space": [
    ["test/faults/away.test.ts", "a disk that is full, and then one that is read-only, cost nothing that was accepted"],
    ["test/store/full-disk.test.ts", "a full disk is the store's absence and not the request's fault"],
  ],
  "disk is read-only": [
    ["test/faults/away.test.ts", "a disk that is full, and then one that is read-only, cost nothing that was accepted"],
    ["test/store/full-disk.test.ts", "a disk that cannot be written to is named when it is met at the start"],
  ],
  "network to the database": [
    ["test/worker/cut-off.test.ts", "gives up what it runs, harms nothing, and works on when they arrive again"],
  ],
  "webhook receiver": [
    ["test/webhooks/deliverer.test.ts", "5xx: three attempts, one and five seconds after the one before"],
    ["test/webhooks/deliverer.test.ts", "receivers that never answer do not delay one that does"],
  ],
  "flush fails (SQLite)": [["test/store/power-cut.test.ts", "a flush that fails ends the process"]],
  "machine, or SIGKILL of assay": [
    ["test/store/power-cut.test.ts", "takes nothing that was confirmed"],
    ["test/setup/set-up.test.ts", "what a dead instance left is swept"],
  ],
  "clock is set or differs": [
    ["test/store/lease.test.ts", "takes nothing from who renews, and keeps nothing for who does not"],
    ["test/worker/fleet.test.ts", "is there and ready like any other, and missed like any other"],
    ["test/store/deliveries.test.ts", "delays no attempt by that hour"],
    ["test/store/quota.test.ts", "a clock that steps back locks nobody out for more than a minute"],
    ["test/worker/readiness.test.ts", "a clock that is set back makes no old proof new"],
  ],
  "upgrade, PostgreSQL": [
    ["test/faults/upgrade.test.ts", "it migrates under load, and no request fails"],
    ["test/store/migrate.test.ts", "each migration only adds"],
  ],
  "upgrade, SQLite": [["test/store/migrate.test.ts", "each migration only adds"]],
  "back up, restore elsewhere": [
    ["test/faults/live-backup.test.ts", "what had ended is as it was, all else ends there"],
  ],
  "delete old records": [["test/faults/purge.test.ts", "are removed beside clients, none of whom waits for it"]],
};
