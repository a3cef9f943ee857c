import { Button, Tabs } from "@mantine/core";
import { useAuthority } from "../../client/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { copy } from "../../components/copyable.tsx";
import { KEY_PLACEHOLDER } from "../../components/curl.ts";
import css from "./api-snippets.module.css";
import { type SnippetJudgement, type SnippetSubmission, snippets } from "./snippets.ts";

/** For several clients, the request to the public API that starts this run or judgement. */
export function ApiSnippets({ of: run }: { of: SnippetSubmission | SnippetJudgement }) {
  const authority = useAuthority();
  const all = snippets(window.location.origin, run, authority);
  return (
    <Tabs defaultValue={all[0]?.name ?? null} keepMounted={false}>
      <Tabs.List aria-label="Clients">
        {all.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {all.map(({ name, text }) => (
        <Tabs.Panel key={name} value={name} className={css.panel}>
          <CodeBlock label={`As ${name}`}>{text}</CodeBlock>
          <div className={css.footer}>
            <p>
              Replace <code>{KEY_PLACEHOLDER}</code> by your API key.
              {authority !== null &&
                " The certificate file is on the machine of the service: copy it to other machines."}
            </p>
            <Button variant="default" size="compact-sm" onClick={() => copy(text, `${name} snippet`)}>
              {`Copy as ${name}`}
            </Button>
          </div>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
