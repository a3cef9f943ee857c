import { Skeleton } from "@mantine/core";
import css from "./playground.module.css";

/** The placeholder of the playground while it loads. */
export function PlaygroundSkeleton() {
  return (
    <>
      <div className={css.toolbar}>
        <Skeleton height={60} />
      </div>
      <div className={css.columns}>
        <Skeleton className={css.program} height="clamp(16rem, 52dvh, 40rem)" />
        <Skeleton className={css.result} height="clamp(16rem, 52dvh, 40rem)" />
      </div>
    </>
  );
}
