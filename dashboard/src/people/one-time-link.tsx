import type { Link } from "../../../src/http/dashboard/api/members.ts";
import { Secret } from "../pieces/secret.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";

export function OneTimeLink({ link, title, onClose }: { link: Link; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="link" secret={link.url} onClose={onClose}>
      Give this link to them by a way that you trust: whoever opens it first, has it. It is shown this once, works once,
      and ends <Timestamp at={link.expiresAt} />.
    </Secret>
  );
}
