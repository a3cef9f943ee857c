import type { Link } from "../../../src/http/dashboard/answers.ts";
import { Moment } from "../pieces/moment.tsx";
import { Secret } from "../pieces/secret.tsx";

export function OneTimeLink({ link, title, onClose }: { link: Link; title: string; onClose: () => void }) {
  return (
    <Secret title={title} what="link" secret={link.url} onClose={onClose}>
      Give this link to them by a way that you trust: whoever opens it first, has it. It is shown this once, works once,
      and ends <Moment at={link.expiresAt} />.
    </Secret>
  );
}
