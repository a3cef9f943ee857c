import type { ReactNode } from "react";
import css from "./description-list.module.css";

/** A list of names and values. */
export function DescriptionList({ of: facts }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={css.descriptions}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
