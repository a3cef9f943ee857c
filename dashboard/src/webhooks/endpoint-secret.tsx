import type { MadeEndpoint } from "../../../src/http/dashboard/answers.ts";
import { Moment } from "../pieces/moment.tsx";
import { Secret } from "../pieces/secret.tsx";

export function EndpointSecret({ made, title, onClose }: { made: MadeEndpoint; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="secret" secret={made.secret} onClose={onClose}>
      Deliveries to <b>{made.endpoint.url}</b> are signed with this secret. It is shown this once: give it to the
      receiver, who verifies every message with it.
      {made.formerEndsAt && (
        <p>
          The old secret ends <Moment at={made.formerEndsAt} />.
        </p>
      )}
      {made.caution && <p>{made.caution}</p>}
    </Secret>
  );
}
