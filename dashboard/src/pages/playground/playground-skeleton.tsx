import { Skeleton } from "@mantine/core";
import css from "./playground.module.css";

/** Placeholder of the playground. */
export function PlaygroundWaiting() {
  return (
    <>
      <div className={css.bar}>
        <Skeleton height={60} />
      </div>
      <div className={css.sides}>
        <Skeleton className={css.program} height="clamp(16rem, 52dvh, 40rem)" />
        <Skeleton className={css.result} height="clamp(16rem, 52dvh, 40rem)" />
      </div>
    </>
  );
}
