import { count, counted, size } from "../components/format.ts";
import css from "./egress.module.css";
import { HostName } from "./host-name.tsx";
import { type OpenPolicy, ruleName } from "./rule-name.ts";
import { useFirst } from "./use-first.tsx";

/** Rules that are shown at first. */
const SHOWN = 12;

/** The rules of a policy, and how much each sandbox may send and receive. */
export function PolicyView({ of: policy }: { of: OpenPolicy }) {
  const [rules, more] = useFirst(policy.allow, SHOWN, "rules");
  return (
    <>
      <ul className={css.rules} aria-label="Allowed hosts and networks">
        {rules.map((rule) => (
          <li key={ruleName(rule)}>
            <HostName of={ruleName(rule)} />
            <span className={css.ports}>
              {rule.ports.length === 1 ? "port" : "ports"} {rule.ports.join(", ")}
            </span>
          </li>
        ))}
      </ul>
      {more}
      <p className={css.facts}>{budgetsOf(policy)}</p>
    </>
  );
}

/** The budgets of a policy, as a sentence. */
function budgetsOf({ bytes_up, bytes_down, connections, connections_per_minute }: OpenPolicy): string {
  const bytes = `Over its life, a sandbox may send ${size(bytes_up ?? 0)} and receive ${size(bytes_down ?? 0)}.`;
  const open = counted(connections ?? 0, "connection");
  return `${bytes} It may have ${open} at the same time, and begin ${count(connections_per_minute ?? 0)} in a minute.`;
}
