import { Button, Skeleton } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { mutations, queries } from "../../client/api.ts";
import { sentence } from "../../components/format.ts";
import { ErrorMessage } from "../../components/query-boundary.tsx";
import { useAction } from "../../components/use-action.ts";
import css from "./sandboxes.module.css";

/** Loaded with the first terminal, because xterm is larger than everything else on the page. */
const Terminal = lazy(() => import("./terminal.tsx"));

/** The size of a terminal before its place is known. */
const FIRST_SIZE = { rows: 24, cols: 80 };

/** A terminal in the sandbox: a new one, or one that already runs. */
export function Terminals({ of: { row, executions } }: { of: SandboxDetail }) {
  const queryClient = useQueryClient();
  const [shown, show] = useState<{ readonly number: number; readonly isNew: boolean }>();
  const starting = useAction(() => mutations.startTerminal(row.id, FIRST_SIZE), {
    done: ({ number }) => show({ number, isNew: true }),
  });
  const running = executions.executions.filter(
    ({ status, hasTerminal, number }) => status === "running" && hasTerminal && number !== shown?.number,
  );
  const ended = () => {
    if (shown) void queryClient.invalidateQueries(queries.execution(row.id, shown.number));
    void queryClient.invalidateQueries(queries.sandbox(row.id));
  };
  return (
    <>
      {row.state === "running" && (
        <div className={css.choices}>
          <Button size="sm" loading={starting.isPending} onClick={() => starting.mutate()}>
            Start a terminal
          </Button>
          {running.map(({ number, command }) => (
            <Button key={number} variant="default" size="sm" onClick={() => show({ number, isNew: false })}>
              Connect to terminal {number} ({command.slice(0, 40)})
            </Button>
          ))}
        </div>
      )}
      {row.state === "paused" && !shown && <p className={css.hint}>Resume the sandbox to use a terminal.</p>}
      {starting.error && <ErrorMessage text={sentence(starting.error.message)} />}
      {shown && (
        <Suspense fallback={<Skeleton height={480} />}>
          <Terminal
            key={shown.number}
            sandboxId={row.id}
            number={shown.number}
            isNew={shown.isNew}
            onEnded={ended}
            onClose={() => show(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}
