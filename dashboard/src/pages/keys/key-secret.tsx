import type { MadeKey } from "../../../../src/http/dashboard/api/keys.ts";
import { useAuthority } from "../../client/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { curlOf } from "../../components/curl.ts";
import { SecretDialog } from "../../components/secret-dialog.tsx";

/** The program in the curl command that is shown with a new key. */
const FIRST = { language: "python", code: "print(6 * 7)" };

export function KeySecret({ made, title, onClose }: { made: MadeKey; title: string; onClose: () => void }) {
  const url = `${window.location.origin}/api/submit?wait=true`;
  const first = curlOf({ url, authority: useAuthority(), key: made.secret, body: FIRST });
  return (
    <SecretDialog
      title={title}
      what="key"
      secret={made.secret}
      also={{ label: "Copy curl command", text: first }}
      onClose={onClose}
    >
      <p>
        The key <b>{made.key.name}</b> is shown only now: the service stores only a hash of it. Clients send the key in
        the header <code>X-API-Key</code>. This command runs a first program:
      </p>
      <CodeBlock label="First run with curl">{first}</CodeBlock>
    </SecretDialog>
  );
}
