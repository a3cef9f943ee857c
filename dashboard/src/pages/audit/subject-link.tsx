import { Link } from "@tanstack/react-router";
import type { Audit } from "../../../../src/http/dashboard/api/audit.ts";
import css from "./audit.module.css";

interface Props {
  readonly id: string;
  /** The name of the object at the time of the entry, which is shown if it was deleted since. */
  readonly former: string;
  /** The subject of the action. */
  readonly kind: string;
  readonly named: Audit["named"];
}

/** The name of an object with a link to its page; the beginning of its id if it has no name. */
export function SubjectLink({ id, former, kind, named }: Props) {
  const found = named[id];
  if (kind === "submission")
    return (
      <Link to="/submissions/$id" params={{ id }}>
        {id.slice(0, 8)}
      </Link>
    );
  if (kind === "judgement")
    return (
      <Link to="/judgements/$id" params={{ id }}>
        {id.slice(0, 8)}
      </Link>
    );
  if (!found)
    return former ? (
      <b>{former}</b>
    ) : (
      <code title={id} className={css.id}>
        {id.slice(0, 8)}
      </code>
    );
  const { name } = found;
  switch (found.kind) {
    case "project":
      return (
        <Link to="/projects/$id" params={{ id }}>
          {name}
        </Link>
      );
    case "key":
      return (
        <Link to="/keys/$id" params={{ id }}>
          {name}
        </Link>
      );
    case "endpoint":
      return found.isGone ? (
        <b>{name}</b>
      ) : (
        <Link to="/webhooks/$id" params={{ id }}>
          {name}
        </Link>
      );
    case "problem":
      return (
        <Link to="/problems/$id" params={{ id }}>
          {name}
        </Link>
      );
    case "account":
      return (
        <Link to="/audit" search={{ account: id }}>
          {name}
        </Link>
      );
    case "person":
      return (
        <Link to="/audit" search={{ subject: id }}>
          {name}
        </Link>
      );
  }
}
