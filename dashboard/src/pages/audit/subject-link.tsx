import { Link } from "@tanstack/react-router";
import type { Audit } from "../../../../src/http/dashboard/api/audit.ts";
import css from "./audit.module.css";

interface Props {
  readonly id: string;
  /** The name of the object when the entry was stored. It is shown if the object was deleted later. Empty if it is not known. */
  readonly former: string;
  /** The first part of the action, such as `key` for `key.create`. */
  readonly kind: string;
  readonly named: Audit["named"];
}

/**
 * The name of an object, or the beginning of its id if no name is known. If the object exists, it is a link to the page of the
 * object, or, for an account or a person, to its entries in the audit trail.
 */
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
  if (kind === "sandbox")
    return (
      <Link to="/sandboxes/$id" params={{ id }}>
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
