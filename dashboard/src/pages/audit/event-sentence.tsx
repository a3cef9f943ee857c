import type { ReactNode } from "react";
import type { Audit, AuditEntry, AuditedAction } from "../../../../src/http/dashboard/api/audit.ts";
import { count, counted } from "../../components/format.ts";
import { PlainText } from "../../components/program-text.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import css from "./audit.module.css";
import { SubjectLink } from "./subject-link.tsx";

interface Props {
  readonly of: AuditEntry;
  readonly named: Audit["named"];
}

type Sentence = (entry: AuditEntry, name: (id: unknown, kind?: string) => ReactNode) => ReactNode;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const amount = (value: unknown): number => (typeof value === "number" ? value : 0);

const file = (path: unknown) => (
  <code>
    <PlainText text={text(path)} />
  </code>
);

/** The change of a name in words: "from OLD to NEW". */
const renamed = ({ name }: AuditEntry["detail"]) => {
  const { from, to } = (name ?? {}) as { from?: unknown; to?: unknown };
  return (
    <>
      from <b>{text(from)}</b> to <b>{text(to)}</b>
    </>
  );
};

/** How many living sandboxes a change of a network bound has narrowed. */
const narrowing = ({ narrowed }: AuditEntry["detail"]) =>
  amount(narrowed) === 0 ? "" : `, which narrowed ${counted(amount(narrowed), "living sandbox", "living sandboxes")}`;

const SETTINGS: Readonly<Record<string, string>> = {
  requestsPerMinute: "requests in 60 seconds",
  concurrency: "submissions running at once",
  profiles: "profiles",
  defaultProfile: "default profile",
  name: "name",
  administrator: "administrator",
  disabled: "disabled",
  tier: "tier",
  lifetimeSecs: "lifetime in seconds",
  idleSecs: "idle time in seconds",
};

/** The changed settings in words, such as "requests in 60 seconds from that of the tier to 600". */
function differencesIn(detail: AuditEntry["detail"], name: (id: unknown) => ReactNode): ReactNode {
  const all = Object.entries(detail).map(([field, value]) => {
    const { from, to } = (value ?? {}) as { from?: unknown; to?: unknown };
    if (field === "accountIds") {
      return (
        <span key={field}>
          accounts: {Array.isArray(to) && to.length > 0 ? to.map((id) => <span key={id}>{name(id)} </span>) : "none"}
        </span>
      );
    }
    return <span key={field}>{`${SETTINGS[field] ?? field} from ${shown(from)} to ${shown(to)}`}</span>;
  });
  return <span className={css.detail}>{all}</span>;
}

function shown(value: unknown): string {
  if (value === null) return "that of the tier";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

const endpoint: (verb: string) => Sentence = (verb) => (entry, name) => (
  <>
    {verb} the endpoint {name(entry.subject, text(entry.detail.origin))} of the project {name(entry.detail.projectId)}
  </>
);

const object: (verb: string, kind: string) => Sentence = (verb, kind) => (entry, name) => (
  <>
    {verb} the {kind} {name(entry.subject, text(entry.detail.name))}
  </>
);

/** For each action, the predicate of a sentence whose subject is the actor. */
const SENTENCES: Readonly<Record<AuditedAction, Sentence>> = {
  "account.create": ({ subject, detail }, name) => (
    <>
      created the account {name(subject, text(detail.name))} with the tier <b>{text(detail.tier)}</b>
    </>
  ),
  "account.rename": ({ detail }) => <>renamed an account {renamed(detail)}</>,
  "account.set-tier": ({ subject, detail }, name) => (
    <>
      changed the account {name(subject)}: {differencesIn(detail, name)}
    </>
  ),
  "account.erase": object("deleted the ended submissions and judgements, and the problems, of", "account"),
  "account.suspend": object("suspended", "account"),
  "account.resume": object("resumed", "account"),
  "account.drop-pending": ({ subject, detail }, name) => (
    <>
      dropped {counted(amount(detail.pending), "pending submission")} of the account {name(subject)}
    </>
  ),
  "tier.set": ({ subject, detail }) => (
    <>
      set the tier <b>{subject}</b> to {count(amount(detail.requestsPerMinute))} requests in 60 seconds and{" "}
      {count(amount(detail.concurrency))} submissions running at once
    </>
  ),
  "project.create": object("created", "project"),
  "project.rename": ({ subject, detail }, name) => (
    <>
      renamed the project {name(subject)} {renamed(detail)}
    </>
  ),
  "project.archive": object("archived", "project"),
  "project.restore": object("reopened", "project"),
  "key.create": ({ subject, detail }, name) => (
    <>
      created the key {name(subject, text(detail.name))}
      {detail.projectId ? <> in the project {name(detail.projectId)}</> : " without a project"}
    </>
  ),
  "key.update": ({ subject, detail }, name) => (
    <>
      changed the key {name(subject)}: {differencesIn(detail, name)}
    </>
  ),
  "key.rotate": ({ subject, detail }, name) => (
    <>
      rotated the key {name(subject)}; the old key {hasPassed(detail.expiresAt) ? "expired" : "expires"}{" "}
      <Timestamp at={text(detail.expiresAt) || null} />
    </>
  ),
  "key.revoke": object("revoked", "key"),
  "key.drop-pending": ({ subject, detail }, name) => (
    <>
      dropped {counted(amount(detail.pending), "pending submission")} of the key {name(subject)}
    </>
  ),
  "endpoint.create": endpoint("created"),
  "endpoint.enable": endpoint("resumed"),
  "endpoint.disable": endpoint("paused"),
  "endpoint.rotate-secret": endpoint("rotated the secret of"),
  "endpoint.reseal": ({ detail }) => (
    <>
      encrypted the secrets of endpoints again ({count(amount(detail.current))} current, {count(amount(detail.former))}{" "}
      former)
    </>
  ),
  "endpoint.set-signing": (entry, name) => (
    <>
      changed the signing of the endpoint {name(entry.subject, text(entry.detail.origin))} to{" "}
      <b>{text(entry.detail.signing)}</b>
    </>
  ),
  "endpoint.remove": endpoint("removed"),
  "endpoint.test": endpoint("sent a test to"),
  "endpoint.replay-failed": (entry, name) => (
    <>
      replayed {counted(amount(entry.detail.amount), "failed delivery", "failed deliveries")} to the endpoint{" "}
      {name(entry.subject, text(entry.detail.origin))}
    </>
  ),
  "delivery.replay": ({ detail }, name) => (
    <>replayed a delivery to the endpoint {name(detail.endpointId, text(detail.origin))}</>
  ),
  "person.invite": ({ detail }) => (
    <>
      invited <b>{text(detail.email) || "the first administrator"}</b>
      {detail.administrator === true && " as an administrator"}
    </>
  ),
  "person.withdraw": ({ detail }) => (
    <>
      withdrew {detail.kind === "reset" ? "the link to reset the password of" : "the invitation of"}{" "}
      <b>{text(detail.email)}</b>
    </>
  ),
  "person.create": ({ detail }) => (
    <>
      joined as <b>{text(detail.name)}</b>
      {detail.administrator === true && ", an administrator"}
    </>
  ),
  "person.update": ({ subject, detail }, name) => (
    <>
      changed the member {name(subject)}: {differencesIn(detail, name)}
    </>
  ),
  "person.reset": ({ detail }) => (
    <>
      created a link to reset the password of <b>{text(detail.email)}</b>
    </>
  ),
  "person.set-password": ({ subject }, name) => <>set a new password for {name(subject)}</>,
  "person.sign-in": () => "signed in",
  "person.sign-out": () => "signed out",
  "person.refuse": ({ subject, detail }, name) => (
    <>
      was refused {counted(amount(detail.attempts), "time")} when signing in{" "}
      {subject === "unknown" ? "with an unknown e-mail address" : <>as {name(subject)}</>}
    </>
  ),
  "problem.import": ({ subject, detail }, name) => (
    <>
      imported version {count(amount(detail.version))} of the problem {name(subject, text(detail.name))}
    </>
  ),
  "problem.delete": object("deleted", "problem"),
  "submission.read": ({ subject }, name) => <>read the submission {name(subject)}</>,
  "submission.cancel": ({ subject }, name) => <>cancelled the submission {name(subject)}</>,
  "judgement.read": ({ subject }, name) => <>read the judgement {name(subject)}</>,
  "judgement.cancel": ({ subject }, name) => <>cancelled the judgement {name(subject)}</>,
  "sandbox.read": ({ subject }, name) => <>read the sandbox {name(subject)}</>,
  "sandbox.create": ({ subject, detail }, name) => (
    <>
      created the sandbox {name(subject)}
      {text(detail.from) !== "" && (
        <>
          {" "}
          from the snapshot <code>{text(detail.from).slice(0, 8)}</code>
        </>
      )}
    </>
  ),
  "sandbox.change": ({ subject, detail }, name) => (
    <>
      changed the sandbox {name(subject)}{" "}
      <span className={css.detail}>
        {Object.entries(detail).map(([field, value]) => (
          <span key={field}>{`${SETTINGS[field] ?? field} to ${text(value)}`}</span>
        ))}
      </span>
    </>
  ),
  "sandbox.kill-execution": ({ subject, detail }, name) => (
    <>
      killed execution {text(detail.execution)} of the sandbox {name(subject)}
    </>
  ),
  "sandbox.take-snapshot": ({ subject, detail }, name) => (
    <>
      took a snapshot {text(detail.name) !== "" && file(detail.name)} of the sandbox {name(subject)}
    </>
  ),
  "snapshot.delete": ({ subject, detail }) => (
    <>
      deleted the snapshot{" "}
      {text(detail.name) === "" ? <code title={subject}>{subject.slice(0, 8)}</code> : file(detail.name)}
    </>
  ),
  "network.set": ({ subject, detail }, name) => (
    <>
      set what sandboxes of {name(subject)} may reach over the network{narrowing(detail)}
    </>
  ),
  "network.clear": ({ subject, detail }, name) => (
    <>
      removed the network bound of {name(subject)}
      {narrowing(detail)}
    </>
  ),
  "sandbox.pause": ({ subject }, name) => <>paused the sandbox {name(subject)}</>,
  "sandbox.resume": ({ subject }, name) => <>resumed the sandbox {name(subject)}</>,
  "sandbox.end": ({ subject }, name) => <>ended the sandbox {name(subject)}</>,
  "sandbox.start-terminal": ({ subject }, name) => <>started a terminal in the sandbox {name(subject)}</>,
  "sandbox.attach": ({ subject }, name) => <>was connected to a running program in the sandbox {name(subject)}</>,
  "sandbox.write-file": ({ subject, detail }, name) => (
    <>
      wrote the file {file(detail.path)} in the sandbox {name(subject)}
    </>
  ),
  "sandbox.make-directory": ({ subject, detail }, name) => (
    <>
      made the directory {file(detail.path)} in the sandbox {name(subject)}
    </>
  ),
  "sandbox.move-file": ({ subject, detail }, name) => (
    <>
      renamed {file(detail.path)} to {file(detail.to)} in the sandbox {name(subject)}
    </>
  ),
  "sandbox.remove-file": ({ subject, detail }, name) => (
    <>
      removed {file(detail.path)} in the sandbox {name(subject)}
    </>
  ),
};

function hasPassed(time: unknown): boolean {
  return Date.parse(text(time)) <= Date.now();
}

/** The actions, for the filter of the audit trail. */
export const ACTIONS = Object.keys(SENTENCES) as readonly AuditedAction[];

/** What happened, in words. The tooltip shows the action, the subject and the details as they are stored. */
export function EventSentence({ of: entry, named }: Props) {
  const kind = entry.action.split(".")[0] ?? "";
  const name = (id: unknown, former = "") => <SubjectLink id={text(id)} former={former} kind={kind} named={named} />;
  return (
    <div className={css.event} title={`${entry.action} ${entry.subject} ${JSON.stringify(entry.detail)}`}>
      {SENTENCES[entry.action](entry, name)}
    </div>
  );
}
