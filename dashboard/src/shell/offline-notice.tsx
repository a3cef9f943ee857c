import { useConnection } from "../client/connection.ts";
import { Icon } from "../components/icon.tsx";
import css from "./shell.module.css";

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A notice on every page while the service does not answer. */
export function OfflineNotice() {
  const { lostAt, seenAt } = useConnection();
  if (lostAt === null) return null;
  return (
    <div role="alert" className={css.offlineFrame}>
      <p className={css.offline}>
        <Icon name="alert" /> No answer from the service since {CLOCK.format(lostAt)}. Last update:{" "}
        {CLOCK.format(seenAt)}. This page tries again by itself.
      </p>
    </div>
  );
}
