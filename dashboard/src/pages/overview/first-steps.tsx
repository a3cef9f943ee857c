import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { queries } from "../../client/api.ts";
import { useAuthority, usePerson } from "../../client/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { copy } from "../../components/copyable.tsx";
import { curlOf } from "../../components/curl.ts";
import css from "./first-steps.module.css";

/** A placeholder for the key: the service shows a key only once, when it is created. */
const KEY = "YOUR_API_KEY";

/** The first steps, each with a mark if it is done. They disappear when all are done, or when the person dismisses them. */
export function FirstSteps({ account }: { account: string | undefined }) {
  const { id } = usePerson();
  const dismissal = `assay-first-steps-dismissed-${id}`;
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(dismissal) !== null);
  const authority = useAuthority();
  const { data } = useQuery({ ...queries.firstSteps(account), enabled: !isDismissed });
  if (isDismissed || !data || isComplete(data)) return null;
  const line = curlOf({
    url: `${window.location.origin}/api/submit?wait=true`,
    authority,
    key: KEY,
    body: { language: "python", code: "print(6 * 7)" },
  });
  const dismiss = () => {
    localStorage.setItem(dismissal, "yes");
    setDismissed(true);
  };
  return (
    <section className={css.steps} aria-labelledby="first-steps">
      <div className={css.head}>
        <h2 id="first-steps">First steps</h2>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={dismiss}>
          Dismiss first steps
        </Button>
      </div>
      <ol>
        <Step isDone={data.project} title="Create a project">
          <p>
            A project groups API keys and webhook endpoints: results of its keys are sent to its endpoints.{" "}
            <Link to="/projects">Go to projects</Link>
          </p>
        </Step>
        <Step isDone={data.key} title="Create an API key">
          <p>
            Copy the key when it is shown: the service stores only a hash of it. <Link to="/keys">Go to API keys</Link>
          </p>
        </Step>
        <Step isDone={data.run} title="Run a first program">
          <p>
            Run this in a shell, with your key instead of <code>{KEY}</code>
            {authority !== null && ", on the machine of the service, or with a copy of the certificate file"}:
          </p>
          <CodeBlock label="First run with curl">{line}</CodeBlock>
          <Button size="compact-sm" variant="default" onClick={() => copy(line, "curl command")}>
            Copy curl command
          </Button>
        </Step>
        <Step isDone={data.endpoint} title="Add a webhook endpoint">
          <p>
            The service then sends you each result with a signature. <Link to="/webhooks">Go to webhooks</Link>
          </p>
        </Step>
      </ol>
    </section>
  );
}

function isComplete({ project, key, run, endpoint }: Record<"project" | "key" | "run" | "endpoint", boolean>): boolean {
  return project && key && run && endpoint;
}

/** One step. Once it is done, its instructions are hidden. */
function Step({ isDone, title, children }: { isDone: boolean; title: string; children: ReactNode }) {
  return (
    <li className={css.step} data-done={isDone || undefined}>
      <h3>
        {title}
        <span className={css.state}>{isDone ? "done" : "to do"}</span>
      </h3>
      {!isDone && <div className={css.instructions}>{children}</div>}
    </li>
  );
}
