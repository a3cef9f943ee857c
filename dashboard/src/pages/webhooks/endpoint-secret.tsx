import type { MadeEndpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { SecretDialog } from "../../components/secret-dialog.tsx";
import { Timestamp } from "../../components/timestamp.tsx";

export function EndpointSecret({ made, title, onClose }: { made: MadeEndpoint; title: string; onClose: () => void }) {
  return (
    <SecretDialog title={title} what="secret" secret={made.secret} onClose={onClose}>
      Deliveries to <b>{made.endpoint.url}</b> are signed with this secret. It is shown only now: store it in the
      receiver, which needs it to verify messages.
      {made.formerEndsAt && (
        <p>
          The old secret expires <Timestamp at={made.formerEndsAt} />.
        </p>
      )}
      {made.caution && <p>{made.caution}</p>}
    </SecretDialog>
  );
}
