import type { MadeEndpoint } from "../../../src/http/dashboard/api/endpoints.ts";
import { Secret } from "../pieces/secret.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";

export function EndpointSecret({ made, title, onClose }: { made: MadeEndpoint; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="secret" secret={made.secret} onClose={onClose}>
      Deliveries to <b>{made.endpoint.url}</b> are signed with this secret. It is shown this once: give it to the
      receiver, who verifies every message with it.
      {made.formerEndsAt && (
        <p>
          The old secret ends <Timestamp at={made.formerEndsAt} />.
        </p>
      )}
      {made.caution && <p>{made.caution}</p>}
    </Secret>
  );
}
