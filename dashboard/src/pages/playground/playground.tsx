import { Button, NativeSelect, SegmentedControl, VisuallyHidden } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useId, useRef, useState } from "react";
import type { Language } from "../../../../src/http/dashboard/api/languages.ts";
import type { ProblemDetail } from "../../../../src/http/dashboard/api/problems.ts";
import { mutations, queries } from "../../client/api.ts";
import { useAccountOptions, usePerson } from "../../client/session.ts";
import { Editor } from "../../components/editor/editor.tsx";
import type { ScrollTarget } from "../../components/editor/scroll-target.ts";
import { Icon } from "../../components/icon.tsx";
import { EmptyState, ErrorMessage } from "../../components/query-boundary.tsx";
import { AnswersEditor } from "./answers-editor.tsx";
import { ApiSnippets } from "./api-snippets.tsx";
import { type Draft, setDraft } from "./draft.ts";
import { Input, InputChoice } from "./input.tsx";
import css from "./playground.module.css";
import type { SnippetJudgement } from "./snippets.ts";

// The results are loaded when the first one is shown.
const JudgementResult = lazy(async () => ({ default: (await import("./judgement-result.tsx")).JudgementResult }));
const RunResult = lazy(async () => ({ default: (await import("./run-result.tsx")).RunResult }));

interface Props {
  readonly languages: readonly Language[];
  readonly now: Draft;
  /** Whether a reload of the page keeps the draft. */
  readonly isStored: boolean;
}

export function Playground({ languages, now, isStored }: Props) {
  const navigate = useNavigate();
  const { accounts } = usePerson();
  const accountId = now.accountId ?? accounts[0]?.id ?? "";
  const chosen = languages.find(({ name }) => name === now.language);
  const result = useRef<HTMLElement>(null);
  const run = useMutation({
    mutationFn: () => mutations.submit({ ...programOf(now), accountId }),
    onSuccess: ({ id }) => {
      setDraft({ ...now, from: id });
      comeIntoView(result.current);
      return navigate({ to: "/playground", search: { from: id }, replace: true });
    },
  });
  const judge = useMutation({
    mutationFn: ({ what }: { what: SnippetJudgement; on: string }) => mutations.judge({ ...what, accountId }),
    onSuccess: ({ id }, { on }) => {
      setDraft({ ...now, judged: { on, id } });
      comeIntoView(result.current);
    },
  });
  const isPending = run.isPending || judge.isPending;
  const { input = "run", problem = "" } = now;
  const onProblem = useQuery({ ...queries.problem(problem), enabled: input === "problem" && problem !== "" });
  const wanted = (input === "problem" && onProblem.data?.answers) || null;
  const judged = judgedOf(now, wanted);
  const error = input === "run" ? run.error : judge.error;
  const isReady = input === "run" ? now.code !== "" : judged !== null && (wanted !== null || now.code !== "");
  const write = (part: Partial<Draft>) => setDraft({ ...now, ...part });
  const start = () => {
    if (isPending || !isReady) return;
    if (judged) judge.mutate({ what: judged, on: judgedInputOf(now) });
    else run.mutate();
  };
  const [target, setTarget] = useState<ScrollTarget | null>(null);
  const profileLabel = useId();
  const resultLabel = useId();
  return (
    <>
      <div className={css.toolbar}>
        <NativeSelect
          label="Language"
          value={now.language}
          onChange={({ currentTarget }) => write(inLanguage(now, languages, currentTarget.value))}
          data={languages.map(({ name, available }) => ({
            value: name,
            label: available ? name : `${name} (not offered)`,
          }))}
        />
        <NativeSelect
          className={css.example ?? ""}
          label="Example"
          value=""
          onChange={({ currentTarget }) => {
            const example = chosen?.examples[Number(currentTarget.value)];
            if (example) write({ code: example.code, stdin: example.stdin });
          }}
          data={[
            { value: "", label: "Choose one…" },
            ...(chosen?.examples ?? []).map(({ title, verdict }, i) => ({
              value: `${i}`,
              label: `${verdict}: ${title}`,
            })),
          ]}
        />
        <div>
          <span id={profileLabel} className={css.label}>
            Profile
          </span>
          <SegmentedControl
            aria-labelledby={profileLabel}
            value={now.profile}
            onChange={(profile) => write({ profile: profile === "agent" ? "agent" : "judge" })}
            data={["judge", "agent"]}
          />
        </div>
        <InputChoice now={now} write={write} />
        <AccountOfRun
          value={accountId}
          onChange={(id) => {
            // A problem belongs to one account.
            write({ accountId: id, problem: "" });
            if (now.problem) navigate({ to: "/playground", search: {}, replace: true });
          }}
        />
        <Button
          className={css.run}
          leftSection={<Icon name="play" />}
          loading={isPending}
          disabled={!isReady}
          onClick={start}
        >
          {START[input]}
        </Button>
      </div>
      {!isStored && <ErrorMessage text="This draft is too large for the browser to keep. A reload loses it." />}
      {error && <ErrorMessage text={`Not run: ${error.message}.`} />}
      <div className={css.columns}>
        <div className={css.program}>
          {wanted ? (
            <AnswersEditor
              names={wanted.files}
              answers={now.answers ?? {}}
              onChange={(answers) => write({ answers })}
              onRun={start}
            />
          ) : (
            <Editor
              text={now.code}
              language={now.language}
              label="Program"
              onChange={(code) => {
                setTarget(null);
                write({ code });
              }}
              target={target}
              onRun={start}
            />
          )}
          <Input now={now} write={write} accountId={accountId} onRun={start} />
        </div>
        <section ref={result} className={css.result} aria-labelledby={resultLabel}>
          <VisuallyHidden component="h2" id={resultLabel}>
            Result
          </VisuallyHidden>
          <Result of={now} onLineChosen={(line) => setTarget({ line, isAsked: true })} />
        </section>
        <section className={css.api}>
          <h2>Run it with the API</h2>
          {input === "problem" && !judged ? (
            <p>{wanted ? "Write an answer first." : "Choose a problem first."}</p>
          ) : (
            <ApiSnippets of={judged ?? programOf(now)} />
          )}
        </section>
      </div>
    </>
  );
}

const START = { run: "Run", tests: "Run tests", problem: "Judge" } as const;

function Result({ of: now, onLineChosen }: { of: Draft; onLineChosen: (line: number) => void }) {
  const { input = "run", judged, from } = now;
  if (input !== "run") {
    if (judged?.on === judgedInputOf(now))
      return (
        <Suspense>
          <JudgementResult key={judged.id} id={judged.id} />
        </Suspense>
      );
    return (
      <EmptyState title="No judgement yet">
        {`${input === "problem" ? "Choose a problem, then press" : "Press"} ${START[input]}. `}
        Each test is a run of its own, and its verdict appears here (<a href="/docs/judging">documentation</a>).
      </EmptyState>
    );
  }
  if (from) {
    return (
      <Suspense>
        <RunResult key={from} id={from} onLineChosen={onLineChosen} />
      </Suspense>
    );
  }
  return (
    <EmptyState title="No run yet">
      Press Run, or <kbd>Ctrl</kbd>+<kbd>Enter</kbd> in the editor. Output appears here during the run. All runs are in{" "}
      <Link to="/submissions">submissions</Link>.
    </EmptyState>
  );
}

function AccountOfRun({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const accounts = useAccountOptions();
  if (accounts.length === 0) return null;
  return (
    <NativeSelect
      label="Account"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}

function programOf({ language, code, stdin, profile }: Draft) {
  return { language, code, stdin, profile };
}

/**
 * The judgement to request. It skips no test after a failure, so that each test gets a verdict.
 * @param wanted the language and the files of a submission to the problem, if it consists of answers.
 * @returns null if one run is selected, or if a problem is to be selected or an answer to be written first.
 */
function judgedOf(
  { language, code, profile, input, tests, problem, answers = {} }: Draft,
  wanted: ProblemDetail["answers"],
): SnippetJudgement | null {
  const program = { language, code, profile, stop: "never" } as const;
  if (problem && wanted) {
    const files = Object.fromEntries(wanted.files.flatMap((name) => (answers[name] ? [[name, answers[name]]] : [])));
    const given = { language: wanted.language, files, profile, stop: "never" } as const;
    return Object.keys(files).length > 0 ? { ...given, problem } : null;
  }
  if (input === "problem") return problem ? { ...program, problem } : null;
  if (input !== "tests" || !tests) return null;
  const list = tests.list.map(({ stdin, expected, points }) => ({ stdin, expected, points }));
  return { ...program, checker: tests.checker, tests: list };
}

/** On what a judgement of this draft judges the program, as in `Draft.judged`: `tests`, or the id of a problem. */
function judgedInputOf({ input, problem = "" }: Draft): string {
  return input === "problem" ? problem : "tests";
}

/**
 * Changes the language. An unchanged example is replaced by the example with the same title in the new language. Other programs
 * are kept.
 */
function inLanguage(now: Draft, languages: readonly Language[], name: string): Partial<Draft> {
  const examplesOf = (language: string) => languages.find((each) => each.name === language)?.examples ?? [];
  const title = examplesOf(now.language).find(({ code }) => code === now.code)?.title;
  const same = examplesOf(name).find((example) => example.title === title);
  return same && title !== undefined ? { language: name, code: same.code, stdin: same.stdin } : { language: name };
}

/** Scrolls to the result if it begins below the middle of the window, as on narrow screens. */
function comeIntoView(result: HTMLElement | null): void {
  if (result && result.getBoundingClientRect().top > window.innerHeight / 2) result.scrollIntoView({ block: "start" });
}
