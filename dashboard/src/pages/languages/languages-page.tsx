import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Language, StepLimits } from "../../../../src/http/dashboard/api/languages.ts";
import { queries } from "../../client/api.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count, duration, size } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import css from "./languages.module.css";

interface Limits {
  readonly name: string;
  readonly limits: StepLimits;
}

const LIMITS: readonly Column<Limits>[] = [
  { head: "Step", cell: ({ name }) => name },
  { head: "CPU time", number: true, cell: ({ limits }) => duration(limits.cpuMs) },
  { head: "Wall time", number: true, cell: ({ limits }) => duration(limits.wallMs) },
  { head: "Memory", number: true, cell: ({ limits }) => size(limits.memoryBytes) },
  { head: "Processes", number: true, cell: ({ limits }) => count(limits.processes) },
  { head: "File size", number: true, cell: ({ limits }) => size(limits.fileBytes) },
];

export function LanguagesPage() {
  const languages = useQuery(queries.languages());
  return (
    <Page
      title="Languages"
      lead="A language is offered while every worker passes its smoke test in a real sandbox. A worker that has not proven any language yet does not count."
    >
      <QueryBoundary query={languages} placeholder={<TableSkeleton rows={8} />}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No language is configured">
              The <Link to="/nodes">nodes</Link> show which languages their workers have proven.
            </EmptyState>
          ) : (
            <ul className={css.list}>
              {all.map((language) => (
                <li key={language.name}>
                  <LanguageEntry language={language} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function LanguageEntry({
  language: { name, aliases, version, available, detail, compile, execute, limits },
}: {
  language: Language;
}) {
  return (
    <details className={css.language}>
      <summary>
        <h2>{name}</h2>
        <StatusBadge tone={available ? "good" : "bad"}>{available ? "offered" : "not offered"}</StatusBadge>
        <span className={css.version}>{version}</span>
      </summary>
      <div className={css.content}>
        {detail && <p>{detail}</p>}
        {aliases.length > 0 && (
          <p>
            Also called <code>{aliases.join(", ")}</code>.
          </p>
        )}
        <dl className={css.commands}>
          {compile && (
            <>
              <dt>Compiled by</dt>
              <dd>
                <code>{compile}</code>
              </dd>
            </>
          )}
          <dt>Run by</dt>
          <dd>
            <code>{execute}</code>
          </dd>
        </dl>
        <DataTable caption={`Limits of ${name}`} columns={LIMITS} rows={limitsOf(limits)} rowKey={(row) => row.name} />
      </div>
    </details>
  );
}

function limitsOf(limits: Language["limits"]): readonly Limits[] {
  return (["judge", "agent"] as const).flatMap((profile) => {
    const { compile, execute } = limits[profile];
    const steps = [{ name: `${profile}, execute`, limits: execute }];
    return compile ? [{ name: `${profile}, compile`, limits: compile }, ...steps] : steps;
  });
}
