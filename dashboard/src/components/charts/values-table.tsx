import { useState } from "react";
import type { LegendEntry } from "./plot.tsx";
import { longTime } from "./time-labels.ts";
import type { BucketSelection, Times } from "./times.ts";
import css from "./values-table.module.css";

interface Props {
  readonly title: string;
  readonly times: Times;
  readonly legend: (span: BucketSelection) => readonly LegendEntry[];
}

/** The values of a chart as a table, which is rendered only while it is open. */
export function ValuesTable({ title, times, legend }: Props) {
  const [isOpen, open] = useState(false);
  return (
    <details className={css.values} onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>Values as a table</summary>
      {isOpen && <Table title={title} times={times} legend={legend} />}
    </details>
  );
}

function Table({ title, times, legend }: Props) {
  const rows = times.starts.map((_, index) => ({ index, values: legend([index, index]) }));
  const names = legend([0, times.starts.length - 1]).map(({ name }) => name);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: needed to scroll by keyboard
    <section className={css.scroll} tabIndex={0} aria-label={`${title}: values`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ index, values }) => (
            <tr key={index}>
              <th scope="row">{longTime(times, [index, index])}</th>
              {names.map((name) => (
                <td key={name}>{values.find((one) => one.name === name)?.value ?? ""}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
