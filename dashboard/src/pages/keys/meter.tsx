import type { ReactNode } from "react";
import { count } from "../../components/format.ts";
import css from "./keys.module.css";

interface Props {
  readonly used: number;
  readonly limit: number;
  readonly children?: ReactNode;
}

/** How much of a limit is used now, as numbers and as a bar. */
export function Meter({ used, limit, children }: Props) {
  const share = Math.min(1, used / limit);
  return (
    <div className={css.meter} data-full={share >= 1 || undefined}>
      <span>
        {count(used)} of {count(limit)}
        {children}
      </span>
      {/* Hidden from screen readers: the text above has the same values. */}
      <div aria-hidden="true">
        <div style={{ width: `${100 * share}%` }} />
      </div>
    </div>
  );
}
