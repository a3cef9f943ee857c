import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { queries } from "../../client/api.ts";
import { counted } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import css from "./failing-endpoints.module.css";

/** The active endpoints whose last delivery failed. */
function useFailing() {
  return useQuery(queries.failingEndpoints()).data;
}

/** The number of failing endpoints, for the navigation. */
export function FailingBadge() {
  const failing = useFailing();
  if (!failing || failing.endpoints.length === 0) return null;
  const amount = `${failing.endpoints.length}${failing.more ? "+" : ""}`;
  return (
    <span className={css.badge} title={`${amount} failing`}>
      {amount}
      <span className={css.visuallyHidden}> failing</span>
    </span>
  );
}

/** A notice with the failing endpoints of a project. */
export function FailingEndpoints({ project }: { project: string }) {
  const own = useFailing()?.endpoints.filter((endpoint) => endpoint.project.id === project) ?? [];
  if (own.length === 0) return null;
  return (
    <FailureNotice>
      {`${counted(own.length, "endpoint fails", "endpoints fail")}: results are not delivered.`}
      <ul className={css.list}>
        {own.map(({ id, url, failingSince }) => (
          <li key={id}>
            <Link to="/webhooks/$id" params={{ id }}>
              {url}
            </Link>
            , first failure <Timestamp at={failingSince} />
          </li>
        ))}
      </ul>
    </FailureNotice>
  );
}

export function FailureNotice({ children }: { children: ReactNode }) {
  return (
    <div className={css.alert} role="status">
      <Icon name="alert" />
      <div>{children}</div>
    </div>
  );
}
