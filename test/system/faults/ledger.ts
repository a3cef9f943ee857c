import Database from "better-sqlite3";
import { Pool } from "pg";

/** Direct access to the service's database, and the database's own log of status changes. */
export interface Ledger {
  readonly rows: <Row>(statement: string) => Promise<Row[]>;
  readonly change: (statement: string) => Promise<void>;
  /** From now on, the database logs each change of a submission's status, whichever process makes it. */
  readonly witness: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A change of a submission's status, in order, with the state at that moment. */
export interface Seen {
  readonly id: string;
  readonly key: string;
  readonly became: "pending" | "running" | "completed" | "error";
  /** Number of running submissions of the key. */
  readonly running: number;
  /** Whether the key named `small` had a pending submission and no running one. */
  readonly small_waits: boolean | number;
}

const COLUMNS = "id text not null, key text not null, became text not null, running integer not null";
const RUNNING = "(select count(*) from submissions where key_id = new.key_id and status = 'running')";
const WAITS = `(select exists (select 1 from submissions join api_keys on api_keys.id = key_id
    where name = 'small' and status = 'pending')
  and not exists (select 1 from submissions join api_keys on api_keys.id = key_id
    where name = 'small' and status = 'running' and submissions.id != new.id))`;
const SEEN = `insert into witness (id, key, became, running, small_waits) values (new.id,
  (select name from api_keys where id = new.key_id), new.status, ${RUNNING}, ${WAITS});`;

export function sqliteLedger(path: string): Ledger {
  const open = <T>(options: Database.Options, work: (file: Database.Database) => T): T => {
    const file = new Database(path, { timeout: 30_000, ...options });
    try {
      return work(file);
    } finally {
      file.close();
    }
  };
  return {
    rows: async <Row>(statement: string) => open({ readonly: true }, (file) => file.prepare(statement).all() as Row[]),
    change: async (statement) => {
      open({}, (file) => file.exec(statement));
    },
    witness: async () => {
      open({}, (file) =>
        file.exec(`
          create table witness (n integer primary key, ${COLUMNS}, small_waits integer not null);
          create trigger witness after update of status on submissions when old.status is not new.status
            begin ${SEEN} end;`),
      );
    },
    close: async () => {},
  };
}

export function postgresLedger(url: string): Ledger {
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  return {
    rows: async <Row>(statement: string) => (await pool.query(statement)).rows as Row[],
    change: async (statement) => {
      await pool.query(statement);
    },
    witness: async () => {
      await pool.query(`
        create table witness (n bigint generated always as identity, ${COLUMNS}, small_waits boolean not null);
        create function witness() returns trigger language plpgsql as $$ begin ${SEEN} return null; end $$;
        create trigger witness after update of status on submissions
          for each row when (old.status is distinct from new.status) execute function witness();`);
    },
    close: () => pool.end(),
  };
}
