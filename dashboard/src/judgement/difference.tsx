import { NativeSelect } from "@mantine/core";
import { useMemo, useState } from "react";
import type { JudgedChecker, TextBeginning } from "../../../src/http/dashboard/api/judgements.ts";
import { counted } from "../components/format.ts";
import { PlainText } from "../components/program-text.tsx";
import css from "./difference.module.css";
import { type AlignedLines, difference, differentParts, type Line } from "./difference.ts";

interface Props {
  readonly expected: readonly TextBeginning[];
  readonly got: TextBeginning;
  readonly checker: JudgedChecker;
}

// biome-ignore-start lint/a11y/noRedundantRoles: without roles, a table with a grid layout is no table for screen readers

/** An answer and the output, line by line. What the colours show is also said by texts and signs. */
export function DifferenceTable({ expected, got, checker }: Props) {
  const [chosen, choose] = useState(0);
  const answer = expected[chosen];
  const found = useMemo(() => answer && difference(answer.text, got.text, checker), [answer, got, checker]);
  if (!answer || !found) return null;
  const notes = [
    ...(found.sorted ? ["The lines of both texts are sorted, because the checker ignores their order."] : []),
    ...(found.aligned
      ? []
      : ["The texts differ too much to be aligned, so each line is next to the line with the same number."]),
    ...(answer.cut || got.cut ? ["Only the first 64 KiB of each text are compared."] : []),
    ...(checker.program ? ["The checker is a program, which may accept more than this answer."] : []),
    ...(found.rows.every((row) => typeof row === "number") ? ["The lines are equal."] : []),
  ];
  return (
    <div className={css.difference}>
      <div className={css.head}>
        <h3>Difference</h3>
        {expected.length > 1 && (
          <NativeSelect
            aria-label="Answer"
            size="xs"
            value={chosen}
            onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
            data={expected.map((_, at) => ({ value: `${at}`, label: `Answer ${at + 1} of ${expected.length}` }))}
          />
        )}
      </div>
      {notes.length > 0 && <p className={css.note}>{notes.join(" ")}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: needed to scroll by keyboard */}
      <section className={css.frame} aria-label="Difference of expected and got" tabIndex={0}>
        <table className={css.table} role="table">
          <colgroup>
            <col className={css.numbers} />
            <col />
            <col className={css.numbers} />
            <col />
          </colgroup>
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col" colSpan={2}>
                <span>− </span>Expected
              </th>
              <th role="columnheader" scope="col" colSpan={2}>
                <span>+ </span>Got
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            {found.rows.map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
              <DifferenceRow key={at} of={row} />
            ))}
          </tbody>
        </table>
      </section>
      {found.hidden > 0 && <p className={css.note}>{`${counted(found.hidden, "more different line")} not shown.`}</p>}
    </div>
  );
}

function DifferenceRow({ of: row }: { of: AlignedLines | number }) {
  if (typeof row === "number") {
    return (
      <tr role="row">
        <td role="cell" className={css.equalLines} colSpan={4}>
          {counted(row, "equal line")}
        </td>
      </tr>
    );
  }
  const { kind, expected, got } = row;
  return (
    <tr role="row">
      <Side of={expected} other={got} kind={kind} side="expected" />
      <Side of={got} other={expected} kind={kind} side="got" />
    </tr>
  );
}

interface SideProps {
  readonly of: Line | null;
  readonly other: Line | null;
  readonly kind: AlignedLines["kind"];
  readonly side: "expected" | "got";
}

const SIGNS = { expected: "−", got: "+" } as const;

function Side({ of: line, other, kind, side }: SideProps) {
  const attributes = { "data-side": side, "data-different": kind === "different" || undefined };
  if (!line) {
    return (
      <td role="cell" className={css.missing} colSpan={2} {...attributes}>
        no line
      </td>
    );
  }
  const [before, within, after] =
    kind === "same" || !other ? [line.text, "", ""] : differentParts(line.text, other.text);
  return (
    <>
      <td role="cell" className={css.number} {...attributes}>
        {kind === "different" && SIGNS[side]} {line.number}
      </td>
      <td role="cell" className={css.text} {...attributes}>
        <PlainText text={before} />
        {within !== "" && (
          <mark>
            <PlainText text={within} />
          </mark>
        )}
        <PlainText text={after} />
      </td>
    </>
  );
}

// biome-ignore-end lint/a11y/noRedundantRoles: as above
