import type { MadeLink } from "../../../../src/http/dashboard/api/members.ts";
import { SecretDialog } from "../../components/secret-dialog.tsx";
import { Timestamp } from "../../components/timestamp.tsx";

export function OneTimeLink({ link, title, onClose }: { link: MadeLink; title: string; onClose: () => void }) {
  return (
    <SecretDialog title={title} what="link" secret={link.url} onClose={onClose}>
      Send this link over a trusted channel, because anyone who has it can use it. It is shown only now, works once, and
      expires <Timestamp at={link.expiresAt} />.
    </SecretDialog>
  );
}
