import { SegmentedControl, Textarea } from "@mantine/core";
import { useId } from "react";
import type { Draft } from "./draft.ts";
import css from "./playground.module.css";
import { newTest, TestsEditor } from "./tests.tsx";

interface Props {
  readonly now: Draft;
  readonly write: (part: Partial<Draft>) => void;
}

/** Selects one run or tests; the fields of the other are kept. */
export function InputChoice({ now: { tests = null, kept, stdin }, write }: Props) {
  const label = useId();
  const choose = (what: string) =>
    what === "tests"
      ? write({ tests: kept ?? { checker: "lines", list: [newTest({ stdin })] } })
      : write({ tests: null, ...(tests && { kept: tests }) });
  return (
    <div>
      <span id={label} className={css.label}>
        Input
      </span>
      <SegmentedControl
        aria-labelledby={label}
        value={tests ? "tests" : "run"}
        onChange={choose}
        data={[
          { value: "run", label: "one run" },
          { value: "tests", label: "tests" },
        ]}
      />
    </div>
  );
}

/** The input of one run, or tests. */
export function Input({ now: { tests, stdin }, write, onRun }: Props & { readonly onRun: () => void }) {
  if (tests) return <TestsEditor of={tests} onChange={(changed) => write({ tests: changed })} onRun={onRun} />;
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
