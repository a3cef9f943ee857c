import { Button } from "@mantine/core";
import type { ReactNode, SubmitEvent } from "react";
import css from "./form.module.css";
import { sentence } from "./format.ts";
import { ErrorMessage } from "./query-boundary.tsx";

interface Props {
  readonly submit: string;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly danger?: boolean;
  readonly onSubmit: (form: FormData) => void;
  readonly onCancel?: () => void;
  readonly children: ReactNode;
}

/** A form: the error of the last request, the fields, and the buttons. */
export function Form({ submit, busy, error, danger, onSubmit, onCancel, children }: Props) {
  const submitted = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit(new FormData(event.currentTarget));
  };
  return (
    <form className={css.form} onSubmit={submitted}>
      {error && <ErrorMessage text={sentence(error.message)} />}
      {children}
      <div className={css.buttons}>
        {onCancel && (
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button type="submit" loading={busy} color={danger ? "red" : "teal"}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

export function text(form: FormData, name: string): string {
  return String(form.get(name) ?? "").trim();
}

/** The number in a field; null if the field is empty. */
export function number(form: FormData, name: string): number | null {
  const entered = text(form, name);
  return entered === "" ? null : Number(entered);
}
