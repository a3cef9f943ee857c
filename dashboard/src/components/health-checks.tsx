import type { HealthCheck } from "../../../src/http/dashboard/api/overview.ts";
import css from "../pages/overview/overview.module.css";
import { State } from "./status-badge.tsx";

/** Health checks; failed ones first, with consequence and remedy. */
export function Checks({ checks }: { checks: readonly HealthCheck[] }) {
  const sorted = [...checks].sort((a, b) => Number(a.ok) - Number(b.ok));
  return (
    <ul className={css.list}>
      {sorted.map(({ name, ok, detail, means, remedy }) => (
        <li key={name}>
          <span>
            <State tone={ok ? "good" : "bad"}>{ok ? "works" : "fails"}</State>
          </span>
          <code>{name}</code>
          <span>{detail}</span>
          {(means || remedy) && (
            <div className={css.advice}>
              {means && (
                <p>
                  <b>What it means.</b> {means}
                </p>
              )}
              {remedy && (
                <p>
                  <b>What to do.</b> {remedy}
                </p>
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
