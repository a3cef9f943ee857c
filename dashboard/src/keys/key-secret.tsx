import type { MadeKey } from "../../../src/http/dashboard/api/keys.ts";
import { Secret } from "../pieces/secret.tsx";

export function KeySecret({ made, title, onClose }: { made: MadeKey; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="key" secret={made.secret} onClose={onClose}>
      This is <b>{made.key.name}</b>, and this is the only time that it is shown: the service keeps a hash of it.
      Callers send it in the header <code>X-API-Key</code>.
    </Secret>
  );
}
