import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { queries } from "../client/api.ts";
import log from "../components/delivery.module.css";
import { DeliveryEntry } from "../components/delivery.tsx";
import { EmptyState } from "../components/query-boundary.tsx";
import { EvidenceTable } from "./evidence.tsx";
import { RawRecord } from "./raw-record.tsx";
import css from "./run-view.module.css";
import { WhyNot } from "./why-not.tsx";

interface Props {
  readonly of: SubmissionDetail;
  readonly tab: string | undefined;
  readonly onTab: ((tab: string) => void) | undefined;
}

/** Further information about a run that has ended, in tabs. */
export function RunTabs({ of: detail, tab, onTab }: Props) {
  const [selected, setSelected] = useState<string>();
  const { explanation, proofs, deliveries } = detail;
  const tabs: readonly (readonly [name: string, title: string, content: () => ReactNode])[] = [
    ...(explanation && explanation.whyNot.length > 0
      ? [["why", "Why not…", () => <WhyNot of={explanation.whyNot} />] as const]
      : []),
    ["evidence", "Evidence", () => <EvidenceTable of={proofs} />],
    [
      "deliveries",
      deliveries.length === 0 ? "Deliveries" : `Deliveries (${deliveries.length})`,
      () => <Deliveries of={detail} />,
    ],
    ["record", "Raw record", () => <RawRecord of={detail} />],
  ];
  const requested = tab ?? selected;
  const value = tabs.some(([name]) => name === requested) ? requested : tabs[0]?.[0];
  return (
    <Tabs
      className={css.tabs}
      value={value ?? null}
      onChange={(next) => {
        if (next === null) return;
        setSelected(next);
        onTab?.(next);
      }}
      keepMounted={false}
    >
      <Tabs.List aria-label="More about the run">
        {tabs.map(([name, title]) => (
          <Tabs.Tab key={name} value={name}>
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(([name, , content]) => (
        <Tabs.Panel key={name} value={name}>
          {name === value && content()}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** The deliveries of the result. They are the only part of a submission that changes after the end of its run. */
function Deliveries({ of: { row, run, deliveries } }: { of: SubmissionDetail }) {
  const { data = deliveries } = useQuery(queries.deliveriesOf(row.id));
  if (data.length === 0)
    return (
      <EmptyState title="No deliveries">
        {row.project ? (
          <>
            {run
              ? "The result of a judgement is delivered as a whole, and not the results of its runs. "
              : "The project had no active webhook endpoint when the run ended. "}
            <Link to="/projects/$id" params={{ id: row.project.id }}>
              Endpoints of the project
            </Link>
          </>
        ) : (
          <>
            Results are sent to the webhook endpoints of a project, and this run belongs to no project.{" "}
            <Link to="/projects">Projects</Link>
          </>
        )}
      </EmptyState>
    );
  return (
    <ol className={log.log}>
      {data.map((delivery) => (
        <DeliveryEntry key={delivery.id} of={delivery} />
      ))}
    </ol>
  );
}
