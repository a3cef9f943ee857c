import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { Icon } from "../../components/icon.tsx";
import type { TestDraft, Tests } from "./draft.ts";
import css from "./tests-editor.module.css";

/** The greatest number of tests in the playground. A request with an API key can have more. */
export const MAX_TESTS = 50;

const CHECKERS: readonly { readonly value: string; readonly label: string }[] = [
  { value: "lines", label: "lines: white space at the ends of lines and of the output is ignored" },
  { value: "exact", label: "exact: the output has the same bytes" },
  { value: "tokens", label: "tokens: the output has the same words" },
  { value: "floats", label: "floats: like tokens, but numbers may differ by 10⁻⁶" },
  { value: "unordered_lines", label: "unordered_lines: like lines, in any order" },
  { value: "regex", label: "regex: the expected text is a regular expression" },
];

interface Props {
  readonly of: Tests;
  readonly onChange: (tests: Tests) => void;
  /** Called when Ctrl+Enter or Cmd+Enter is pressed. */
  readonly onRun: () => void;
}

/** The tests of the program in the editor. */
export function TestsEditor({ of: tests, onChange, onRun }: Props) {
  const { checker, list } = tests;
  const write = (key: string, part: Partial<TestDraft>) =>
    onChange({ ...tests, list: list.map((test) => (test.key === key ? { ...test, ...part } : test)) });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut of the fields inside
    <div
      className={css.tests}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
      }}
    >
      <NativeSelect
        label="Checker"
        value={checker}
        onChange={({ currentTarget }) => onChange({ ...tests, checker: currentTarget.value })}
        data={[...CHECKERS]}
      />
      <ol className={css.list}>
        {list.map((test, at) => (
          <li key={test.key}>
            <fieldset className={css.fields}>
              <legend>Test {at + 1}</legend>
              <Textarea
                label="Input"
                value={test.stdin}
                onChange={({ currentTarget }) => write(test.key, { stdin: currentTarget.value })}
                rows={3}
                spellCheck={false}
                classNames={{ input: css.text ?? "" }}
              />
              <Textarea
                label="Expected"
                value={test.expected}
                onChange={({ currentTarget }) => write(test.key, { expected: currentTarget.value })}
                rows={3}
                spellCheck={false}
                classNames={{ input: css.text ?? "" }}
              />
              <div className={css.actions}>
                <TextInput
                  label="Points"
                  type="number"
                  value={test.points}
                  onChange={({ currentTarget }) => write(test.key, { points: Number(currentTarget.value) })}
                  min={0}
                  step="any"
                />
                <Button
                  variant="default"
                  size="compact-sm"
                  disabled={list.length === 1}
                  aria-label={`Remove test ${at + 1}`}
                  onClick={() => onChange({ ...tests, list: list.filter(({ key }) => key !== test.key) })}
                >
                  Remove
                </Button>
              </div>
            </fieldset>
          </li>
        ))}
      </ol>
      <div className={css.footer}>
        <Button
          variant="default"
          leftSection={<Icon name="plus" />}
          disabled={list.length >= MAX_TESTS}
          onClick={() => onChange({ ...tests, list: [...list, newTest()] })}
        >
          Add test
        </Button>
        {list.length >= MAX_TESTS && <span>{`At most ${MAX_TESTS} tests here, or 500 with an API key.`}</span>}
      </div>
    </div>
  );
}

export function newTest(part: Partial<Omit<TestDraft, "key">> = {}): TestDraft {
  return { key: crypto.randomUUID(), stdin: "", expected: "", points: 1, ...part };
}
