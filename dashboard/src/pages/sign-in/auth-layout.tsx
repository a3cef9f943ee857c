import type { ReactNode } from "react";
import css from "./auth-layout.module.css";

/** The layout of the pages for people who are not signed in. */
export function AuthLayout({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className={css.layout}>
      <title>{`${title} · Assay`}</title>
      <div className={css.card}>
        <p className={css.brand}>
          <img src="/docs/icon.svg" alt="" width={28} height={28} />
          Assay
        </p>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
