import { Textarea } from "@mantine/core";
import css from "./playground.module.css";

interface Props {
  /** The names of the files of a submission, one for each test. */
  readonly names: readonly string[];
  /** The text of each file by its name; absent: the submission has no such file. */
  readonly answers: Readonly<Record<string, string>>;
  readonly onChange: (answers: Readonly<Record<string, string>>) => void;
  /** Called when Ctrl+Enter or Cmd+Enter is pressed. */
  readonly onRun: () => void;
}

/** The answers to the tests of a problem whose submissions consist of answers. An empty field is no file. */
export function AnswersEditor({ names, answers, onChange, onRun }: Props) {
  return (
    <>
      {names.map((name) => (
        <Textarea
          key={name}
          label={name}
          value={answers[name] ?? ""}
          onChange={({ currentTarget }) => onChange({ ...answers, [name]: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onRun();
          }}
          rows={3}
          spellCheck={false}
          classNames={{ input: css.stdin ?? "" }}
        />
      ))}
    </>
  );
}
