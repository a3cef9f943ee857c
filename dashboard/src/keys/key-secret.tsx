import type { MadeKey } from "../../../src/http/dashboard/api/keys.ts";
import { Secret } from "../pieces/secret.tsx";

export function KeySecret({ made, title, onClose }: { made: MadeKey; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="key" secret={made.secret} onClose={onClose}>
      The key <b>{made.key.name}</b> is shown only now: the service stores a hash of it. Clients send it in the header{" "}
      <code>X-API-Key</code>.
    </Secret>
  );
}
