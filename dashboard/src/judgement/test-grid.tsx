import { type KeyboardEvent, useRef } from "react";
import type { JudgedGroup, JudgementState } from "../../../src/http/dashboard/api/judgements.ts";
import { count, counted } from "../components/format.ts";
import { StatusBadge, type Tone } from "../components/status-badge.tsx";
import css from "./test-grid.module.css";
import { labelOf, signOf, stateText } from "./test-states.ts";

interface Props {
  readonly of: Pick<JudgementState, "groups" | "tests">;
  /** The index of the selected test; null if none is selected. */
  readonly selected: number | null;
  readonly onSelect: (test: number) => void;
}

const RULES: Readonly<Record<JudgedGroup["rule"], string>> = {
  sum: "sum of points",
  min: "points × the fraction that the worst test earned",
  least: "least points of its parts",
  greatest: "most points of its parts",
  average: "average points of its parts",
  all: "all points or none",
};

/** All tests as cells, by group. Tab reaches only one of the cells; the arrow keys, Home and End move the focus to the others. */
export function TestGrid({ of: { groups, tests }, selected, onSelect }: Props) {
  const grid = useRef<HTMLDivElement>(null);
  const tabStop = selected ?? 0;
  const isNamed = groups.length > 1 || groups.some(({ name }) => name !== "");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys only move the focus between the buttons
    <div ref={grid} className={css.grid} onKeyDown={(event) => moveFocus(event, grid.current)}>
      {groups.map((group) => (
        <section key={group.name} className={css.group} aria-label={group.name ? `Group ${group.name}` : "Tests"}>
          {isNamed && <GroupHead of={group} />}
          <ol className={css.cells}>
            {tests.map(
              ({ name, group: own, state }, at) =>
                own === group.name && (
                  // biome-ignore lint/suspicious/noArrayIndexKey: tests never move, so the index identifies one
                  <li key={at}>
                    <button
                      type="button"
                      className={css.cell}
                      data-cell={at}
                      data-state={state}
                      style={{ "--verdict": `var(--verdict-${state.toLowerCase()})` } as object}
                      tabIndex={at === tabStop ? 0 : -1}
                      aria-pressed={at === selected}
                      title={`${titleOf(name, at)}: ${labelOf(state)}`}
                      aria-label={`${titleOf(name, at)}: ${labelOf(state)}`}
                      onClick={() => onSelect(at)}
                    >
                      {signOf(state)}
                    </button>
                  </li>
                ),
            )}
          </ol>
        </section>
      ))}
      <Legend of={tests} />
    </div>
  );
}

/** The number of a test, and its name if the name is not the number. */
export function titleOf(name: string, at: number): string {
  return name === String(at + 1) ? `Test ${at + 1}` : `Test ${at + 1}, ${name}`;
}

function GroupHead({ of: { name, rule, depends, score, maxScore, passed } }: { of: JudgedGroup }) {
  const [tone, word]: [Tone, string] =
    passed === null ? ["idle", "open"] : passed ? ["good", "passed"] : ["bad", "not passed"];
  return (
    <div className={css.head}>
      <b>{name || "Without a group"}</b>
      <StatusBadge tone={tone}>{word}</StatusBadge>
      <span>
        {count(score)} of {counted(maxScore, "point")}
      </span>
      <span>{RULES[rule]}</span>
      {depends.length > 0 && (
        <span>
          only if {depends.join(" and ")} {depends.length > 1 ? "pass" : "passes"}
        </span>
      )}
    </div>
  );
}

/** For each sign in the cells, its meaning, and how many tests have it. */
function Legend({ of: tests }: { of: Props["of"]["tests"] }) {
  const states = Map.groupBy(tests, ({ state }) => state);
  return (
    <ul className={css.legend}>
      {[...states].map(([state, all]) => (
        <li key={state}>
          <span
            className={css.cell}
            data-state={state}
            style={{ "--verdict": `var(--verdict-${state.toLowerCase()})` } as object}
            aria-hidden="true"
          >
            {signOf(state)}
          </span>
          {count(all.length)} {stateText(state)}
        </li>
      ))}
    </ul>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>, grid: HTMLElement | null): void {
  const cells = [...(grid?.querySelectorAll<HTMLElement>("button[data-cell]") ?? [])];
  const at = cells.indexOf(event.target as HTMLElement);
  const to = {
    ArrowRight: at + 1,
    ArrowDown: at + 1,
    ArrowLeft: at - 1,
    ArrowUp: at - 1,
    Home: 0,
    End: cells.length - 1,
  }[event.key];
  if (at < 0 || to === undefined) return;
  cells[to]?.focus();
  event.preventDefault();
}
