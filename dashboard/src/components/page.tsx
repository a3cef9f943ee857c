import { type ReactNode, useEffect, useRef } from "react";
import css from "./page.module.css";

interface Props {
  readonly title: string;
  /** Shown as the heading of the page instead of the title. */
  readonly heading?: ReactNode;
  /** Short description of the page. */
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

let firstPage = true;

/** A page. After navigation within the dashboard, its heading gets the focus, so that screen readers start there. */
export function Page({ title, heading: shown, lead, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!firstPage) heading.current?.focus({ preventScroll: true });
    firstPage = false;
  }, []);
  return (
    <>
      <title>{`${title} · Assay`}</title>
      <div className={css.head}>
        <div className={css.titles}>
          <h1 ref={heading} tabIndex={-1}>
            {shown ?? title}
          </h1>
          {lead && <p className={css.lead}>{lead}</p>}
        </div>
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function Section({ title, actions, children }: Pick<Props, "title" | "actions" | "children">) {
  return (
    <section className={css.section}>
      <div className={css.head}>
        <h2>{title}</h2>
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
      {children}
    </section>
  );
}
