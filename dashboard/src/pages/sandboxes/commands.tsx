import { Button } from "@mantine/core";
import { useAuthority } from "../../client/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { copy } from "../../components/copyable.tsx";
import { curlOf, KEY_PLACEHOLDER, quoted } from "../../components/curl.ts";
import css from "./sandboxes.module.css";

/** A program for the commands, which shows that the sandbox works. */
const PROGRAM = "uname -a";

/** The commands with which clients use this sandbox. */
export function Commands({ id }: { id: string }) {
  const authority = useAuthority();
  const { origin } = window.location;
  const curl = curlOf({
    url: `${origin}/api/sandboxes/${id}/executions`,
    authority,
    key: KEY_PLACEHOLDER,
    body: { shell: PROGRAM },
  });
  const trust = authority === null ? "" : `ASSAY_CA=${quoted(authority)} `;
  const cli = `export ASSAY_URL=${quoted(origin)} ${trust}ASSAY_KEY=${quoted(KEY_PLACEHOLDER)}
assay sandbox run --sandbox ${id} -- ${PROGRAM}
assay sandbox shell ${id}
`;
  return (
    <details className={css.evidence}>
      <summary>As curl and as command line</summary>
      {(
        [
          ["curl", curl],
          ["assay", cli],
        ] as const
      ).map(([name, text]) => (
        <div key={name} className={css.snippet}>
          <CodeBlock label={`As ${name}`}>{text}</CodeBlock>
          <Button variant="default" size="compact-sm" onClick={() => copy(text, `${name} command`)}>
            {`Copy as ${name}`}
          </Button>
        </div>
      ))}
      <p className={css.hint}>
        Replace <code>{KEY_PLACEHOLDER}</code> by an API key of the account with the profile <code>agent</code>.
        {authority !== null && " The certificate file is on the machine of the service: copy it to other machines."}
      </p>
    </details>
  );
}
