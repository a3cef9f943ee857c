import { SegmentedControl, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { queries } from "../../client/api.ts";
import { counted } from "../../components/format.ts";
import { memoryLimit, timeLimit } from "../../components/problem-limits.ts";
import { ProblemSelect } from "../../components/problem-select.tsx";
import type { Draft } from "./draft.ts";
import css from "./playground.module.css";
import { newTest, TestsEditor } from "./tests-editor.tsx";

interface Props {
  readonly now: Draft;
  readonly write: (part: Partial<Draft>) => void;
}

const CHOICES = [
  { value: "run", label: "one run" },
  { value: "tests", label: "tests" },
  { value: "problem", label: "problem" },
] as const;

/** Selects one run, tests or a problem. What was entered for the other choices is kept. */
export function InputChoice({ now: { input = "run", tests, stdin }, write }: Props) {
  const label = useId();
  const choose = (value: string) => {
    const chosen = CHOICES.find((one) => one.value === value)?.value ?? "run";
    const first = { checker: "lines", list: [newTest({ stdin })] };
    write({ input: chosen, ...(chosen === "tests" && { tests: tests ?? first }) });
  };
  return (
    <div>
      <span id={label} className={css.label}>
        Input
      </span>
      <SegmentedControl aria-labelledby={label} value={input} onChange={choose} data={[...CHOICES]} />
    </div>
  );
}

interface InputProps extends Props {
  readonly accountId: string;
  readonly onRun: () => void;
}

/** The fields of the selected choice: the input of one run, the tests, or the problem. */
export function Input({ now, write, accountId, onRun }: InputProps) {
  const { input = "run", tests, stdin, problem = "" } = now;
  if (input === "problem") return <OnProblem id={problem} accountId={accountId} write={write} />;
  if (input === "tests" && tests)
    return <TestsEditor of={tests} onChange={(changed) => write({ tests: changed })} onRun={onRun} />;
  return (
    <Textarea
      label="Standard input"
      value={stdin}
      onChange={({ currentTarget }) => write({ stdin: currentTarget.value })}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
      }}
      rows={4}
      spellCheck={false}
      classNames={{ input: css.stdin ?? "" }}
    />
  );
}

/** Selects a problem of the account. The URL gets the id of the problem. */
function OnProblem({ id, accountId, write }: Pick<InputProps, "accountId" | "write"> & { readonly id: string }) {
  const navigate = useNavigate();
  const { data } = useQuery({ ...queries.problem(id), enabled: id !== "" });
  return (
    <>
      <ProblemSelect
        account={accountId}
        none="Choose one…"
        value={id}
        onChange={(problem) => {
          write({ problem });
          navigate({ to: "/playground", search: problem ? { problem } : {}, replace: true });
        }}
      />
      <p className={css.links}>
        {data ? (
          <>
            <Link to="/problems/$id" params={{ id }}>
              {data.title || data.name}
            </Link>
            {`${counted(data.tests, "test")}, ${timeLimit(data)} CPU time, ${memoryLimit(data)} memory`}
          </>
        ) : (
          <Link to="/problems">Problems of the account</Link>
        )}
      </p>
    </>
  );
}
