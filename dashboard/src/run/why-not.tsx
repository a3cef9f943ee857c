import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { InlineCode } from "../components/inline-code.tsx";
import css from "./why-not.module.css";

/** The reasons why the verdict is not a similar one. */
export function WhyNot({ of }: { of: NonNullable<SubmissionDetail["explanation"]>["whyNot"] }) {
  return (
    <dl className={css.reasons}>
      {of.map(({ verdict, text }) => (
        <div key={verdict}>
          <dt>Why not {verdict}?</dt>
          <dd>
            <InlineCode text={text} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
