import { Link } from "@tanstack/react-router";
import type { History } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { during, ofGroup, ofVerdict } from "../../components/charts/list-filters.ts";
import { CLASSES, groupColour, verdictColour } from "../../components/charts/series-colours.ts";
import { percent, total } from "../../components/charts/sums.ts";
import type { Times } from "../../components/charts/times.ts";
import { count } from "../../components/format.ts";
import css from "./breakdown.module.css";

interface Props {
  readonly history: History;
  readonly times: Times;
  readonly ofAccount: (filters: Search) => Search;
}

/** For each group, how many runs ended with each verdict: as a bar, and as numbers that link to the runs. */
export function Breakdown({ history: { by, groups, buckets }, times, ofAccount }: Props) {
  if (by === "verdict") return null;
  const linked = (filters: Search) => during(times, [0, buckets.length - 1], ofAccount(filters));
  return (
    <ul className={css.groups} aria-label={`Verdicts by ${by}`}>
      {groups.map(({ id, name, verdicts }, index) => {
        const all = total(verdicts);
        const own = id === "" ? null : ofGroup(by, id);
        const shown = CLASSES.filter((verdict) => verdicts[verdict]);
        return (
          <li key={id}>
            <span className={css.name}>
              <i style={{ background: groupColour(index) }} />
              {own ? (
                <Link to="/submissions" search={linked(own)}>
                  {name}
                </Link>
              ) : (
                "no project"
              )}
            </span>
            <span className={css.total}>{count(all)}</span>
            <span className={css.bar} aria-hidden="true">
              {shown.map((verdict) => (
                <i
                  key={verdict}
                  style={{ background: verdictColour(verdict), flexGrow: verdicts[verdict] ?? 0 }}
                  title={`${verdict} ${percent((100 * (verdicts[verdict] ?? 0)) / all)}`}
                />
              ))}
            </span>
            <span className={css.verdicts}>
              {shown.map((verdict) => (
                <span key={verdict}>
                  {own ? (
                    <Link to="/submissions" search={linked({ ...own, ...ofVerdict(verdict) })}>
                      {verdict}
                    </Link>
                  ) : (
                    verdict
                  )}{" "}
                  {count(verdicts[verdict] ?? 0)}
                </span>
              ))}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
