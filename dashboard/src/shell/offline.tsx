import { useConnection } from "../connection.ts";
import { Icon } from "../pieces/icon.tsx";
import css from "./shell.module.css";

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Shown on every page while the service does not answer. */
export function Offline() {
  const { lostAt, seenAt } = useConnection();
  return (
    <div role="alert" className={css.offlinePlace}>
      {lostAt !== null && (
        <p className={css.offline}>
          <Icon name="alert" /> No answer from the service since {CLOCK.format(lostAt)}. Last update:{" "}
          {CLOCK.format(seenAt)}. This page tries again by itself.
        </p>
      )}
    </div>
  );
}
